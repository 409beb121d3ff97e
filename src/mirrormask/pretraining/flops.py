"""How much arithmetic a training step is, and what share of the device's own rate it reaches.

Counted is what the model needs, forward and backward (three times the forward): matrix products of the layers, of
attention, and of the LM head at the hidden positions. Whatever is computed twice does not count.
"""

from __future__ import annotations

import time

import torch
from torch import nn

from mirrormask.models.masked_lm import MaskedLM


def step_flops(lm: MaskedLM, *, rows: int, length: int, hidden: int) -> float:
    """Return the floating-point operations of one step, forward and backward.

    Args:
        lm: the model.
        rows: of the batch.
        length: tokens of a row.
        hidden: positions of a row where the LM head runs.
    """
    base = lm.model.base_model
    layers = sum(m.weight.numel() for m in base.modules() if isinstance(m, nn.Linear))
    config = lm.model.config
    attention = 2 * length * config.hidden_size * config.num_hidden_layers  # scores and mixing, per token
    inside = {id(m) for m in base.modules()}
    head = sum(m.weight.numel() for m in lm.model.modules() if isinstance(m, nn.Linear) and id(m) not in inside)
    forward = 2.0 * rows * (length * (layers + attention) + hidden * head)
    return 3.0 * forward


def matmul_rate(device: torch.device, dtype: torch.dtype) -> float:
    """Return the operations per second of a large matrix product, the best of a few."""
    size = 8192 if device.type == "cuda" else 512
    a, b = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    best = 0.0
    for _ in range(6):
        wait(device)
        begun = time.perf_counter()
        for _ in range(4):
            a @ b
        wait(device)
        best = max(best, 8.0 * size**3 / (time.perf_counter() - begun))
    return best


def wait(device: torch.device) -> None:
    """Return once the device has done all it was asked."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
