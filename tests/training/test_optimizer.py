from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from transformers import get_cosine_schedule_with_warmup, get_linear_schedule_with_warmup

from mirrormask.core.errors import MirrormaskError
from mirrormask.training.optimizer import ParameterGroup, adamw, clipped_together, groups_of, rate_at


@pytest.mark.parametrize(
    ("schedule", "theirs"),
    [("linear", get_linear_schedule_with_warmup), ("cosine", get_cosine_schedule_with_warmup)],
)
def test_schedules_equal_transformers(schedule: str, theirs: Any) -> None:
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    reference = theirs(optimizer, 0, 12)
    for step in range(12):
        assert rate_at(step, 12, schedule=schedule, warmup=0.0) == pytest.approx(optimizer.param_groups[0]["lr"])
        optimizer.step()
        reference.step()


@pytest.mark.parametrize("schedule", ["linear", "cosine", "constant"])
@pytest.mark.parametrize("warmup", [0.0, 0.1, 0.5, 0.99])
def test_rates_stay_in_bounds_rise_then_fall(schedule: str, warmup: float) -> None:
    rates = [rate_at(step, 50, schedule=schedule, warmup=warmup) for step in range(50)]
    assert all(0 < rate <= 1 for rate in rates)
    assert max(rates) == 1.0
    top = rates.index(1.0)
    assert rates[: top + 1] == sorted(rates[: top + 1])
    assert rates[top:] == sorted(rates[top:], reverse=True)


def test_adamw_is_pytorchs() -> None:
    """Two groups, PyTorch's own betas and epsilon: the same updates as AdamW by hand."""
    torch.manual_seed(0)
    ours, theirs = nn.Linear(4, 3), nn.Linear(4, 3)
    theirs.load_state_dict(ours.state_dict())
    groups = [{"params": [theirs.weight], "weight_decay": 0.1}, {"params": [theirs.bias], "weight_decay": 0.0}]
    pair = [(ours, adamw(ours, learning_rate=0.01, weight_decay=0.1)), (theirs, torch.optim.AdamW(groups, lr=0.01))]
    data = torch.randn(8, 4)
    for model, optimizer in pair:
        for _ in range(5):
            optimizer.zero_grad()
            model(data).square().mean().backward()
            optimizer.step()
    torch.testing.assert_close(ours.weight, theirs.weight)
    torch.testing.assert_close(ours.bias, theirs.bias)


def test_closed_weights_stay_out() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    for parameter in model[0].parameters():
        parameter.requires_grad_(False)
    optimizer = adamw(model, learning_rate=1.0, weight_decay=0.0)
    assert sum(len(group["params"]) for group in optimizer.param_groups) == 2


class Grouped(nn.Module):
    """A body of two layers, and a head in a group of its own."""

    def __init__(self, *groups: tuple[str, dict[str, Any]]) -> None:
        super().__init__()
        self.body, self.head = nn.Linear(3, 2), nn.Linear(2, 1)
        self.groups = groups

    def parameter_groups(self) -> list[ParameterGroup]:
        return [ParameterGroup(name, list(getattr(self, name).parameters()), **how) for name, how in self.groups]


def test_a_model_names_its_groups() -> None:
    model = Grouped(("head", {"rate": 10.0, "decay": False}))
    groups = adamw(model, learning_rate=0.1, weight_decay=0.3).param_groups
    assert [(g["rate"], g["weight_decay"], len(g["params"])) for g in groups] == [
        (1.0, 0.3, 1),
        (1.0, 0.0, 1),
        (10.0, 0.0, 1),
        (10.0, 0.0, 1),
    ]
    assert groups[2]["params"][0] is model.head.weight
    model.head.weight.requires_grad_(False)
    assert len(adamw(model, learning_rate=0.1, weight_decay=0.3).param_groups) == 3


def test_what_is_clipped_together() -> None:
    body, head = Grouped().body, Grouped().head
    assert [(len(weights), clip) for weights, clip in clipped_together(groups_of(Grouped()), 1.0)] == [(4, 1.0)]
    assert [(len(w), c) for w, c in clipped_together(groups_of(Grouped(("head", {"rate": 2.0}))), 1.0)] == [(4, 1.0)]
    apart = clipped_together(groups_of(Grouped(("head", {"clip": 5.0}))), 1.0)
    assert [(len(weights), clip) for weights, clip in apart] == [(2, 1.0), (2, 5.0)]
    assert apart[0][0][0].shape == body.weight.shape
    assert apart[1][0][0].shape == head.weight.shape
    alone = clipped_together(groups_of(Grouped(("head", {"clip": 5.0}), ("body", {"clip": 0.0}))), 1.0)
    assert [clip for _, clip in alone] == [5.0, 0.0]


def test_groups_that_cannot_be() -> None:
    with pytest.raises(MirrormaskError, match="in the groups 'head' and 'head'. Name it once"):
        groups_of(Grouped(("head", {}), ("head", {})))
    with pytest.raises(MirrormaskError, match="'rate' of the parameter group soft prompt must be above 0"):
        ParameterGroup("soft prompt", [], rate=0.0)
    with pytest.raises(MirrormaskError, match="'clip' of the parameter group head must be at least 0"):
        ParameterGroup("head", [], clip=-1.0)
