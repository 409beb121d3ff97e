"""From the host to a device without making either wait."""

from __future__ import annotations

import torch
from torch import Tensor


def to_device(tensor: Tensor, device: torch.device) -> Tensor:
    """Return the tensor on `device`.

    A copy from ordinary memory may have to wait until a GPU has done all it was asked before; from pinned memory it
    joins the queue.

    Example:
        >>> to_device(torch.ones(2), torch.device("cpu")).tolist()
        [1.0, 1.0]
    """
    if device.type != "cuda" or tensor.device.type != "cpu":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


def at_least_float32(x: Tensor) -> Tensor:
    """Return `x` as float32, or float64 where a model in float64 made it."""
    return x if x.dtype == torch.float64 else x.float()
