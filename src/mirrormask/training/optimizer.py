"""AdamW in two groups, and schedules that are functions of the step, so that a resumed run needs no schedule state."""

from __future__ import annotations

import math

import torch
from torch import nn


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict[str, object]]:
    """Return the open parameters in two groups: matrices decay, biases and norms do not."""
    open_parameters = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in open_parameters if p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in open_parameters if p.ndim < 2], "weight_decay": 0.0},
    ]


def adamw(
    model: nn.Module, *, learning_rate: float, weight_decay: float, betas: tuple[float, float] = (0.9, 0.999)
) -> torch.optim.AdamW:
    """Return AdamW with PyTorch's epsilon, fused where all weights are float32 on one device."""
    groups = [group for group in parameter_groups(model, weight_decay) if group["params"]]
    parameters = [p for group in groups for p in group["params"]]  # type: ignore[attr-defined]
    devices = {p.device.type for p in parameters}
    fused = len(devices) == 1 and devices <= {"cpu", "cuda"} and all(p.dtype == torch.float32 for p in parameters)
    return torch.optim.AdamW(groups, lr=learning_rate, betas=betas, fused=fused)


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
