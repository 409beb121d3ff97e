from __future__ import annotations

import pytest
import torch
from torch import Tensor

from mirrormask.pretraining.masking import IGNORED, Masking

VOCABULARY, MASK = 1000, 4


def masking(rate: float = 0.2, *, whole_words: bool = False) -> Masking:
    special = torch.zeros(VOCABULARY, dtype=torch.bool)
    special[:5] = True
    starts = torch.ones(VOCABULARY, dtype=torch.bool)
    starts[500:] = False  # ids from 500 on continue a word
    return Masking(mask_id=MASK, special=special, starts=starts, rate=rate, whole_words=whole_words)


def some_rows(rows: int = 64, length: int = 40, *, seed: int = 0) -> Tensor:
    """Framed rows of words of one to three pieces, with separators in between."""
    chance = torch.Generator().manual_seed(seed)
    first = torch.randint(5, 500, (rows, length), generator=chance)
    more = torch.randint(500, VOCABULARY, (rows, length), generator=chance)
    ids = torch.where(torch.rand(rows, length, generator=chance) < 0.4, more, first)
    ids[torch.rand(rows, length, generator=chance) < 0.05] = 3
    ids[:, 0], ids[:, -1] = 2, 3
    return ids


@pytest.mark.parametrize("whole_words", [False, True])
def test_every_row_hides_the_same_number_and_no_special_token(whole_words: bool) -> None:
    ids = some_rows()
    hide = masking(whole_words=whole_words)
    count = hide.count(38)
    assert count == 8
    hidden = hide(ids, count, seed=1)
    assert hidden.positions.shape == hidden.labels.shape == (64, 8)
    for row in range(64):
        assert len(set(hidden.positions[row].tolist())) == 8
    old = ids.gather(1, hidden.positions)
    assert (old >= 5).all(), "specials are never chosen"
    assert torch.equal(hidden.labels, old)
    elsewhere = torch.ones_like(ids, dtype=torch.bool).scatter(1, hidden.positions, False)
    assert torch.equal(hidden.ids[elsewhere], ids[elsewhere]), "nothing else changes"


def test_eight_in_ten_are_masked_one_replaced_one_kept() -> None:
    ids = some_rows(2000)
    hidden = masking()(ids, 8, seed=2)
    new = hidden.ids.gather(1, hidden.positions)
    masked = (new == MASK).float().mean().item()
    kept = (new == hidden.labels).float().mean().item()
    assert masked == pytest.approx(0.8, abs=0.015)
    assert kept == pytest.approx(0.1, abs=0.01)
    replaced = new[(new != MASK) & (new != hidden.labels)]
    assert (replaced >= 5).all(), "a random token is never special"
    assert replaced.unique().numel() > 700, "any word may stand there"


def test_the_same_seed_hides_the_same_tokens() -> None:
    ids = some_rows()
    one, two, other = (masking()(ids, 8, seed=seed).ids for seed in (5, 5, 6))
    assert torch.equal(one, two)
    assert not torch.equal(one, other)


def test_every_place_is_as_likely() -> None:
    ids = some_rows(4000, 12)
    ids[:, 1:-1] = 7
    chosen = torch.bincount(masking()(ids, 2, seed=3).positions.flatten(), minlength=12)
    assert chosen[0] == chosen[-1] == 0
    assert (chosen[1:-1].float() / 800 - 1).abs().max() < 0.15


def test_whole_words_are_hidden_whole() -> None:
    ids = some_rows(200)
    hide = masking(whole_words=True)
    hidden = hide(ids, 8, seed=4)
    chosen = torch.zeros_like(ids, dtype=torch.bool).scatter(1, hidden.positions, True)
    partly = 0
    for row in range(200):
        words: list[list[int]] = []
        for place, token in enumerate(ids[row].tolist()):
            if token >= 500 and words and ids[row, place - 1] >= 5:
                words[-1].append(place)
            elif token >= 5:
                words.append([place])
        for word in words:
            count = int(chosen[row, word].sum())
            partly += count not in (0, len(word))
        if not any(len(word) == 1 and not chosen[row, word[0]] for word in words):
            partly = max(0, partly - 1)  # no single piece was left to fill up with
    assert partly == 0
    pieces = (ids.gather(1, hidden.positions) >= 500).float().mean()
    assert pieces > 0.2, "long words are hidden too, not only single pieces"


def test_a_row_with_too_few_words_counts_what_it_has() -> None:
    ids = torch.full((1, 10), 3)
    ids[0, 0], ids[0, 4] = 2, 9
    for whole_words in (False, True):
        hidden = masking(whole_words=whole_words)(ids, 3, seed=0)
        assert sorted(hidden.labels[0].tolist()) == [IGNORED, IGNORED, 9]
        changed = torch.nonzero(hidden.ids != ids)
        assert all(place == 4 for _, place in changed.tolist())


def test_at_least_one_token_is_hidden() -> None:
    assert masking(0.01).count(10) == 1
