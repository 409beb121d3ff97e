"""torch.compile where it pays: on a GPU, for runs long enough to earn the compilation back."""

from __future__ import annotations

from typing import Any

import torch

from mirrormask.training.settings import Settings

WORTH_STEPS = 400
"""Updates below which a run is not compiled: compiling takes about a minute, which a short run does not earn back."""

WIDTHS = 16
"""Compiled rows are padded to a multiple of this, so that there are few shapes to compile."""


def should_compile(asked: str, device: torch.device | str, steps: int, max_length: int) -> bool:
    """Return whether to compile: as asked, or for long runs over short rows on a GPU.

    There it removes most of the time between kernels, as long as rows share a few shapes. On a CPU the layers took
    over a minute to compile and ran no faster than eager bfloat16.
    """
    if asked != "auto":
        return asked == "on"
    return torch.device(device).type == "cuda" and steps >= WORTH_STEPS and max_length <= 128


def compile_encoder(encoder: Any, *, replay: bool = False) -> None:
    """Compile the transformer's forward in place, for training alone; evaluation has too many shapes to compile.

    Args:
        encoder: the SentenceTransformer.
        replay: record the kernels of a pass once and replay them, for steps that would wait for Python otherwise: a
            12-layer BERT at batch 64 spent two thirds of its time on an H200 that way. What a pass returns is written
            over by the next step, so gradients must not be kept from one to the other.
    """
    model = encoder[0].model
    plain = model.forward
    compiled = torch.compile(plain, dynamic=False, mode="reduce-overhead" if replay else None)

    def forward(*args: Any, **kwargs: Any) -> Any:
        return (compiled if model.training and torch.is_grad_enabled() else plain)(*args, **kwargs)

    model.forward = forward


def can_replay(device: torch.device | str, settings: Settings, *, one_pass: bool, processes: int) -> bool:
    """Return whether every step is one pass on one GPU: nothing is accumulated, computed again or shared."""
    alone = processes == 1 and settings.accumulation == 1 and not settings.large_batch
    return torch.device(device).type == "cuda" and one_pass and alone


def restore(encoder: Any) -> None:
    """Take the compiled forward off again, so that the encoder saves and copies like any other."""
    encoder[0].model.__dict__.pop("forward", None)
