"""Checkpoints: weights, optimizer and progress as safetensors and JSON, replaced whole or not at all."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from mirrormask.core.errors import TrainingError
from mirrormask.core.storage import atomic_folder, read_json, write_json
from mirrormask.training.averaging import Average
from mirrormask.training.settings import Settings

STATE, WEIGHTS, OPTIMIZER, AVERAGE = (
    "state.json",
    "weights.safetensors",
    "optimizer.safetensors",
    "average.safetensors",
)


@dataclass
class Progress:
    """How far a run has come.

    Args:
        step: updates done.
        best_score: of the best evaluation so far.
        best_step: where it was.
        stale: evaluations since then.
        history: one row per evaluation.
        plan: what the run is, so that another run does not resume it.
    """

    step: int = 0
    best_score: float | None = None
    best_step: int = 0
    stale: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)
    plan: dict[str, Any] = field(default_factory=dict)


def save_checkpoint(
    folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, average: Average, progress: Progress
) -> None:
    """Write a checkpoint in place of the last one; the last one survives a crash or a full disk."""
    with atomic_folder(folder) as out:
        save_file(weights_of(model), out / WEIGHTS)
        save_file(_optimizer_tensors(optimizer), out / OPTIMIZER)
        save_file({name: value.cpu() for name, value in average.state().items()}, out / AVERAGE)
        write_json(out / STATE, asdict(progress))


def checkpoint_step(folder: Path) -> int | None:
    """Return the step of the checkpoint in `folder`; None where there is none."""
    return int(read_json(folder / STATE)["step"]) if (folder / STATE).is_file() else None


def load_checkpoint(
    folder: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    average: Average,
    plan: dict[str, Any],
    *,
    same_rate: bool = True,
) -> Progress | None:
    """Load the checkpoint in `folder` into model, optimizer and average; None where there is none.

    Args:
        folder: of the checkpoint.
        model, optimizer, average: what is loaded into.
        plan: what the run is; a checkpoint of another plan is refused.
        same_rate: refuse one that differs in the learning rate alone, too.
    """
    if not folder.is_dir():
        return None
    try:
        progress = Progress(**read_json(folder / STATE))
        _check_plan(folder, progress.plan, plan, same_rate=same_rate)
        load_weights(folder / WEIGHTS, model)
        _load_optimizer(optimizer, load_file(folder / OPTIMIZER))
        average.load(load_file(folder / AVERAGE))
    except TrainingError:
        raise
    except Exception as error:
        raise TrainingError(
            f"The checkpoint {folder} is damaged ({type(error).__name__}: {str(error)[:120]}). "
            "Remove it, or give another --out, and start again without --resume."
        ) from error
    return progress


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """Return the state of a model on the CPU, tied weights once; what is there already is shared, not copied."""
    seen: dict[int, str] = {}
    state: dict[str, Tensor] = {}
    for name, value in model.state_dict().items():
        if not isinstance(value, Tensor):
            continue
        if value.numel() and value.data_ptr() in seen and state[seen[value.data_ptr()]].shape == value.shape:
            continue
        seen[value.data_ptr()] = name
        state[name] = value.detach().cpu().contiguous()
    return state


def load_weights(path: Path, model: nn.Module) -> None:
    """Load what `weights_of` gave."""
    stored = load_file(path)
    expected = weights_of(model)
    if set(stored) != set(expected):
        raise TrainingError(f"{path} holds the weights of another model. Start again without --resume.")
    model.load_state_dict(stored, strict=False)


def _optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    state = optimizer.state_dict()["state"]
    return {
        f"{index}.{name}": value.detach().cpu().clone().contiguous()
        for index, entry in state.items()
        for name, value in entry.items()
        if isinstance(value, Tensor)
    }


def _load_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    whole = optimizer.state_dict()
    entries: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        index, name = key.split(".", 1)
        entries.setdefault(int(index), {})[name] = value
    optimizer.load_state_dict({**whole, "state": entries})


def _check_plan(folder: Path, stored: dict[str, Any], asked: dict[str, Any], *, same_rate: bool) -> None:
    was, now = _flat(stored), _flat(asked)
    younger = _flat(asdict(Settings()))  # a setting that is younger than the checkpoint had its default
    was |= {key: younger[key] for key in now.keys() & younger.keys() - was.keys()}
    keys = sorted(key for key in {*was, *now} if same_rate or key.rpartition(".")[2] != "learning_rate")
    changed = [f"{key}: {was.get(key)!r}, now {now.get(key)!r}" for key in keys if was.get(key) != now.get(key)]
    if changed:
        raise TrainingError(
            f"The checkpoint {folder} belongs to another run ({', '.join(changed[:3])}). "
            "Resume with the settings it was started with, or give another --out."
        )


def _flat(plan: dict[str, Any], above: str = "") -> dict[str, Any]:
    """Return every value of a plan and of the tables in it, under the whole of its name."""
    found: dict[str, Any] = {}
    for key, value in plan.items():
        found |= _flat(value, f"{above}{key}.") if isinstance(value, dict) else {f"{above}{key}": _plain(value)}
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
