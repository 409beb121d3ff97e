from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from mirrormask.core.errors import TrainingError
from mirrormask.training.averaging import Average
from mirrormask.training.checkpoint import Progress, load_checkpoint, load_weights, save_checkpoint, weights_of
from mirrormask.training.optimizer import adamw


def trained(seed: int, decay: float = 0.9) -> tuple[nn.Module, torch.optim.Optimizer, Average]:
    """A small model some updates into its training."""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 2))
    optimizer = adamw(model, learning_rate=0.1, weight_decay=0.01)
    average = Average(model, decay)
    for _ in range(3):
        update(model, optimizer, average)
    return model, optimizer, average


def update(model: nn.Module, optimizer: torch.optim.Optimizer, average: Average) -> None:
    optimizer.zero_grad()
    model(torch.arange(8.0).view(2, 4)).square().mean().backward()
    optimizer.step()
    average.update()


def test_a_checkpoint_goes_on_to_the_bit(tmp_path: Path) -> None:
    one, two = trained(0), trained(1)
    progress = Progress(
        step=3, best_score=1.5, best_step=2, stale=1, history=[{"step": 2, "score": 1.5}], plan={"a": 1}
    )
    save_checkpoint(tmp_path / "c", *one, progress)
    assert load_checkpoint(tmp_path / "c", *two, {"a": 1}) == progress
    for run in (one, two):
        update(*run)
    for left, right in zip(one[0].parameters(), two[0].parameters(), strict=True):
        assert torch.equal(left, right)
    assert all(map(torch.equal, one[2].values, two[2].values))


def test_none_where_there_is_none(tmp_path: Path) -> None:
    assert load_checkpoint(tmp_path / "c", *trained(0), {}) is None


def test_another_plan_and_another_model_are_refused(tmp_path: Path) -> None:
    save_checkpoint(tmp_path / "c", *trained(0), Progress(plan={"rate": 0.1, "paths": ["x"]}))
    assert load_checkpoint(tmp_path / "c", *trained(1), {"rate": 0.1, "paths": ("x",)}) is not None
    with pytest.raises(TrainingError, match=r"belongs to another run \(rate: 0\.1, now 0\.2\).*--out"):
        load_checkpoint(tmp_path / "c", *trained(1), {"rate": 0.2, "paths": ("x",)})
    with pytest.raises(TrainingError, match="weights of another model"):
        load_weights(tmp_path / "c" / "weights.safetensors", nn.Linear(4, 4))


def test_what_differs_inside_a_table_is_named_alone(tmp_path: Path) -> None:
    model = {"name": "mini", "pooling": ""}
    save_checkpoint(tmp_path / "c", *trained(0), Progress(plan={"recipe": {"model": model, "learning_rate": 1.0}}))
    asked = {"recipe": {"model": {**model, "name": "other"}, "learning_rate": 2.0}}
    with pytest.raises(TrainingError, match=r"another run \(recipe\.model\.name: 'mini', now 'other'\)"):
        load_checkpoint(tmp_path / "c", *trained(1), asked, same_rate=False)


def test_a_setting_that_a_checkpoint_does_not_know_had_its_default(tmp_path: Path) -> None:
    save_checkpoint(tmp_path / "c", *trained(0), Progress(plan={"rate": 0.1}))
    assert load_checkpoint(tmp_path / "c", *trained(1), {"rate": 0.1, "optimizer": "adamw"}) is not None
    with pytest.raises(TrainingError, match="another run"):
        load_checkpoint(tmp_path / "c", *trained(1), {"rate": 0.1, "optimizer": "muon"})


@pytest.mark.parametrize("name", ["state.json", "weights.safetensors", "optimizer.safetensors"])
def test_a_missing_or_torn_file_is_said_so(tmp_path: Path, name: str) -> None:
    save_checkpoint(tmp_path / "c", *trained(0), Progress())
    file = tmp_path / "c" / name
    whole = file.read_bytes()
    for content in (whole[: len(whole) // 2], b"", None):
        file.unlink() if content is None else file.write_bytes(content)
        with pytest.raises(TrainingError, match="is damaged.*Remove it"):
            load_checkpoint(tmp_path / "c", *trained(0), {})


def test_tied_weights_are_stored_once_and_come_back() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one = nn.Linear(3, 3, bias=False)
            self.two = nn.Linear(3, 3, bias=False)
            self.two.weight = self.one.weight
            self.register_buffer("seen", torch.ones(2))

    assert sorted(weights_of(Tied())) == ["one.weight", "seen"]


def test_the_average_is_the_formula() -> None:
    model = nn.Linear(1, 1, bias=False)
    average = Average(model, 0.75)
    expected = model.weight.item()
    for value in (1.0, 5.0, -2.0):
        with torch.no_grad():
            model.weight.fill_(value)
        average.update()
        expected = 0.75 * expected + 0.25 * value
    assert average.values[0].item() == pytest.approx(expected)
    with average.applied():
        assert model.weight.item() == pytest.approx(expected)
    assert model.weight.item() == -2.0
    average.apply()
    assert model.weight.item() == pytest.approx(expected)
    assert Average(model, 0.0).state() == {}
