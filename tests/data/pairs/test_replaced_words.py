from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirrormask.core.errors import DataError
from mirrormask.data.pairs import Examples
from mirrormask.data.pairs.replaced_words import ReplacedWords
from mirrormask.data.text.corpus import build_corpus
from mirrormask.data.text.tokens import LazyTokens

TEXTS = ["the old baker paints", "my neighbor finds the storm", "a young child", "the river"] * 8
ENTRIES = [
    {"words": ["old", "gray", "quite ancient"], "antonyms": ["young"]},
    {"words": ["storm", "winter"], "antonyms": []},
    {"words": ["finds", "watches"], "antonyms": [["finds", "forgets"]]},
]


@pytest.fixture
def lexicon(tmp_path: Path) -> Path:
    (tmp_path / "words.jsonl").write_text("\n".join(map(json.dumps, ENTRIES)), encoding="utf-8")
    return tmp_path / "words.jsonl"


@pytest.fixture
def texts_of(tmp_path: Path, tiny: Callable[..., Any]) -> Callable[..., list[tuple[str, ...]]]:
    """Return what a pairing makes of the texts, as texts."""
    tokenizer = tiny().tokenizer

    def find(**options: Any) -> list[tuple[str, ...]]:
        corpus = build_corpus(TEXTS, tmp_path / f"corpus-{len(list(tmp_path.iterdir()))}", deduplicate=False)
        examples: Examples = ReplacedWords(**options).index(
            corpus, LazyTokens(corpus, tokenizer, max_tokens=20), tmp_path
        )
        columns = examples.columns(np.arange(len(TEXTS)), 3)
        return list(zip(*([tokenizer.decode(ids.tolist()) for ids in column] for column in columns), strict=True))

    return find


def test_words_are_replaced_by_what_the_lexicon_says(
    lexicon: Path, texts_of: Callable[..., list[tuple[str, ...]]]
) -> None:
    found = texts_of(lexicon=str(lexicon), synonyms=0.5, antonyms=0.9)
    assert [row[0] for row in found] == TEXTS
    assert {row[1] for row in found[0::4]} == {"the old baker paints", "the gray baker paints"}
    assert {row[2] for row in found[0::4]} == {"the young baker paints"}, "at least one antonym"
    assert {row[2] for row in found[2::4]} == {"a old child"}, "both are each other's"
    assert {row[2] for row in found[1::4]} == {"my neighbor forgets the storm"}
    assert all(len(row[0].split()) == len(other.split()) for row in found for other in row[1:]), "word for word"
    for _, same, against in found[3::4]:
        assert same == "the river"
        assert against != "the river", "a random word where none has an antonym"
        assert len(set(against.split()) & {"the", "river"}) == 1


def test_without_a_lexicon_the_negative_has_a_random_word(texts_of: Callable[..., list[tuple[str, ...]]]) -> None:
    for text, same, against in texts_of():
        assert same == text
        assert sum(a != b for a, b in zip(text.split(), against.split(), strict=True)) == 1


def test_a_lexicon_is_found_by_name_or_named(
    lexicon: Path, texts_of: Callable[..., list[tuple[str, ...]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MIRRORMASK_DATA", str(lexicon.parent))
    (lexicon.parent / "lexicon").mkdir()
    lexicon.rename(lexicon.parent / "lexicon" / "mine.jsonl")
    assert texts_of(lexicon="mine", synonyms=0.9)[2::4] != texts_of()[2::4]
    with pytest.raises(DataError, match=r"There is no lexicon nowhere.jsonl. Name a file, a folder of WordNet"):
        texts_of(lexicon="nowhere.jsonl")
