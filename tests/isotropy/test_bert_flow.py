"""The flow: exact inverse, log-determinant against autograd, the right direction, and likelihood that rises."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor

from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.isotropy.bert_flow import BertFlow
from mirrormask.models.description import describe_model
from mirrormask.models.encoder import load, save_encoder
from mirrormask.models.glow import Flow, FlowStep, bits_per_dimension
from mirrormask.models.transform import keep


def skewed(count: int = 2000, width: int = 8) -> Tensor:
    """Return vectors that are not Gaussian and share a direction."""
    rows = torch.randn(count, width, generator=torch.Generator().manual_seed(0))
    rows[:, 1] = rows[:, 0].square() + 0.1 * rows[:, 1]
    return rows.exp().clamp(max=20) + 5


def moved(flow: Flow) -> Flow:
    """Return the flow with all weights away from where they start: a fresh coupling shifts nothing."""
    drawn = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for weight in flow.parameters():
            weight.add_(0.1 * torch.randn(weight.shape, generator=drawn))
    return flow.double()


SHAPES = [(8, 1, 1, "reverse"), (8, 3, 3, "reverse"), (7, 2, 2, "reverse"), (8, 2, 2, "learned"), (9, 3, 1, "learned")]


@pytest.mark.parametrize(("width", "levels", "depth", "permutation"), SHAPES)
def test_the_inverse_is_exact(width: int, levels: int, depth: int, permutation: str) -> None:
    flow = moved(Flow(width, levels, depth, 5, permutation))
    rows = skewed(20, width).double()
    z, _ = flow.with_log_determinant(rows)
    assert z.shape == rows.shape
    torch.testing.assert_close(flow.inverse(z), rows, atol=1e-9, rtol=1e-9)
    torch.testing.assert_close(flow.with_log_determinant(flow.inverse(rows))[0], rows, atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize(("width", "levels", "depth", "permutation"), SHAPES)
def test_the_log_determinant_is_autograds(width: int, levels: int, depth: int, permutation: str) -> None:
    flow = moved(Flow(width, levels, depth, 5, permutation))
    rows = skewed(3, width).double()
    found = flow.with_log_determinant(rows)[1]
    for row, each in zip(rows, found, strict=True):
        jacobian = torch.autograd.functional.jacobian(lambda x: flow.with_log_determinant(x[None])[0][0], row)
        torch.testing.assert_close(each, torch.linalg.slogdet(jacobian).logabsdet, atol=1e-8, rtol=1e-8)


def test_the_second_half_is_shifted_by_a_network_of_the_first() -> None:
    """BERT-CF prints AC(u_(d+1:D)), a network of the half that it changes, which has no inverse in general."""
    step: Any = moved(Flow(6, 1, 1, 4)).blocks[0][0]  # type: ignore[index]
    assert isinstance(step, FlowStep)
    x = torch.randn(5, 6, dtype=torch.float64)
    permuted = step.norm(x).flip(1)
    expected = torch.cat([permuted[:, :3], permuted[:, 3:] + step.shift(permuted[:, :3])], dim=1)
    torch.testing.assert_close(step.transform()(x), expected)
    assert step.shift(permuted[:, :3]).abs().max() > 0.01


def test_parts_leave_at_each_level_and_the_top_comes_last() -> None:
    flow = Flow(8, 3, 1)
    assert flow.parts == [4, 2, 2]
    z, _ = flow.with_log_determinant(torch.arange(8.0)[None])
    # a fresh step only reverses: 7..0; 3..0 leave, 7..4 go on and turn into 4..7; 6, 7 leave, 4, 5 turn into 5, 4
    assert z.tolist() == [[3, 2, 1, 0, 6, 7, 5, 4]]


def test_it_starts_with_mean_0_and_variance_1() -> None:
    flow = Flow(8, 2, 2)
    rows = skewed()
    flow.initialize(rows)
    z, _ = flow.with_log_determinant(rows)
    torch.testing.assert_close(z.mean(dim=0), torch.zeros(8), atol=1e-3, rtol=0)
    torch.testing.assert_close(z.std(dim=0), torch.ones(8), atol=1e-3, rtol=0)
    assert flow.blocks[0][0].shift.last.weight.abs().max() == 0  # type: ignore[index, union-attr]


def test_bits_per_dimension_of_a_gaussian_are_its_entropy() -> None:
    z = torch.randn(100_000, 3, generator=torch.Generator().manual_seed(0))
    found = bits_per_dimension(z, torch.zeros(len(z)))
    assert abs(float(found) - 0.5 * math.log2(2 * math.pi * math.e)) < 0.01


def test_encoder_space_goes_to_the_gaussian() -> None:
    """BERT-CF prints F(x) = g(f(x)) with g from the Gaussian to the encoder's space: the wrong way round."""
    rows = skewed()
    fitted = BertFlow(levels=2, depth=3, width=16, epochs=20).fit(rows.split(300))
    z = fitted.transform(rows)
    covariance = torch.cov(z.T)
    assert z.mean(dim=0).abs().max() < 0.4
    assert (covariance - torch.eye(8)).abs().max() < 0.5
    wrong = fitted.module().inverse(rows)  # type: ignore[operator]
    assert (torch.cov(wrong.T) - torch.eye(8)).abs().max() > 1
    fresh = BertFlow(levels=2, depth=3, width=16, epochs=0.05).fit([rows])
    assert fitted.bits_per_dimension(rows) < fresh.bits_per_dimension(rows) - 0.05, "likelihood rose"


def test_the_same_seed_is_the_same_flow() -> None:
    rows = skewed(300)
    one, two, other = (BertFlow(levels=2, seed=seed).fit([rows]).transform(rows) for seed in (1, 1, 2))
    assert torch.equal(one, two)
    assert not torch.equal(one, other)


def test_it_is_saved_and_opens_with_mirrormask(tiny: Callable[..., Any], sentences: list[str], tmp_path: Path) -> None:
    encoder = tiny(pooling="mean")
    rows = torch.from_numpy(encoder.encode(sentences))
    fitted = BertFlow(permutation="learned").fit(rows.split(100))
    keep(encoder, fitted)
    expected = encoder.encode(sentences[:20], convert_to_tensor=True)
    torch.testing.assert_close(expected, fitted.transform(rows[:20]), atol=1e-3, rtol=1e-3)
    save_encoder(encoder, tmp_path / "model")
    with pytest.raises(ValueError, match="trust_remote_code"):
        SentenceTransformer(str(tmp_path / "model"), device="cpu")
    again = load(tmp_path / "model", device="cpu")
    torch.testing.assert_close(again.encode(sentences[:20], convert_to_tensor=True), expected, atol=1e-5, rtol=0)
    described = describe_model(str(tmp_path / "model"))
    assert described["transform"] == "flow"
    assert described["dimension"] == 32
    assert described["opens_with"].startswith("mirrormask.load(")


def test_only_a_flow_needs_zuko() -> None:
    code = "import sys, mirrormask.models.encoder, mirrormask.runs.runner; assert 'zuko' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_shapes_that_cannot_be() -> None:
    with pytest.raises(MirrormaskError, match="vectors of 4 cannot be halved so often. Got 3"):
        Flow(4, 3)
    with pytest.raises(MirrormaskError, match="'permutation' of a flow must be one of reverse, learned"):
        BertFlow(permutation="learnt")
    with pytest.raises(MirrormaskError, match="'depth' of a flow must be at least 1 and below 1000. Got 0"):
        BertFlow(depth=0)
    with pytest.raises(DataError, match="differ in every dimension, and these 1 do not"):
        Flow(4, 1).initialize(torch.zeros(1, 4))
