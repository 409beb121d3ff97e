from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirrormask.core.errors import MirrormaskError
from mirrormask.data.pairs.declutr_spans import DeclutrSpans, document_spans
from mirrormask.data.text.corpus import build_corpus
from mirrormask.data.text.tokens import LazyTokens


def drawn(words: int, count: int = 400, **options: Any) -> list[Any]:
    given = {"min_words": 4, "max_words": 20, **options}
    return [document_spans(words, 2, 3, **given, rng=np.random.default_rng(seed)) for seed in range(count)]


def test_lengths_and_places_are_the_published_ones() -> None:
    groups = [group for spans in drawn(200) for group in spans]
    long = np.array([group[0, 1] - group[0, 0] for group in groups])
    short = np.array([each[1] - each[0] for group in groups for each in group[1:]])
    assert (long.min(), long.max()) >= (4, 16)
    assert long.max() <= 20
    assert long.mean() == pytest.approx(4 + 16 * 4 / 6 - 0.5, abs=0.4), "Beta(4, 2), cut to whole words"
    assert short.mean() == pytest.approx(4 + 16 * 2 / 6 - 0.5, abs=0.4), "Beta(2, 4)"
    kinds = set()
    for group in groups:
        (start, end), positives = group[0], group[1:]
        for first, last in positives:
            assert 0 <= first < last <= 200
            assert first <= end
            assert last >= start
            if last == start or first == end:
                kinds.add("adjacent")
            elif start <= first and last <= end:
                kinds.add("subsumed")
            else:
                kinds.add("overlapping")
    assert kinds == {"adjacent", "subsumed", "overlapping"}


def test_anchors_of_a_document_are_apart() -> None:
    for one, other in drawn(200):
        assert other[0, 0] - one[0, 1] >= 0, "in their order"
        assert other[0, 0] // 20 - one[0, 0] // 20 >= 2 or other[0, 0] - one[0, 1] >= 1
    starts = {int(spans[0][0, 0]) // 20 for spans in drawn(200)} | {int(spans[1][0, 0]) // 20 for spans in drawn(200)}
    assert starts == set(range(10)), "every part of the document is drawn"


@pytest.mark.parametrize("place", ["adjacent", "subsumed"])
def test_positives_may_be_asked_to_lie_in_one_way(place: str) -> None:
    for spans in drawn(200, place=place):
        for group in spans:
            (start, end), positives = group[0], group[1:]
            for first, last in positives:
                inside = start <= first and last <= end
                assert inside if place == "subsumed" else last == start or first == end


@pytest.mark.parametrize("words", [1, 2, 3, 5, 9, 17])
def test_short_documents_give_short_spans(words: int) -> None:
    for spans in drawn(words, 50):
        assert len(spans) == 2
        for first, last in np.concatenate(spans):
            assert 0 <= first < last <= words


def test_anchors_of_a_document_come_together(tiny: Callable[..., Any], sentences: list[str], tmp_path: Path) -> None:
    texts = [" ".join(sentences[8 * i : 8 * i + 8]) for i in range(10)]
    corpus = build_corpus(texts, tmp_path / "corpus")
    pairing = DeclutrSpans(anchors=3, positives=1, min_words=2, max_words=5)
    examples = pairing.index(corpus, LazyTokens(corpus, tiny().tokenizer, max_tokens=500), tmp_path)
    assert (len(examples), examples.together) == (30, 3)
    assert examples.sharing(np.array([4])).tolist() == [3, 4, 5]
    assert len(examples.columns(np.array([0, 7]), 1)) == 2
    with pytest.raises(MirrormaskError, match="The 'place' of declutr-spans must be one of any, adjacent, subsumed"):
        DeclutrSpans(place="near")
