from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from mirrormask.core.batch import Batch
from mirrormask.models.precision import Precision
from mirrormask.training.estimate import Estimate, Remaining, estimate
from mirrormask.training.method import Method


@pytest.mark.parametrize(
    ("seconds", "says"),
    [
        (0.2, "1 second"),
        (1.4, "1 second"),
        (30, "30 seconds"),
        (55, "1 minute"),
        (61, "1 minute"),
        (150, "2 minutes"),
        (9000, "2.5 hours"),
    ],
)
def test_time_in_words(seconds: float, says: str) -> None:
    assert str(Estimate(seconds, 2_340_000_000, "cpu")) == f"about {says} and 2.3 GB of memory"


def test_memory_of_a_gpu_is_called_so() -> None:
    assert str(Estimate(10, 1_000_000_000, "cuda")).endswith("1.0 GB of GPU memory")


def test_it_measures_without_touching_the_run(
    method: Callable[..., Method], batch_of: Callable[..., Batch], sentences: list[str]
) -> None:
    model = method().eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    batch = batch_of(sentences[:8])
    once = estimate(model, batch, 10, Precision("fp32", ""))
    assert torch.equal(torch.rand(3), expected), "the run draws what it would have drawn"
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(p.grad is None for p in model.parameters())
    assert not model.training
    assert 0 < once.seconds < 60
    assert once.memory > 50_000_000
    twice = estimate(model, batch, 10, Precision("fp32", ""), passes=200)
    assert twice.seconds > 20 * once.seconds


def test_reading_and_evaluations_count(
    method: Callable[..., Method], batch_of: Callable[..., Batch], sentences: list[str]
) -> None:
    model, batch = method(), batch_of(sentences[:8])
    much = estimate(model, batch, 10, Precision("fp32", ""), reading=1000.0, evaluations=500.0)
    assert 10_500 < much.seconds < 10_600


def test_what_is_left_is_corrected_as_the_run_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """After 10 updates of 2 s each and one evaluation of 30 s: 20 updates and 2 evaluations are left."""
    now = 100.0
    monkeypatch.setattr("mirrormask.training.estimate.time.monotonic", lambda: now)
    left = Remaining(0, 30, 10)
    now += 20.0
    assert left.seconds(10) == pytest.approx(40.0)
    with left.evaluation():
        now += 30.0
    assert left.seconds(10) == pytest.approx(100.0)
    now += 60.0
    assert left.seconds(20) == pytest.approx(4.0 * 10 + 30.0)
    assert Remaining(5, 30, 0).seconds(30) == 0.0
