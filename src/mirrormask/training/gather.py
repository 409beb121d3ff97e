"""Rows of all processes as one tensor, with gradients, for batches of uneven size."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
import torch.distributed as dist
from accelerate import PartialState
from torch import Tensor

_alone = False


def world() -> tuple[int, int]:
    """Return this process's rank and the number of processes."""
    if dist.is_available() and dist.is_initialized() and not _alone:
        return dist.get_rank(), dist.get_world_size()
    return 0, 1


def join() -> tuple[int, int]:
    """Join the other processes, where a launcher started some, and return this one's rank and their number."""
    PartialState(cpu=on_cpu())
    return world()


def on_cpu() -> bool:
    """Say whether there is nothing faster; accelerate joins processes without a GPU only where it is told so."""
    return not torch.accelerator.is_available()


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Let this process compute for itself inside the block, as if there were no others."""
    global _alone
    before, _alone = _alone, True
    try:
        yield
    finally:
        _alone = before


def gather_rows(rows: Tensor) -> Tensor:
    """Return the rows of every process in rank order (total, …); gradients flow back to the process they came from.

    Each process then computes the loss of the joint batch. Backward adds what all processes send to a row, and the
    averaging of DistributedDataParallel divides by their number again, which leaves the gradient of the joint loss.
    """
    _, size = world()
    if size == 1:
        return rows
    own = torch.tensor([len(rows)], device=rows.device)
    counts = [torch.zeros_like(own) for _ in range(size)]
    dist.all_gather(counts, own)
    gathered: Tensor = _GatherRows.apply(rows, [int(c) for c in counts])  # type: ignore[no-untyped-call]
    return gathered


def own_rows(joint: Tensor, count: int) -> Tensor:
    """Return this process's rows, so many, of what `gather_rows` gave."""
    rank, size = world()
    if size == 1:
        return joint
    counts = [torch.zeros(1, dtype=torch.int64, device=joint.device) for _ in range(size)]
    dist.all_gather(counts, torch.tensor([count], device=joint.device))
    start = sum(int(each) for each in counts[:rank])
    return joint[start : start + count]


class _GatherRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, counts: list[int]) -> Tensor:
        ctx.counts = counts
        most = max(counts)
        padded = rows.new_zeros((most, *rows.shape[1:]))
        padded[: len(rows)] = rows
        parts = [torch.empty_like(padded) for _ in counts]
        dist.all_gather(parts, padded)
        return torch.cat([part[:count] for part, count in zip(parts, counts, strict=True)])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        total = gradients[0].contiguous()
        dist.all_reduce(total)
        rank = dist.get_rank()
        start = sum(ctx.counts[:rank])
        return total[start : start + ctx.counts[rank]], None
