"""SAM and AWP: where the second pass stands, that the loss is higher there, and that weights come back to the bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from mirrormask.core.errors import MirrormaskError
from mirrormask.stabilizers import Stabilizer
from mirrormask.stabilizers.awp import AWP, worsen
from mirrormask.stabilizers.sam import SAM, ascend


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Tanh(), nn.Linear(8, 3))
        self.frozen = nn.Parameter(torch.ones(2), requires_grad=False)
        self.unused = nn.Parameter(torch.ones(2))

    def loss(self) -> Tensor:
        torch.manual_seed(7)
        data, target = torch.randn(16, 4), torch.arange(16) % 3
        return nn.functional.cross_entropy(self.layers(data), target)


class Recorder:
    """A closure over a net that notes each call: its draw, the weights it met, its loss and gradients."""

    def __init__(self, net: Net) -> None:
        self.net = net
        self.calls: list[dict[str, Any]] = []

    def __call__(self, draw: int = 0) -> Tensor:
        self.net.zero_grad(set_to_none=True)
        torch.manual_seed(100 + draw)
        torch.rand(draw)
        loss = self.net.loss()
        loss.backward()  # type: ignore[no-untyped-call]
        grads = {n: p.grad.clone() for n, p in self.net.named_parameters() if p.grad is not None}
        weights = {n: p.detach().clone() for n, p in self.net.named_parameters()}
        self.calls.append({"draw": draw, "loss": loss.detach(), "grads": grads, "weights": weights})
        return loss.detach()


BOTH: list[Callable[..., Stabilizer]] = [SAM, AWP, lambda **o: AWP(gamma=1.0, epsilon=0.01, **o)]


@pytest.mark.parametrize("build", BOTH)
def test_the_weights_come_back_to_the_bit_and_the_second_gradient_stays(build: Callable[..., Stabilizer]) -> None:
    net = Net()
    recorder = Recorder(net)
    before = {n: p.detach().clone() for n, p in net.named_parameters()}
    loss = build().step(recorder, net)
    first, second = recorder.calls
    assert torch.equal(loss, first["loss"])
    assert second["loss"] > first["loss"], "the step goes uphill"
    for name, weight in net.named_parameters():
        assert torch.equal(weight, before[name]), name
    for name in second["grads"]:
        assert torch.equal(dict(net.named_parameters())[name].grad, second["grads"][name])  # type: ignore[arg-type]
    assert any(not torch.equal(first["grads"][name], second["grads"][name]) for name in first["grads"])
    assert torch.equal(second["weights"]["frozen"], before["frozen"])
    assert torch.equal(second["weights"]["unused"], before["unused"])


@pytest.mark.parametrize("build", BOTH)
@pytest.mark.parametrize("redraw", [False, True])
def test_the_second_pass_replays_or_redraws(build: Callable[..., Stabilizer], redraw: bool) -> None:
    net = Net()
    recorder = Recorder(net)
    build(redraw=redraw).step(recorder, net)
    assert [call["draw"] for call in recorder.calls] == [0, int(redraw)]


@pytest.mark.parametrize("build", BOTH)
def test_the_weights_come_back_when_the_second_pass_fails(build: Callable[..., Stabilizer]) -> None:
    net = Net()
    recorder = Recorder(net)
    before = [p.detach().clone() for p in net.parameters()]

    def closure(draw: int = 0) -> Tensor:
        if recorder.calls:
            raise ZeroDivisionError
        return recorder(draw)

    with pytest.raises(ZeroDivisionError):
        build().step(closure, net)
    assert all(torch.equal(p, b) for p, b in zip(net.parameters(), before, strict=True))


@pytest.mark.parametrize("build", BOTH)
def test_a_gradient_that_is_no_number_leaves_the_weights_alone(build: Callable[..., Stabilizer]) -> None:
    net = nn.Linear(2, 2)
    before = net.weight.detach().clone()

    def closure(draw: int = 0) -> Tensor:
        net.zero_grad(set_to_none=True)
        loss = net(torch.full((1, 2), float("inf"))).sum()
        loss.backward()
        return loss.detach()

    build().step(closure, net)
    assert torch.equal(net.weight, before)


def test_sam_moves_by_rho_along_the_joint_gradient() -> None:
    weights = [torch.tensor([[1.0, 2.0]]), torch.tensor([3.0])]
    gradients = [torch.tensor([[2.0, 0.0]]), torch.tensor([-1.5])]
    ascend(weights, gradients, 0.05)
    norm = (2.0**2 + 1.5**2) ** 0.5  # 2.5
    assert weights[0].tolist()[0] == pytest.approx([1 + 0.05 * 2 / norm, 2.0])
    assert weights[1].tolist() == pytest.approx([3 - 0.05 * 1.5 / norm])
    assert gradients == [], "their memory is given back"


def test_sam_on_a_quadratic_is_its_closed_form() -> None:
    """For L = w'Aw / 2 the gradient is Aw, and at w + rho * Aw / |Aw| it is A(w + rho * Aw / |Aw|)."""
    root = torch.randn(3, 3, dtype=torch.float64)
    matrix = root @ root.T
    point = nn.Parameter(torch.randn(3, dtype=torch.float64))
    model = nn.ParameterList([point])

    def closure(draw: int = 0) -> Tensor:
        model.zero_grad()
        loss = point @ matrix @ point / 2
        loss.backward()  # type: ignore[no-untyped-call]
        return loss.detach()

    SAM(rho=0.3).step(closure, model)
    slope = matrix @ point.detach()
    torch.testing.assert_close(point.grad, matrix @ (point.detach() + 0.3 * slope / slope.norm()))


def by_loop(weight: Tensor, gradient: Tensor, gamma: float, epsilon: float) -> list[float]:
    norm = sum(w * w for w in weight.flatten().tolist()) ** 0.5
    length = sum(g * g for g in gradient.flatten().tolist()) ** 0.5
    found = []
    for w, g in zip(weight.flatten().tolist(), gradient.flatten().tolist(), strict=True):
        v = gamma * norm * g / length
        if epsilon:
            v = min(max(v, -epsilon * abs(w)), epsilon * abs(w))
        found.append(w + v)
    return found


@pytest.mark.parametrize(("gamma", "epsilon"), [(0.005, 0.0), (1.0, 0.01), (0.05, 0.05)])
def test_awp_equals_the_loop(gamma: float, epsilon: float) -> None:
    torch.manual_seed(0)
    weights = [torch.randn(3, 4, dtype=torch.float64), torch.randn(5, 2, dtype=torch.float64)]
    gradients = [torch.randn_like(weight) for weight in weights]
    expected = [by_loop(w, g, gamma, epsilon) for w, g in zip(weights, gradients, strict=True)]
    worsen(weights, gradients, gamma, epsilon)
    for weight, values in zip(weights, expected, strict=True):
        assert weight.flatten().tolist() == pytest.approx(values, rel=1e-9)


def test_awp_moves_each_matrix_by_a_share_of_its_norm_and_no_bias() -> None:
    net = Net()
    recorder = Recorder(net)
    before = {n: p.detach().clone() for n, p in net.named_parameters()}
    AWP(gamma=0.01).step(recorder, net)
    for name, weight in recorder.calls[1]["weights"].items():
        moved = (weight - before[name]).norm().item()
        expected = 0.01 * before[name].norm().item() if name.endswith("weight") else 0.0
        assert moved == pytest.approx(expected, rel=1e-3, abs=1e-9), name


def test_a_large_gamma_under_a_bound_moves_every_element_by_its_share() -> None:
    weight, gradient = torch.tensor([[1.0, -2.0, 4.0]]), torch.tensor([[3.0, -1.0, -2.0]])
    worsen([weight], [gradient], 1e3, 0.1)
    assert weight.tolist()[0] == pytest.approx([1.1, -2.2, 3.6])


def test_what_cannot_be() -> None:
    with pytest.raises(MirrormaskError, match="The 'rho' of sam must be above 0. Got 0"):
        SAM(0.0)
    with pytest.raises(MirrormaskError, match="The 'gamma' of awp must be above 0. Got 0"):
        AWP(gamma=0.0)
    with pytest.raises(MirrormaskError, match="The 'epsilon' of awp must be at least 0. Got -1"):
        AWP(epsilon=-1.0)
