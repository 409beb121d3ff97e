from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import torch
from tests.pretraining.test_model import PLAN, model_of

from mirrormask.core.errors import MirrormaskError, ModelError
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.pretraining.model import set_dropout
from mirrormask.pretraining.plan import Plan
from mirrormask.pretraining.singles import APART, SingleSentences

BEGIN, END, STOP = 1, 2, 3


def cut() -> SingleSentences:
    stops = torch.zeros(100, dtype=torch.bool)
    stops[STOP] = True
    return SingleSentences(begin=BEGIN, end=END, stops=stops)


def by_hand(row: list[int]) -> tuple[list[int], list[int], list[int]]:
    """Return ids, places and sentence numbers of a row, token by token."""
    content = row[1:-1]
    marks = [place for place, token in enumerate(content) if token in (STOP, END)]
    ids, places, which = [BEGIN], [0], [0]
    for place, token in enumerate(content):
        ids.append(token)
        near = any(0 < abs(place - other) <= APART for other in marks)
        if token == STOP and not near:
            ids += [END, BEGIN]
        elif token == END:
            ids.append(BEGIN)
    ids = [*ids[: len(row) - 1], END]
    for token in ids[1:]:
        begins = token == BEGIN
        places.append(0 if begins else places[-1] + 1)
        which.append(which[-1] + begins)
    return ids, places, which


def test_rows_are_cut_as_a_loop_cuts_them() -> None:
    chance = torch.Generator().manual_seed(0)
    rows = torch.randint(10, 100, (200, 40), generator=chance)
    drawn = torch.rand(rows.shape, generator=chance)
    rows[drawn < 0.12] = STOP
    rows[drawn > 0.95] = END
    rows[:, 0], rows[:, -1] = BEGIN, END
    singles = cut()(rows)
    assert singles.ids.shape == rows.shape
    for number, row in enumerate(rows.tolist()):
        ids, places, which = by_hand(row)
        assert singles.ids[number].tolist() == ids
        assert singles.places[number].tolist() == places
        numbers = torch.tensor(which)
        assert torch.equal(singles.seen[number, 0], numbers[:, None] == numbers[None, :])


def test_dots_of_an_abbreviation_end_no_sentence() -> None:
    rows = torch.tensor([[BEGIN, 10, 11, 12, 13, STOP, 14, STOP, 15, 16, 17, 18, END]])
    assert torch.equal(cut()(rows).ids, rows)  # one sentence still
    assert bool(cut()(rows).seen.all())


@pytest.fixture
def lm(tiny_folder: Path) -> MaskedLM:
    loaded = MaskedLM.load(tiny_folder, device="cpu")
    set_dropout(loaded.model, 0.0)
    return loaded


def test_a_sentence_is_encoded_as_if_it_stood_alone(lm: MaskedLM) -> None:
    """Its neighbors in the row change nothing, neither by attention nor by where it stands."""
    model = model_of(lm, dataclasses.replace(PLAN, singles=0.99))
    single = model.single
    assert single is not None
    begin, end = single.begin, single.end
    rows = torch.tensor([[begin, 10, 11, 12, 13, end, 14, 15, 16, end, 17, 18, 19, 20, 21, end]])
    made = single(rows)
    states, _ = model._states(made.ids, torch.zeros(1, 1, dtype=torch.long), made.places, made.seen)
    row = made.ids[0].tolist()
    starts = [place for place, token in enumerate(row) if token == begin]
    assert len(starts) == 3
    for start, stop in zip(starts, [*starts[1:], len(row)], strict=True):
        alone = lm.model.base_model(input_ids=made.ids[:, start:stop]).last_hidden_state
        torch.testing.assert_close(states[:, start:stop], alone, rtol=1e-4, atol=1e-5)


def test_a_share_of_the_rows_is_cut_and_all_are_learned_from(lm: MaskedLM) -> None:
    chance = torch.Generator().manual_seed(0)
    rows = torch.randint(5, len(lm.tokenizer), (8, 16), generator=chance)
    rows[:, 6] = lm.tokenizer.sep_token_id
    rows[:, 0], rows[:, -1] = lm.tokenizer.cls_token_id, lm.tokenizer.sep_token_id
    plain, half = model_of(lm), model_of(lm, dataclasses.replace(PLAN, singles=0.5))
    assert half(rows, 3).item() == half(rows, 3).item() != plain(rows, 3).item()
    assert model_of(lm, dataclasses.replace(PLAN, singles=0.01))(rows, 3).item() == pytest.approx(plain(rows, 3).item())
    half(rows, 3).backward()
    gradient = lm.model.get_input_embeddings().weight.grad
    assert gradient is not None and bool(torch.isfinite(gradient).all()) and bool(gradient.any())


def test_what_cannot_be_cut_is_refused(lm: MaskedLM) -> None:
    with pytest.raises(MirrormaskError, match="no one vector"):
        Plan(singles=0.3, neighbors=0.5)
    lm.model.config._attn_implementation = "eager"
    with pytest.raises(ModelError, match="Set 'singles' to 0"):
        model_of(lm, dataclasses.replace(PLAN, singles=0.5))
