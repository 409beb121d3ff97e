from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import kstest

from mirrormask.core.errors import MirrormaskError
from mirrormask.core.seeding import uniforms
from mirrormask.data.pairs.spans import DRAWS, Spans, beta, two_spans
from mirrormask.data.text.corpus import build_corpus
from mirrormask.data.text.tokens import build_tokens


def drawn(words: int, count: int = 4000) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    chance = uniforms(words, np.arange(count)[:, None], np.arange(DRAWS))
    anchors, positives = two_spans(np.full(count, words), 5, 25, chance)
    return list(zip(map(tuple, anchors.tolist()), map(tuple, positives.tolist()), strict=True))


@pytest.mark.parametrize("shape", [(4, 2), (2, 4)])
def test_a_smallest_of_uniform_draws_is_a_beta_draw(shape: tuple[int, int]) -> None:
    found = beta(shape, uniforms(shape[0], np.arange(5000)[:, None], np.arange(5)))
    assert kstest(found, "beta", shape).pvalue > 1e-3
    assert kstest(found, "beta", shape[::-1]).pvalue < 1e-9


def test_many_texts_are_drawn_as_a_loop_draws_them() -> None:
    words, rows = np.array([0, 1, 4, 5, 17, 25, 300]), np.arange(7)
    for seed in range(30):
        chance = uniforms(seed, rows[:, None], np.arange(DRAWS))
        found = two_spans(words, 5, 25, chance)
        for n, u, anchor, positive in zip(words.tolist(), chance.tolist(), *found, strict=True):
            most = min(25, n)
            least = min(5, most)
            long = int(sorted(u[:5])[3] * (most - least) + least)
            short = int(sorted(u[5:10])[1] * (most - least) + least)
            start = int(u[10] * (n - long + 1))
            low, high = max(0, start - short), min(n - short, start + long)
            first = low + int(u[11] * (high - low + 1))
            assert anchor.tolist() == [start, start + long]
            assert positive.tolist() == [first, first + short]


def test_spans_stay_inside_and_near_each_other() -> None:
    for words in (1, 3, 5, 6, 12, 25, 80):
        for (a, b), (c, d) in drawn(words, 300):
            assert 0 <= a < b <= words
            assert 0 <= c < d <= words
            assert min(5, words) <= b - a <= min(25, words)
            assert min(5, words) <= d - c <= min(25, words)
            assert d >= a, "the positive is not apart before the anchor"
            assert c <= b, "nor apart after it"


def test_lengths_follow_the_papers_beta_distributions() -> None:
    """Beta(4, 2) has mean 2/3 and Beta(2, 4) has mean 1/3; cutting to whole words takes half a word."""
    pairs = drawn(500)
    anchors, positives = ([y - x for x, y in side] for side in zip(*pairs, strict=True))
    assert np.mean(anchors) == pytest.approx(5 + 20 * 2 / 3 - 0.5, abs=0.3)
    assert np.mean(positives) == pytest.approx(5 + 20 / 3 - 0.5, abs=0.3)
    assert np.mean(np.array(anchors) > np.array(positives)) > 0.85, "the anchor is mostly the longer one"


def test_a_positive_overlaps_lies_inside_or_stands_beside() -> None:
    kinds = set()
    for (a, b), (c, d) in drawn(200):
        inside, beside = a <= c and d <= b, d == a or c == b
        kinds.add("inside" if inside else "beside" if beside else "overlap")
    assert kinds == {"inside", "beside", "overlap"}


def test_spans_are_whole_words_of_the_text(tiny: Callable[..., Any], tmp_path: Path, sentences: list[str]) -> None:
    texts = [" ".join(sentences[3 * i : 3 * i + 3]) for i in range(20)] + ["bread"]
    corpus = build_corpus(texts, tmp_path / "corpus")
    tokenizer = tiny().tokenizer
    tokens = build_tokens(corpus, tokenizer, tmp_path / "tokens", max_tokens=512)
    examples = Spans().index(corpus, tokens, tmp_path / "pairs")
    first, second = examples.columns(np.arange(len(examples)), 3)
    for text, one, two in zip(texts, first, second, strict=True):
        whole = " ".join(tokenizer.convert_ids_to_tokens(tokenizer(text, add_special_tokens=False)["input_ids"]))
        for span in (one, two):
            assert " ".join(tokenizer.convert_ids_to_tokens(span.tolist())) in whole


def test_what_cannot_be() -> None:
    with pytest.raises(MirrormaskError, match="The 'max_words' of spans must be at least 9. Got 3"):
        Spans(min_words=9, max_words=3)
