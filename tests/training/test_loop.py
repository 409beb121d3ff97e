from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from mirrormask.core.batch import Batch
from mirrormask.core.errors import MirrormaskError, TrainingError
from mirrormask.training import loop
from mirrormask.training.checkpoint import weights_of
from mirrormask.training.loop import Reporter, Score, fit
from mirrormask.training.method import Method
from mirrormask.training.optimizer import ParameterGroup, adamw, rate_at
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


@pytest.mark.parametrize(("precision", "steps"), [("fp32", 9), ("bf16", 5)])  # bf16 is slow where it is emulated
@pytest.mark.parametrize("accumulation", [1, 2])
def test_a_stopped_run_resumes_to_the_bit(
    method: Callable[..., Method], source: Given, tmp_path: Path, accumulation: int, precision: str, steps: int
) -> None:
    settings = Settings(
        **{**SHORT, "precision": precision}, steps=steps, accumulation=accumulation, checkpoint_every=2, average=0.5
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
            if step == steps - 2:
                raise Killed

    with pytest.raises(Killed), quickened(stopped):
        fit(stopped, source, settings, tmp_path / "stopped", evaluate=evaluated(stopped), reporter=Killer())
    with quickened(resumed):
        result = fit(resumed, source, settings, tmp_path / "stopped", evaluate=evaluated(resumed), resume=True)
    assert result.steps == steps
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


@pytest.mark.parametrize("average", [0.0, 0.9])
def test_the_best_checkpoint_is_kept(
    method: Callable[..., Method], source: Given, tmp_path: Path, average: float
) -> None:
    """As it was measured: with an average, the average, not the weights it is of."""
    trained = method()
    seen: list[dict[str, Tensor]] = []
    scores = iter([0.0, 1.0, 5.0, 2.0, 1.0, 0.0])

    def evaluate() -> Score:
        seen.append(states(trained))
        return Score(next(scores), {"extra": 1.0})

    settings = Settings(steps=10, evaluate_every=2, average=average, **SHORT)
    result = fit(trained, source, settings, tmp_path, evaluate=evaluate)
    assert (result.best_step, result.best_score, result.kept_start) == (4, 5.0, False)
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


@pytest.mark.parametrize("measured", [[3.0, 2.0, 1.0], [3.0, 3.0, 3.0]])
def test_a_run_that_did_not_help_says_so(
    method: Callable[..., Method], source: Given, tmp_path: Path, measured: list[float]
) -> None:
    trained = method()
    start = states(trained)
    scores = iter(measured)
    settings = Settings(steps=2, evaluate_every=1, **SHORT)
    result = fit(trained, source, settings, tmp_path / "worse", evaluate=lambda: Score(next(scores)))
    assert (result.best_step, result.kept_start) == (0, True)
    assert_identical(states(trained), start)
    assert not fit(method(), source, settings, tmp_path / "unmeasured").kept_start


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


@pytest.mark.parametrize("rate", [1e10, 1e30, 1e39])
def test_a_rate_that_ruins_the_model_leaves_weights_that_can_go_on(
    method: Callable[..., Method], source: Given, tmp_path: Path, rate: float
) -> None:
    """Whether the update gives weights that are no numbers, or finite ones at which the loss is none."""
    trained = method()
    start = states(trained)
    settings = Settings(steps=6, average=0.5, evaluate_every=1, **{**SHORT, "learning_rate": rate})
    with pytest.raises(TrainingError, match=r"last good weights are in .* \(step 0\)\. Go on with --resume"):
        fit(trained, source, settings, tmp_path, evaluate=lambda: Score(1.0))
    assert_identical(load_file(tmp_path / "checkpoint" / "weights.safetensors"), start)
    assert all(v.isfinite().all() for v in load_file(tmp_path / "checkpoint" / "average.safetensors").values())
    slower = Settings(steps=6, average=0.5, evaluate_every=1, **SHORT)
    again = method()
    result = fit(again, source, slower, tmp_path, evaluate=lambda: Score(1.0), resume=True)
    assert [row["step"] for row in result.history] == list(range(7))
    whole = method()
    fit(whole, source, slower, tmp_path / "whole", evaluate=lambda: Score(1.0))
    assert_identical(states(again), states(whole))


def test_what_a_broken_step_saw_is_not_remembered(method: Callable[..., Method], source: Given, tmp_path: Path) -> None:
    """A bank of vectors that are no numbers would break every later step."""

    class Remembering(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = method()
            self.register_buffer("bank", torch.zeros(1))
            self.calls = 0

        def forward(self, batch: Batch, seed: int) -> Tensor:
            self.calls += 1
            self.last = self.inner(batch, seed) * (float("nan") if self.calls == 3 else 1.0)
            return self.last

        def observe(self) -> None:
            self.bank = self.last.detach().view(1)

    with pytest.raises(TrainingError, match=r"last good weights are in .* \(step 2\)"):
        fit(Remembering(), source, Settings(steps=6, **SHORT), tmp_path)
    assert load_file(tmp_path / "checkpoint" / "weights.safetensors")["bank"].isfinite().all()


def test_a_checkpoint_that_would_hold_no_numbers_is_not_written(source: Given, tmp_path: Path) -> None:
    class Spoilt(nn.Module):
        bank: Tensor

        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(2))
            self.register_buffer("bank", torch.zeros(1))

        def forward(self, batch: Batch, seed: int) -> Tensor:
            return (self.weight.sum() + self.bank).square().sum()

        def observe(self) -> None:
            self.bank.fill_(float("nan"))

    with pytest.raises(
        TrainingError,
        match=r"step 1 makes weights that are no numbers.*there is no checkpoint\.",
    ):
        fit(Spoilt(), source, Settings(steps=6, **SHORT), tmp_path)
    assert not (tmp_path / "checkpoint").exists()


def test_a_second_ctrl_c_goes_to_whoever_took_it_before(
    method: Callable[..., Method], source: Given, tmp_path: Path
) -> None:
    class Ended(BaseException):
        pass

    class Presser(Reporter):
        def step(self, step: int, metrics: dict[str, float]) -> None:
            for name in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM, signal.SIGINT)[: step + 1]:
                os.kill(os.getpid(), name)

    def end(*_: Any) -> None:
        raise Ended

    before = signal.signal(signal.SIGINT, end)
    try:
        with pytest.raises(Ended):
            fit(method(), source, Settings(steps=8, **SHORT), tmp_path / "run", reporter=Presser())
        assert signal.getsignal(signal.SIGINT) is end
    finally:
        signal.signal(signal.SIGINT, before)
    assert (tmp_path / "run" / "metrics.jsonl").read_text().count("loss") == 1


def test_ctrl_c_leaves_a_checkpoint(method: Callable[..., Method], source: Given, tmp_path: Path) -> None:
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
    other = Settings(steps=6, checkpoint_every=2, weight_decay=0.5, **SHORT)
    with pytest.raises(TrainingError, match="belongs to another run.*weight_decay"):
        fit(method(), source, other, tmp_path, resume=True)
    slower = Settings(steps=6, checkpoint_every=2, **{**SHORT, "learning_rate": 1e-4})
    with pytest.raises(TrainingError, match="belongs to another run.*learning_rate"):
        fit(method(), source, slower, tmp_path, resume=True, same_rate=True)
    said: list[str] = []

    class Listening(Reporter):
        def say(self, text: str) -> None:
            said.append(text)

    assert fit(method(), source, slower, tmp_path, resume=True, reporter=Listening()).steps == 6
    assert said == ["From step 3 on the learning rate is 0.0001; it was 0.001."]
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [round(row["learning_rate"] / 1e-4, 1) for row in rows] == [10.0, 8.3, 0.7, 0.5, 0.3, 0.2]


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
    optimizer = adamw(model, learning_rate=1.0, weight_decay=0.1)
    decayed, plain = optimizer.param_groups
    assert (decayed["weight_decay"], plain["weight_decay"]) == (0.1, 0.0)
    assert [tuple(p.shape) for p in decayed["params"]] == [(2, 3)]
    assert len(plain["params"]) == 3
    assert optimizer.defaults["fused"]
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


class Headed(nn.Module):
    """A method whose head is trained in a way of its own."""

    def __init__(self, inner: Method, **how: Any) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.head = nn.Linear(3, 1)
        self.inner = inner
        self.how = how

    def forward(self, batch: Batch, seed: int) -> Tensor:
        return self.inner(batch, seed) + 1e3 * self.head(torch.ones(3)).square().sum()

    def parameter_groups(self) -> list[ParameterGroup]:
        return [ParameterGroup("head", list(self.head.parameters()), **self.how)]


def test_a_group_has_its_own_rate_and_clipping(method: Callable[..., Method], source: Given, tmp_path: Path) -> None:
    """AdamW's first update moves every weight by the rate, whatever the size of its gradient."""
    one_step = Settings(steps=1, **{**SHORT, "clip": 1e-3})
    moved, norms = [], []
    for number, how in enumerate(({}, {"rate": 50.0}, {"clip": 0.0})):
        model = Headed(method(dropout=False), **how)
        before = model.head.weight.detach().clone()
        fit(model, source, one_step, tmp_path / str(number))
        moved.append((model.head.weight.detach() - before).abs().mean().item())
        norms.append((model.head.weight.grad.norm().item(), next(model.inner.parameters()).grad.norm().item()))  # type: ignore[union-attr]
    assert moved[0] == pytest.approx(1e-3, rel=1e-2)
    assert moved[1] == pytest.approx(5e-2, rel=1e-2)
    assert norms[0][0] < 1e-3, "clipped with the others"
    assert norms[2][0] > 1.0, "not clipped"
    assert norms[2][1] > 100 * norms[0][1], "and the others no longer by its size"


def test_folders_can_be_removed_between_runs(method: Callable[..., Method], source: Given, tmp_path: Path) -> None:
    fit(method(), source, Settings(steps=2, **SHORT), tmp_path / "run")
    shutil.rmtree(tmp_path / "run")
    fit(method(), source, Settings(steps=2, **SHORT), tmp_path / "run")
