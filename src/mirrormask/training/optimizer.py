"""AdamW in groups, and schedules that are functions of the step, so that a resumed run needs no schedule state."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from mirrormask.core.errors import MirrormaskError, above, at_least
from mirrormask.training.muon import Muon


@dataclass(frozen=True)
class ParameterGroup:
    """Parameters that are trained in a way of their own, as `model.parameter_groups()` names them.

    Args:
        name: for messages.
        parameters: of the group; closed ones are left out.
        rate: their learning rate, in shares of the run's.
        decay: whether the run's weight decay is theirs too; of a group that decays, matrices do.
        clip: the largest norm of their gradients, clipped apart from the others; 0 does not clip, None clips them with
            the others.
    """

    name: str
    parameters: Sequence[nn.Parameter]
    rate: float = 1.0
    decay: bool = True
    clip: float | None = None

    def __post_init__(self) -> None:
        above("rate", self.rate, 0, of=f"the parameter group {self.name}")
        if self.clip is not None:
            at_least("clip", self.clip, 0, of=f"the parameter group {self.name}")


def groups_of(model: nn.Module) -> list[ParameterGroup]:
    """Return the open parameters of a model in groups: first those that it does not name, then the groups it names."""
    naming: Callable[[], Sequence[ParameterGroup]] | None = getattr(model, "parameter_groups", None)
    named = list(naming()) if naming is not None else []
    found: dict[int, str] = {}
    for group in named:
        for parameter in group.parameters:
            if id(parameter) in found:
                raise MirrormaskError(
                    f"A parameter is in the groups {found[id(parameter)]!r} and {group.name!r}. Name it once."
                )
            found[id(parameter)] = group.name
    rest = [p for p in model.parameters() if p.requires_grad and id(p) not in found]
    opened = [
        ParameterGroup(g.name, [p for p in g.parameters if p.requires_grad], g.rate, g.decay, g.clip) for g in named
    ]
    return [group for group in (ParameterGroup("the others", rest), *opened) if group.parameters]


def clipped_together(groups: Sequence[ParameterGroup], clip: float) -> list[tuple[list[nn.Parameter], float]]:
    """Return the parameters that are clipped together, each with the largest norm of their gradients."""
    shared = [p for group in groups if group.clip is None for p in group.parameters]
    own = [(list(group.parameters), group.clip) for group in groups if group.clip is not None]
    return [*([(shared, clip)] if shared else []), *own]


def adamw(
    model: nn.Module, *, learning_rate: float, weight_decay: float, betas: tuple[float, float] = (0.9, 0.999)
) -> torch.optim.AdamW:
    """Return AdamW with PyTorch's epsilon, fused where all weights are float32 on one device.

    In every group of the model matrices decay, biases and norms do not. What share of the run's rate a group has is
    its key `rate`.
    """
    groups = _kinds(model, weight_decay)
    return torch.optim.AdamW(groups, lr=learning_rate, betas=betas, fused=_can_fuse(groups))


def muon(
    model: nn.Module, *, learning_rate: float, weight_decay: float, betas: tuple[float, float] = (0.9, 0.999)
) -> Muon:
    """Return Muon for the matrices inside the model, and AdamW as above for tables of embeddings, biases and norms."""
    tables = {id(p) for module in model.modules() if isinstance(module, nn.Embedding) for p in module.parameters()}
    groups: list[dict[str, Any]] = []
    for group in _kinds(model, weight_decay):
        inner = [p for p in group["params"] if p.ndim == 2 and id(p) not in tables]
        rest = [p for p in group["params"] if p.ndim != 2 or id(p) in tables]
        groups += [{**group, "params": p, "muon": p is inner} for p in (inner, rest) if p]
    return Muon(groups, lr=learning_rate, betas=betas, fused=_can_fuse(groups))


def _kinds(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Return the model's groups, each in two: matrices, which decay, and biases and norms, which do not."""
    groups: list[dict[str, Any]] = []
    for each in groups_of(model):
        matrices, others = ([p for p in each.parameters if (p.ndim >= 2) is wanted] for wanted in (True, False))
        decays = ((matrices, weight_decay if each.decay else 0.0), (others, 0.0))
        groups += [{"params": p, "weight_decay": decay, "rate": each.rate} for p, decay in decays if p]
    return groups


def _can_fuse(groups: list[dict[str, Any]]) -> bool:
    parameters = [p for group in groups for p in group["params"]]
    devices = {p.device.type for p in parameters}
    return len(devices) == 1 and devices <= {"cpu", "cuda"} and all(p.dtype == torch.float32 for p in parameters)


def rate_at(step: int, total: int, *, schedule: str, warmup: float) -> float:
    """Return the share of the highest rate to use for update `step` (0-based) of `total`.

    Example:
        >>> [rate_at(s, 4, schedule="linear", warmup=0.0) for s in range(4)]
        [1.0, 0.75, 0.5, 0.25]
    """
    rising = round(total * warmup)
    if step < rising:
        return (step + 1) / rising
    if schedule == "constant":
        return 1.0
    done = (step - rising) / max(1, total - rising)
    if schedule == "linear":
        return 1.0 - done
    return 0.5 * (1.0 + math.cos(math.pi * done))
