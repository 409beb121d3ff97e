from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.data.held_out import Rest
from mirrormask.data.pairs import Examples
from mirrormask.data.pairs.next_sentence import NextSentence
from mirrormask.data.pairs.next_sentences import NextSentences
from mirrormask.data.text.corpus import build_corpus
from mirrormask.data.text.tokens import build_tokens

DOCUMENTS = [
    "The baker wakes early. She heats the oven. Flour covers the table. A loaf cools. Nobody is awake yet.",
    "A pilot checks the engine. It starts at once.",
    "Only one sentence stands here.",
    "The cat sleeps. Rain falls. A door opens. The lamp goes out.",
]


@pytest.fixture
def pairs(tiny: Callable[..., Any], tmp_path: Path) -> Callable[..., tuple[list[str], list[tuple[str, str]]]]:
    corpus = build_corpus(DOCUMENTS, tmp_path / "corpus", split="en")
    rows = [str(text) for text in corpus.texts(0, len(corpus))]
    tokens = build_tokens(corpus, tiny().tokenizer, tmp_path / "tokens", max_tokens=64)

    def build(within: int, seed: int) -> tuple[list[str], list[tuple[str, str]]]:
        examples = NextSentences(within).index(corpus, tokens, tmp_path / f"pairs-{within}")
        every = np.arange(len(examples))
        first, second = examples.columns(every, seed)
        known = {tuple(ids.tolist()): row for ids, row in zip(tokens.take(range(len(corpus))), rows, strict=True)}
        return rows, [(known[tuple(a.tolist())], known[tuple(b.tolist())]) for a, b in zip(first, second, strict=True)]

    return build


@pytest.mark.parametrize("within", [1, 2, 3, 9])
def test_positives_follow_within_their_document(pairs: Callable[..., Any], within: int) -> None:
    rows, _ = pairs(within, 0)
    document = [0] * 5 + [1] * 2 + [2] + [3] * 4
    assert len(rows) == len(document)
    steps: dict[str, set[int]] = {}
    for seed in range(60):
        _, found = pairs(within, seed)
        assert len(found) == 4 + 1 + 0 + 3, "every sentence that another follows"
        for anchor, positive in found:
            i, j = rows.index(anchor), rows.index(positive)
            assert document[i] == document[j]
            steps.setdefault(anchor, set()).add(j - i)
    for anchor, seen in steps.items():
        i = rows.index(anchor)
        follow = sum(d == document[i] for d in document[i + 1 :])
        assert seen == set(range(1, min(within, follow) + 1)), "and each of the next ones is drawn"


@pytest.mark.parametrize("within", [0, 1, 3])
def test_texts_set_aside_are_in_no_training_pair(
    within: int, tiny: Callable[..., Any], sentences: list[str], tmp_path: Path
) -> None:
    """In every epoch: what a pair may draw counts, not what it drew."""
    lengths = np.random.default_rng(4).integers(1, 9, 30)
    ends = np.cumsum(lengths)
    texts = [" ".join(s.capitalize() for s in sentences[end - n : end]) for n, end in zip(lengths, ends, strict=True)]
    corpus = build_corpus(texts, tmp_path / "corpus", split="en")
    tokens = build_tokens(corpus, tiny().tokenizer, tmp_path / "tokens", max_tokens=64)
    pairing = NextSentences(within) if within else NextSentence()
    rest = Rest(pairing.index(corpus, tokens, tmp_path / "pairs"), 8, seed=2)

    def texts_of(some: Examples) -> set[bytes]:
        drawn = (some.columns(np.arange(len(some)), seed) for seed in range(20))
        return {ids.tobytes() for columns in drawn for column in columns for ids in column}

    assert not texts_of(rest) & texts_of(rest.aside())
    assert len(rest) > 70, "and not much more is lost"


def test_draws_are_even(pairs: Callable[..., Any]) -> None:
    counts: Counter[str] = Counter(pairs(3, seed)[1][0][1] for seed in range(300))
    assert len(counts) == 3
    assert min(counts.values()) > 70


def test_without_neighbors_there_is_nothing_to_pair(tiny: Callable[..., Any], tmp_path: Path) -> None:
    corpus = build_corpus(["one alone", "two words here"], tmp_path / "corpus", split="en")
    tokens = build_tokens(corpus, tiny().tokenizer, tmp_path / "tokens", max_tokens=8)
    with pytest.raises(DataError, match="The pairing 'next-sentences' found 0 neighbors in 2 rows"):
        NextSentences().index(corpus, tokens, tmp_path / "pairs")
    with pytest.raises(MirrormaskError, match="The 'within' of next-sentences must be at least 1. Got 0"):
        NextSentences(0)
