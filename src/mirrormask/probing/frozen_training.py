"""Training a small model on rows that are cached, through the one training loop."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mirrormask.core.seeding import Seeds
from mirrormask.training.loop import fit
from mirrormask.training.row_numbers import RowNumbers
from mirrormask.training.settings import Settings


def train_frozen(
    model: nn.Module, rows: int, *, epochs: float, batch_size: int, learning_rate: float, weight_decay: float, seed: int
) -> None:
    """Train `model` through the training loop on rows it holds itself, and leave it at its last weights.

    `model(rows, seed)` is the loss of the rows with these numbers (n,). There is no development set
    here and no choice of checkpoint: the last weights are taken as they are.
    """
    settings = Settings(
        batch_size=batch_size,
        epochs=epochs,
        learning_rate=learning_rate,
        weight_decay=weight_decay,
        warmup=0.1,
        precision="fp32",
        compile="off",
        checkpoint_every=1 << 30,
        seeds=Seeds.all(seed),
    )
    with tempfile.TemporaryDirectory() as folder:
        fit(model, RowNumbers(rows, batch_size, seed), settings, Path(folder))


def padded_states(states: Sequence[NDArray[np.float32]], rows: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Return the states of some rows (b, n, d), zeros after the end of each, and the mask of what is real (b, n)."""
    longest = max(len(states[row]) for row in rows)
    out = torch.zeros(len(rows), longest, states[rows[0]].shape[1])
    mask = torch.zeros(len(rows), longest)
    for place, row in enumerate(rows):
        out[place, : len(states[row])] = torch.from_numpy(states[row])
        mask[place, : len(states[row])] = 1.0
    return out, mask
