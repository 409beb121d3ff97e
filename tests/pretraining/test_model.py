from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from mirrormask.core.errors import MirrormaskError
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.models.precision import best_precision
from mirrormask.pretraining.flops import matmul_rate, step_flops
from mirrormask.pretraining.held_out_score import HeldOutScore
from mirrormask.pretraining.masking import IGNORED, Masking
from mirrormask.pretraining.model import Pretraining, fresh_bert, set_dropout
from mirrormask.pretraining.packing import PackedRows
from mirrormask.pretraining.plan import Plan

PLAN = Plan(layers=2, width=32, heads=2, positions=32, length=16, dropout=0.0)


def model_of(lm: MaskedLM, plan: Plan = PLAN) -> Pretraining:
    size = len(lm.tokenizer)
    special = torch.zeros(size, dtype=torch.bool)
    special[lm.tokenizer.all_special_ids] = True
    masking = Masking(
        mask_id=lm.tokenizer.mask_token_id,
        special=special,
        starts=torch.ones(size, dtype=torch.bool),
        rate=plan.mask_rate,
        whole_words=False,
    )
    return Pretraining(lm, masking, plan, torch.ones(size)).eval()


@pytest.fixture
def lm(tiny_folder: Path) -> MaskedLM:
    loaded = MaskedLM.load(tiny_folder, device="cpu")
    set_dropout(loaded.model, 0.0)
    return loaded


def some_rows(lm: MaskedLM, rows: int = 6, length: int = 16) -> torch.Tensor:
    chance = torch.Generator().manual_seed(0)
    ids = torch.randint(5, len(lm.tokenizer), (rows, length), generator=chance)
    ids[:, 0], ids[:, -1] = lm.tokenizer.cls_token_id, lm.tokenizer.sep_token_id
    return ids


def test_the_loss_and_its_gradient_are_the_librarys(lm: MaskedLM) -> None:
    model = model_of(lm)
    rows = some_rows(lm)
    hidden = model.masking(rows, model.masking.count(14), seed=7)
    ours = model(rows, 7)
    ours.backward()
    found = [p.grad.clone() for p in lm.model.parameters() if p.grad is not None]
    lm.model.zero_grad()
    labels = torch.full_like(rows, IGNORED).scatter(1, hidden.positions, hidden.labels)
    theirs = lm.model(input_ids=hidden.ids, attention_mask=torch.ones_like(rows), labels=labels).loss
    theirs.backward()
    assert ours.item() == pytest.approx(theirs.item(), rel=1e-5)
    expected = [p.grad for p in lm.model.parameters() if p.grad is not None]
    assert len(found) == len(expected) > 20
    for one, two in zip(found, expected, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("bag", "neighbors"), [(1.0, 0.0), (0.0, 1.0), (0.5, 0.25)])
def test_the_other_losses_add_to_it_and_reach_the_encoder(lm: MaskedLM, bag: float, neighbors: float) -> None:
    rows = some_rows(lm)
    plain = model_of(lm)(rows, 3)
    torch.manual_seed(0)
    model = model_of(lm, dataclasses.replace(PLAN, bag=bag, neighbors=neighbors))
    whole = model(rows, 3)
    more = whole - plain
    assert more > 0.1
    gradient = torch.autograd.grad(more, lm.model.get_input_embeddings().weight)[0]
    assert gradient.abs().sum() > 0


def test_a_bag_of_words_has_a_decoder_of_its_own_that_learns(lm: MaskedLM) -> None:
    model = model_of(lm, dataclasses.replace(PLAN, bag=1.0))
    assert model.decoder is not None
    model(some_rows(lm), 0).backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.decoder.parameters())


def test_a_compiled_model_is_one_graph_for_all_steps(lm: MaskedLM) -> None:
    from torch._dynamo.testing import CompileCounter

    model = model_of(lm, dataclasses.replace(PLAN, bag=0.5, neighbors=0.5)).train()
    torch._dynamo.reset()
    counter = CompileCounter()
    model.compute = torch.compile(model.losses, backend=counter, dynamic=False, fullgraph=True)
    rows = some_rows(lm)
    for seed in range(3):
        model(rows, seed).backward()
    assert counter.frame_count == 1
    torch._dynamo.reset()


def test_dropout_can_be_set_everywhere(lm: MaskedLM) -> None:
    model = model_of(lm).train()
    rows = some_rows(lm)
    assert model(rows, 1).item() == model(rows, 1).item()
    set_dropout(lm.model, 0.4)
    assert lm.model.config.hidden_dropout_prob == lm.model.config.attention_probs_dropout_prob == 0.4
    assert model(rows, 1).item() != model(rows, 1).item()


def test_a_fresh_model_has_the_asked_shape() -> None:
    plan = Plan(layers=3, width=48, heads=4, positions=40, length=20, dropout=0.2)
    config = fresh_bert(plan, 99, 0).config
    assert (config.num_hidden_layers, config.hidden_size, config.num_attention_heads) == (3, 48, 4)
    assert (config.intermediate_size, config.max_position_embeddings, config.vocab_size) == (192, 40, 99)
    assert config.hidden_dropout_prob == config.attention_probs_dropout_prob == 0.2


def test_flops_are_what_the_counter_of_torch_counts(lm: MaskedLM) -> None:
    model = model_of(lm)
    lm.model.set_attn_implementation("eager")  # the counter does not see into the fused kernel of a CPU
    rows = some_rows(lm, rows=8)
    hidden = model.masking.count(14)
    with FlopCounterMode(display=False) as counter:
        model(rows, 0).backward()
    ours = step_flops(lm, rows=8, length=16, hidden=hidden)
    assert ours == counter.get_total_flops()


def test_the_rate_of_matrix_products_is_positive() -> None:
    assert matmul_rate(torch.device("cpu"), torch.float32) > 1e8


def test_the_score_is_the_loop_and_the_same_each_time(lm: MaskedLM) -> None:
    model = model_of(lm)
    stream = np.random.default_rng(0).integers(5, len(lm.tokenizer), 400).astype(np.uint16)
    from mirrormask.core.framing import frame_of

    rows = PackedRows(stream, frame_of(lm.tokenizer), length=16, batch_size=5, seed=1)
    score = HeldOutScore(model, rows, best_precision("cpu", "fp32"), seed=9)
    found = score()
    losses: list[float] = []
    hits = 0
    for step in range(len(rows)):
        batch = rows.at(step)
        hidden = model.masking(batch, 2, seed=9 + step)  # 15 % of 14 places
        with torch.no_grad():
            logits = lm.model(input_ids=hidden.ids).logits.log_softmax(-1)
        for row, (positions, labels) in enumerate(zip(hidden.positions, hidden.labels, strict=True)):
            for place, label in zip(positions.tolist(), labels.tolist(), strict=True):
                losses.append(-float(logits[row, place, label]))
                hits += int(logits[row, place].argmax()) == label
    assert found.value == pytest.approx(-np.mean(losses), rel=1e-5)
    assert found.details["accuracy"] == pytest.approx(hits / len(losses))
    assert score().value == found.value


def test_the_score_counts_all_that_is_learned(lm: MaskedLM) -> None:
    from mirrormask.core.framing import frame_of

    stream = np.random.default_rng(0).integers(5, len(lm.tokenizer), 400).astype(np.uint16)
    rows = PackedRows(stream, frame_of(lm.tokenizer), length=16, batch_size=4, seed=1, together=2)
    plain = HeldOutScore(model_of(lm), rows, best_precision("cpu", "fp32"), seed=9)()
    model = model_of(lm, dataclasses.replace(PLAN, neighbors=0.5))
    both = HeldOutScore(model, rows, best_precision("cpu", "fp32"), seed=9)()
    assert both.details == plain.details, "the masked LM's own measures stay"
    assert both.value < plain.value - 0.1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"width": 30, "heads": 4}, "'width' of pretraining must be a multiple of its 'heads', 4. Got 30"),
        ({"mask_rate": 0.0}, "'mask_rate' of pretraining must be above 0. Got 0"),
        ({"mask_rate": 0.95}, "'mask_rate' of pretraining must be"),
        ({"length": 600}, "'positions' of pretraining must be at least its 'length', 600. Got 512"),
        ({"vocabulary": 7}, "'vocabulary' of pretraining must be at least 64. Got 7"),
        ({"layers": 0}, "'layers' of pretraining must be at least 1. Got 0"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(MirrormaskError, match=message):
        Plan(**wrong)


def test_rows_that_stand_later_teach_every_position(lm: MaskedLM) -> None:
    longest = int(lm.model.config.max_position_embeddings)
    model = model_of(lm, dataclasses.replace(PLAN, later=0.5))
    rows = some_rows(lm, rows=400)
    places = model.places_of(rows, 5)
    starts = places[:, 0]
    assert torch.equal(places, starts[:, None] + torch.arange(16))  # a row stays together
    assert 120 < int((starts == 0).sum()) < 280
    assert int(places.max()) == longest - 1
    assert torch.equal(places, model.places_of(rows, 5)) and not torch.equal(places, model.places_of(rows, 6))
    model(rows, 5).backward()
    learned = lm.model.base_model.embeddings.position_embeddings.weight.grad
    assert learned is not None and bool((learned.abs().sum(1) > 0).all())
    plain = model_of(lm, dataclasses.replace(PLAN, later=0.0))
    lm.model.zero_grad()
    plain(rows, 5).backward()
    assert not lm.model.base_model.embeddings.position_embeddings.weight.grad[16:].any()
