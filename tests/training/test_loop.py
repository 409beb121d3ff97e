from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from mirrormask.core.batch import Batch
from mirrormask.core.errors import MirrormaskError, TrainingError
from mirrormask.training import loop
from mirrormask.training.checkpoint import weights_of
from mirrormask.training.loop import Reporter, Score, fit
from mirrormask.training.method import Method
from mirrormask.training.optimizer import adamw, parameter_groups, rate_at
from mirrormask.training.quick_dropout import quickened
from mirrormask.training.settings import Settings


class Given:
    """Batches from a list, over and over."""

    def __init__(self, batches: list[Batch]) -> None:
        self.batches = batches

    def __len__(self) -> int:
        return len(self.batches)

    def stream(self, start: int, stop: int, rank: int, world: int) -> Iterator[Batch]:
        for number in range(start, stop):
            yield self.batches[number % len(self.batches)]


@pytest.fixture
def source(batch_of: Callable[..., Batch], sentences: list[str]) -> Given:
    return Given([batch_of(sentences[i * 8 : (i + 1) * 8]) for i in range(6)])


SHORT: dict[str, Any] = {"batch_size": 8, "learning_rate": 1e-3, "precision": "fp32"}


def states(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in weights_of(model).items()}


def assert_identical(left: dict[str, Tensor], right: dict[str, Tensor]) -> None:
    assert left.keys() == right.keys()
    for name in left:
        assert torch.equal(left[name], right[name]), name


def test_loss_falls_and_everything_is_written(method: Callable[..., Method], source: Given, tmp_path: Path) -> None:
    trained = method()
    result = fit(trained, source, Settings(steps=30, **SHORT), tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == list(range(1, 31))
    assert {"loss", "gradient_norm", "steps_per_second", "learning_rate"} <= rows[0].keys()
    assert sum(r["loss"] for r in rows[-5:]) < sum(r["loss"] for r in rows[:5]) / 2
    assert result.steps == result.best_step == 30
    assert rows[0]["learning_rate"] == 1e-3
    assert rows[-1]["learning_rate"] == pytest.approx(1e-3 / 30)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("accumulation", [1, 2])
def test_a_stopped_run_resumes_to_the_bit(
    method: Callable[..., Method], source: Given, tmp_path: Path, accumulation: int, precision: str
) -> None:
    settings = Settings(
        **{**SHORT, "precision": precision}, steps=9, accumulation=accumulation, checkpoint_every=2, average=0.5
    )

    def evaluated(model: Method) -> Callable[[], Score]:
        return lambda: Score(float(next(model.parameters()).detach().abs().sum()))

    whole, stopped, resumed = method(), method(), method()
    with quickened(whole):
        fit(whole, source, settings, tmp_path / "whole", evaluate=evaluated(whole))

    class Killed(Exception):
        pass

    class Killer(Reporter):
        def step(self, step: int, metrics: dict[str, float]) -> None:
            if step == 7:
                raise Killed

    with pytest.raises(Killed), quickened(stopped):
        fit(stopped, source, settings, tmp_path / "stopped", evaluate=evaluated(stopped), reporter=Killer())
    with quickened(resumed):
        result = fit(resumed, source, settings, tmp_path / "stopped", evaluate=evaluated(resumed), resume=True)
    assert result.steps == 9
    assert_identical(states(whole), states(resumed))
    clean = [
        [
            {k: v for k, v in json.loads(line).items() if k != "steps_per_second"}
            for line in file.read_text().splitlines()
        ]
        for file in (tmp_path / "whole" / "metrics.jsonl", tmp_path / "stopped" / "metrics.jsonl")
    ]
    assert clean[0] == clean[1]


def test_same_seed_same_result_other_seed_other_result(
    method: Callable[..., Method], source: Given, tmp_path: Path
) -> None:
    from mirrormask.core.seeding import Seeds

    found = []
    for number, seed in enumerate((1, 1, 2)):
        trained = method()
        fit(trained, source, Settings(steps=3, seeds=Seeds.all(seed), **SHORT), tmp_path / str(number))
        found.append(states(trained))
    assert_identical(found[0], found[1])
    assert any(not torch.equal(found[0][n], found[2][n]) for n in found[0])


def test_the_best_checkpoint_is_kept(method: Callable[..., Method], source: Given, tmp_path: Path) -> None:
    trained = method()
    seen: list[dict[str, Tensor]] = []
    scores = iter([0.0, 1.0, 5.0, 2.0, 1.0, 0.0])

    def evaluate() -> Score:
        seen.append(states(trained))
        return Score(next(scores), {"extra": 1.0})

    result = fit(trained, source, Settings(steps=10, evaluate_every=2, **SHORT), tmp_path, evaluate=evaluate)
    assert (result.best_step, result.best_score) == (4, 5.0)
    assert_identical(states(trained), seen[2])
    assert [row["extra"] for row in result.history] == [1.0] * 6
    assert not trained.training


def test_the_average_is_what_is_evaluated_and_kept(
    method: Callable[..., Method], source: Given, tmp_path: Path
) -> None:
    trained, plain = method(), method()
    raw: list[Tensor] = [next(plain.parameters()).detach().clone()]

    class Watch(Reporter):
        def step(self, step: int, metrics: dict[str, float]) -> None:
            raw.append(next(plain.parameters()).detach().clone())

    fit(plain, source, Settings(steps=4, **SHORT), tmp_path / "plain", reporter=Watch())
    seen: list[Tensor] = []

    def evaluate() -> Score:
        seen.append(next(trained.parameters()).detach().clone())
        return Score(float(len(seen)))

    settings = Settings(steps=4, evaluate_every=1, average=0.6, **SHORT)
    fit(trained, source, settings, tmp_path / "averaged", evaluate=evaluate)
    expected = raw[0]
    for number in range(5):
        if number:
            expected = 0.6 * expected + 0.4 * raw[number]
        torch.testing.assert_close(seen[number], expected)
    torch.testing.assert_close(next(trained.parameters()).detach(), expected)


def test_of_equal_checkpoints_the_later_is_kept_and_patience_goes_on(
    method: Callable[..., Method], source: Given, tmp_path: Path
) -> None:
    scores = iter([0.0, 3.0, 3.0, 1.0, 3.0])
    settings = Settings(steps=100, evaluate_every=1, patience=3, **SHORT)
    result = fit(method(), source, settings, tmp_path, evaluate=lambda: Score(next(scores)))
    assert (result.steps, result.best_step, result.best_score) == (4, 4, 3.0)


def test_patience_stops_early(method: Callable[..., Method], source: Given, tmp_path: Path) -> None:
    scores = iter([0.0, 3.0, 2.0, 1.0])
    settings = Settings(steps=100, evaluate_every=1, patience=2, **SHORT)
    result = fit(method(), source, settings, tmp_path, evaluate=lambda: Score(next(scores)))
    assert (result.steps, result.best_step, result.stopped_early) == (3, 1, True)


def test_a_loss_that_is_no_number_stops_and_keeps_the_last_good_weights(
    method: Callable[..., Method], source: Given, tmp_path: Path
) -> None:
    trained = method()
    good: list[dict[str, Tensor]] = []

    class Breaking(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = trained
            self.calls = 0

        def forward(self, batch: Batch, seed: int) -> Tensor:
            self.calls += 1
            good.append(states(trained))
            return self.inner(batch, seed) * (float("nan") if self.calls == 3 else 1.0)

    with pytest.raises(TrainingError, match=r"The loss of step 3 is nan.*last good weights are in .*checkpoint"):
        fit(Breaking(), source, Settings(steps=6, **SHORT), tmp_path)
    assert_identical(states(trained), good[2])
    assert json.loads((tmp_path / "checkpoint" / "state.json").read_text())["step"] == 2


def test_ctrl_c_leaves_a_checkpoint(method: Callable[..., Method], source: Given, tmp_path: Path) -> None:
    import os
    import signal

    class Presser(Reporter):
        def step(self, step: int, metrics: dict[str, float]) -> None:
            if step == 3:
                os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    settings = Settings(steps=8, checkpoint_every=100, **SHORT)
    with pytest.raises(loop.Interrupted, match="Stopped after 3 of 8 steps"):
        fit(method(), source, settings, tmp_path / "run", reporter=Presser())
    assert signal.getsignal(signal.SIGINT) == before
    resumed, whole = method(), method()
    fit(resumed, source, settings, tmp_path / "run", resume=True)
    fit(whole, source, settings, tmp_path / "whole")
    assert_identical(states(resumed), states(whole))


def test_a_full_disk_keeps_the_old_checkpoint(
    method: Callable[..., Method], source: Given, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mirrormask.training import checkpoint

    settings = Settings(steps=6, checkpoint_every=2, **SHORT)
    kept = checkpoint.save_file
    calls = 0

    def full(tensors: Any, path: Any) -> None:
        nonlocal calls
        calls += 1
        if calls > 3:
            raise OSError(28, "No space left on device")
        kept(tensors, path)

    monkeypatch.setattr(checkpoint, "save_file", full)
    with pytest.raises(TrainingError, match="disk is full.*--resume"):
        fit(method(), source, settings, tmp_path)
    assert json.loads((tmp_path / "checkpoint" / "state.json").read_text())["step"] == 2
    monkeypatch.undo()
    assert fit(method(), source, settings, tmp_path, resume=True).steps == 6


@pytest.mark.parametrize("damage", ["weights.safetensors", "optimizer.safetensors", "state.json"])
def test_a_half_written_checkpoint_is_said_so(
    method: Callable[..., Method], source: Given, tmp_path: Path, damage: str
) -> None:
    class Stop(Reporter):
        def step(self, step: int, metrics: dict[str, float]) -> None:
            if step == 3:
                raise KeyError

    settings = Settings(steps=6, checkpoint_every=2, **SHORT)
    with pytest.raises(KeyError):
        fit(method(), source, settings, tmp_path, reporter=Stop())
    file = tmp_path / "checkpoint" / damage
    file.write_bytes(file.read_bytes()[:40])
    with pytest.raises(TrainingError, match="is damaged"):
        fit(method(), source, settings, tmp_path, resume=True)


def test_a_checkpoint_of_another_run_is_refused(method: Callable[..., Method], source: Given, tmp_path: Path) -> None:
    class Stop(Reporter):
        def step(self, step: int, metrics: dict[str, float]) -> None:
            if step == 3:
                raise KeyError

    with pytest.raises(KeyError):
        fit(method(), source, Settings(steps=6, checkpoint_every=2, **SHORT), tmp_path, reporter=Stop())
    with pytest.raises(TrainingError, match="belongs to another run.*learning_rate"):
        fit(
            method(),
            source,
            Settings(steps=6, checkpoint_every=2, **{**SHORT, "learning_rate": 1e-4}),
            tmp_path,
            resume=True,
        )


def test_one_row_has_nothing_to_push_away_from(method: Callable[..., Method], batch_of: Callable[..., Batch]) -> None:
    with pytest.raises(MirrormaskError, match="'batch_size' of at least 2"):
        method()(batch_of(["a quiet child"]), 0)


def test_gradients_reach_every_open_weight(method: Callable[..., Method], source: Given) -> None:
    trained = method()
    trained(source.batches[0], 0).backward()
    missing = [n for n, p in trained.named_parameters() if p.requires_grad and p.grad is None]
    assert missing == []


def test_groups_and_schedules() -> None:
    model = nn.Sequential(nn.Linear(3, 2), nn.LayerNorm(2))
    decayed, plain = parameter_groups(model, 0.1)
    assert (decayed["weight_decay"], plain["weight_decay"]) == (0.1, 0.0)
    assert [tuple(p.shape) for p in decayed["params"]] == [(2, 3)]  # type: ignore[attr-defined]
    assert len(plain["params"]) == 3  # type: ignore[arg-type]
    assert adamw(model, learning_rate=1.0, weight_decay=0.1).defaults["fused"]
    assert [round(rate_at(s, 4, schedule="cosine", warmup=0.0), 3) for s in range(4)] == [1.0, 0.854, 0.5, 0.146]
    assert [rate_at(s, 4, schedule="constant", warmup=0.5) for s in range(4)] == [0.5, 1.0, 1.0, 1.0]
    assert [rate_at(s, 10, schedule="linear", warmup=0.2) for s in (0, 1, 2, 6)] == [0.5, 1.0, 1.0, 0.5]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"learning_rate": 0.0}, "'learning_rate' of training must be above 0. Got 0.0"),
        ({"schedule": "linaer"}, "Did you mean 'linear'"),
        ({"batch_size": 0}, "'batch_size'"),
        ({"warmup": 1.0}, "'warmup'"),
        ({"epochs": 0.0}, "'epochs'"),
    ],
)
def test_bad_settings_are_refused(bad: dict[str, Any], message: str) -> None:
    with pytest.raises(MirrormaskError, match=message):
        Settings(**bad)


def test_folders_can_be_removed_between_runs(method: Callable[..., Method], source: Given, tmp_path: Path) -> None:
    fit(method(), source, Settings(steps=2, **SHORT), tmp_path / "run")
    shutil.rmtree(tmp_path / "run")
    fit(method(), source, Settings(steps=2, **SHORT), tmp_path / "run")
