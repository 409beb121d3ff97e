"""The flow's likelihood teaches the flow and never the encoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from mirrormask.core.batch import Step
from mirrormask.core.errors import MirrormaskError
from mirrormask.models.glow import Flow, bits_per_dimension
from mirrormask.models.transform import put_on
from mirrormask.objectives.flow_likelihood import FlowLikelihood


def test_it_is_the_negative_log_density_under_autograd() -> None:
    """-log p(x) = -log N(f(x)) - log |det df/dx|, in bits per dimension, found from f(x) alone."""
    flow = Flow(6, 2, 2, 4).double()
    with torch.no_grad():
        for weight in flow.parameters():
            weight.add_(0.1 * torch.randn(weight.shape, dtype=torch.float64))
    objective = FlowLikelihood()
    objective._flow = (flow,)
    x = torch.randn(5, 6, dtype=torch.float64)
    z = flow.with_log_determinant(x)[0]
    total = torch.zeros((), dtype=torch.float64)
    for row in x:
        jacobian = torch.autograd.functional.jacobian(lambda v: flow.with_log_determinant(v[None])[0][0], row)
        density = torch.distributions.Normal(0.0, 1.0).log_prob(flow.with_log_determinant(row[None])[0]).sum()
        total = total - density - torch.linalg.slogdet(jacobian).logabsdet
    expected = total / len(x) / 6 / torch.log(torch.tensor(2.0, dtype=torch.float64))
    torch.testing.assert_close(objective(Step(z[:2], z[2:4])), _of(flow, x[:4]))
    torch.testing.assert_close(_of(flow, x), expected)


def _of(flow: Flow, x: torch.Tensor) -> torch.Tensor:
    return bits_per_dimension(*flow.with_log_determinant(x))


def test_only_the_flow_learns(tiny: Callable[..., Any]) -> None:
    encoder = tiny(pooling="mean")
    put_on(encoder, Flow(32, 2, 2, 4), "flow")
    objective = FlowLikelihood()
    objective.attach(encoder)
    features = encoder.preprocess(["a quiet child", "the gray cat", "two red apples", "some bread"])
    z = encoder(features)["sentence_embedding"]
    objective(Step(z[:2], z[2:])).backward()
    assert all(weight.grad is None for weight in encoder[0].parameters())
    reached = [name for name, weight in encoder[-1].named_parameters() if weight.grad is not None]
    assert any("norm.log_scale" in name for name in reached)
    assert any("shift.last" in name for name in reached)


def test_without_a_flow(tiny: Callable[..., Any]) -> None:
    with pytest.raises(MirrormaskError, match="needs a flow on the encoder"):
        FlowLikelihood().attach(tiny(pooling="mean"))
