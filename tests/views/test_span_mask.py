from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mirrormask.core.batch import Frame, Tokens
from mirrormask.core.errors import MirrormaskError
from mirrormask.views import Vocabulary
from mirrormask.views.span_mask import SpanMask, mask_span

MASK = 6
WORDS = Vocabulary(
    Frame(np.array([0]), np.array([1])), np.ones(30, dtype=bool), mask_id=MASK, special_ids=frozenset({0, 1, MASK})
)


def test_length_is_geometric_and_capped_and_place_is_uniform() -> None:
    ids, rng = np.arange(10, 18), np.random.default_rng(0)
    lengths: Counter[int] = Counter()
    starts: Counter[int] = Counter()
    for _ in range(20_000):
        seen = mask_span(ids, MASK, stop=0.3, longest=5, rng=rng)
        hidden = np.flatnonzero(seen == MASK)
        assert hidden.tolist() == list(range(hidden[0], hidden[-1] + 1)), "one span"
        assert (seen[seen != MASK] == ids[seen != MASK]).all()
        lengths[len(hidden)] += 1
        if len(hidden) == 2:
            starts[int(hidden[0])] += 1
    expected = [0.3 * 0.7**k for k in range(4)] + [0.7**4]  # what would be longer is 5
    assert [lengths[k] / 20_000 for k in (1, 2, 3, 4, 5)] == pytest.approx(expected, abs=0.012)
    assert set(starts) == set(range(7))
    assert min(starts.values()) > 0.8 * max(starts.values())


def test_the_frame_and_one_token_stay() -> None:
    rows = Tokens.of([np.array([0, 10, 11, 12, 1]), np.array([0, 10, 1]), np.array([0, 1])])
    for seed in range(40):
        seen = SpanMask(stop=1e-6).rewrite(rows, np.random.default_rng(seed), WORDS).rows
        assert (seen[0] == MASK).sum() == 2
        assert [seen[0][0], seen[0][-1]] == [0, 1]
        assert [row.tolist() for row in seen[1:]] == [[0, 10, 1], [0, 1]], "nothing to hide"
    assert rows.rows[0].tolist() == [0, 10, 11, 12, 1], "the rows given stay as they were"


def test_a_longest_span_of_nothing_is_simcse() -> None:
    rows = Tokens.of([np.arange(10)])
    assert SpanMask(longest=0).rewrite(rows, np.random.default_rng(0), WORDS).rows[0].tolist() == list(range(10))
    assert SpanMask().forward_key == "plain", "the rows of both views share a forward"


def test_a_tokenizer_without_a_mask_is_refused_before_training(tiny: Callable[..., Any]) -> None:
    SpanMask().attach(tiny(), None)
    with pytest.raises(MirrormaskError, match="The view span-mask needs a tokenizer with a mask token"):
        SpanMask().attach(SimpleNamespace(tokenizer=SimpleNamespace(mask_token_id=None)), None)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"stop": 0.0}, "The 'stop' of span-mask must be above 0. Got 0.0."),
        ({"stop": 1.5}, "The 'stop' of span-mask is a chance, so it must be at most 1. Got 1.5."),
        ({"longest": -1}, "The 'longest' of span-mask must be at least 0. Got -1."),
    ],
)
def test_values_that_cannot_be(given: dict[str, Any], message: str) -> None:
    with pytest.raises(MirrormaskError, match=message):
        SpanMask(**given)
