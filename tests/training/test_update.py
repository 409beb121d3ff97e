from __future__ import annotations

import pytest
import torch
from accelerate import Accelerator
from torch import Tensor, nn

from mirrormask.training.averaging import Average
from mirrormask.training.optimizer import adamw, clipped_together, groups_of
from mirrormask.training.update import SAFE_RATE, Updates, all_finite


@pytest.fixture
def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))


def updates_of(model: nn.Module, rate: float) -> tuple[Updates, Average]:
    optimizer, average = adamw(model, learning_rate=rate, weight_decay=0.0), Average(model, 0.5)
    accelerator = Accelerator(cpu=True)
    prepared = accelerator.prepare(optimizer)
    clipped = clipped_together(groups_of(model), 1.0)
    return Updates(accelerator, model, optimizer, prepared, average, clipped), average


def loss_of(model: nn.Module) -> Tensor:
    model.zero_grad()
    loss: Tensor = model(torch.arange(12.0).view(4, 3)).square().sum() + model[0].weight.sum()  # type: ignore[index, union-attr, operator]
    loss.backward()
    return loss.detach()


def kept(model: nn.Module, average: Average) -> list[Tensor]:
    return [value.clone() for value in (*model.state_dict().values(), *average.state().values())]


def test_the_last_update_is_taken_back_with_all_it_changed(model: nn.Module) -> None:
    updates, average = updates_of(model, 1.0)
    loss = loss_of(model)
    before = kept(model, average)
    norm, updated = updates.step(loss, 1.0)
    assert updated
    assert norm > 1.0, "as it was before clipping"
    assert not torch.equal(model.state_dict()["0.weight"], before[0])
    assert updates.take_back()
    assert all(map(torch.equal, kept(model, average), before))
    assert updates.optimizer.state_dict()["state"] == {}
    assert not updates.take_back(), "once"


def test_nothing_is_copied_at_a_rate_that_ruins_nothing(model: nn.Module) -> None:
    updates, _ = updates_of(model, SAFE_RATE)
    assert updates.step(loss_of(model), SAFE_RATE)[1]
    assert not updates.take_back()


def test_an_update_to_no_numbers_is_not_made(model: nn.Module) -> None:
    updates, average = updates_of(model, 1e39)
    loss = loss_of(model)
    before = kept(model, average)
    _, updated = updates.step(loss, 1e39)
    assert not updated
    assert all(map(torch.equal, kept(model, average), before))


def test_a_broken_step_is_left_out(model: nn.Module) -> None:
    updates, average = updates_of(model, 1e-3)
    loss = loss_of(model)
    before = kept(model, average)
    model[0].weight.grad[0, 0] = float("nan")  # type: ignore[index, union-attr]
    norm, updated = updates.step(loss, 1e-3)
    assert not updated
    assert norm.isnan()
    assert all(map(torch.equal, kept(model, average), before))


def test_buffers_count(model: nn.Module) -> None:
    assert all_finite(model)
    model[1].running_mean[0] = float("inf")  # type: ignore[index, operator]
    assert not all_finite(model)
    assert all_finite(nn.Identity())


def test_a_scaled_gradient_that_overflows_breaks_nothing(model: nn.Module) -> None:
    optimizer, average = adamw(model, learning_rate=1e-3, weight_decay=0.0), Average(model, 0.5)
    accelerator = Accelerator(cpu=True)
    accelerator.scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    prepared = accelerator.prepare(optimizer)
    updates = Updates(accelerator, model, optimizer, prepared, average, clipped_together(groups_of(model), 1.0))
    before = [value.clone() for value in model.state_dict().values()]
    model.zero_grad()
    accelerator.scaler.scale(model[0].weight.sum()).backward()  # type: ignore[index, union-attr, operator]
    weight: Tensor = model[0].weight  # type: ignore[index, assignment]
    weight.grad = torch.full_like(weight, float("inf"))
    norm, _ = updates.step(torch.tensor(1.0), 1e-3)
    assert torch.isfinite(norm)
    assert all(map(torch.equal, model.state_dict().values(), before))
    assert accelerator.scaler.get_scale() < 4.0
