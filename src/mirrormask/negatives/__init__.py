"""Negative sources: vectors an anchor is pushed from besides its batch. In-batch negatives need no source.

Scores are cosines, so the length of a negative does not matter, only its direction. Noise around zero therefore has no
scale: N(0, 1) and N(0, 0.01) are the same negatives, and what a mean or a deviation per dimension changes is where
most directions point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from mirrormask.core.batch import Batch, Step, Tokens
from mirrormask.core.registry import Registry

Criterion = Callable[[Step], Tensor]

Encode = Callable[[Any, nn.Module | None, Tokens], Tensor]
"""Sends this process's rows through an encoder and a head, without a gradient: vectors of all processes (n, d)."""


@dataclass(frozen=True)
class Local:
    """What a source may read besides the joint vectors of an update.

    Args:
        batches: this process's rows, one batch for each part of the update.
        encoder: the encoder in training, after the update.
        head: the head on top of it in training.
        encode: how to send rows through these, or through copies of the source's own.
    """

    batches: tuple[Batch, ...]
    encoder: Any
    head: nn.Module | None
    encode: Encode


class NegativeSource(nn.Module):
    """Draws extra negatives for a step, and may remember what it saw; its buffers join checkpoints.

    What is random is drawn from torch's own generator, which the loop seeds at every step. `draw` changes nothing,
    since a stabilizer may call it twice; everything learned is learned in `observe`. A buffer whose shape is known only
    after the first batch begins empty and grows in place (`resize_`), so that a checkpoint of any step fits.
    """

    def attach(self, encoder: Any, head: nn.Module | None) -> None:
        """Make what the source needs from the encoder to be trained, such as a slow copy; once, before training."""

    def draw(self, step: Step, criterion: Criterion) -> Tensor | None:
        """Return extra negatives (m, d), or None when there are none yet."""
        raise TypeError(f"{type(self).__name__} defines no draw.")

    def observe(self, step: Step, local: Local | None = None) -> None:
        """See all rows of an update once, after it.

        Args:
            step: the vectors, those of all parts where gradients are accumulated.
            local: the rows themselves, and the encoder.
        """

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        for name, buffer in self.named_buffers(recurse=False):
            stored = state_dict.get(prefix + name)
            if stored is not None:
                buffer.resize_(stored.shape)
        super()._load_from_state_dict(state_dict, prefix, *rest)


def count_of(multiple: float, rows: int) -> int:
    """Return how many negatives a multiple of the batch is, at least one.

    Example:
        >>> count_of(0.5, 64), count_of(0.001, 64)
        (32, 1)
    """
    return max(1, round(multiple * rows))


def remember(buffer: Tensor, rows: Tensor, most: int) -> None:
    """Put rows (n, d) in front of those in the buffer, which keeps the newest `most` of them, in place."""
    kept = torch.cat([rows, buffer])[:most] if buffer.ndim == 2 else rows[:most]
    buffer.resize_(kept.shape).copy_(kept)


negatives: Registry[NegativeSource] = Registry("negative source", __name__)
