"""Which precision a device is good at, and why."""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from mirrormask.core.errors import one_of

PRECISIONS = ("auto", "fp32", "bf16", "fp16")
"""What may be asked for."""


@dataclass(frozen=True)
class Precision:
    """A precision and the reason it was chosen.

    An ARM processor without bfloat16 refuses each product in it with a stack of C++ calls as a warning before it falls
    back, so there oneDNN, whose path that is, is switched off with the first bfloat16 that is asked for.
    """

    name: str
    reason: str

    def __post_init__(self) -> None:
        if self.name == "bf16" and platform.machine() in ("aarch64", "arm64") and not _has_bfloat16():
            torch.backends.mkldnn.set_flags(False)

    @property
    def low(self) -> bool:
        """Return whether matrix products run below float32."""
        return self.name != "fp32"

    def autocast(self, device: torch.device | str) -> contextlib.AbstractContextManager[None]:
        """Return the context in which a forward runs at this precision."""
        if not self.low:
            return contextlib.nullcontext()
        dtype = torch.bfloat16 if self.name == "bf16" else torch.float16
        return torch.autocast(torch.device(device).type, dtype=dtype)


@contextlib.contextmanager
def varied_shapes() -> Iterator[None]:
    """Let attention run without cuDNN inside the block, for batches whose shape changes from one to the next.

    cuDNN plans its attention anew for every shape, which takes milliseconds a layer: on an H200 training on batches of
    256 keyword pairs ran four times as fast without it. The other kernels for a GPU plan nothing.
    """
    was = torch.backends.cuda.cudnn_sdp_enabled()
    torch.backends.cuda.enable_cudnn_sdp(False)
    try:
        yield
    finally:
        torch.backends.cuda.enable_cudnn_sdp(was)


def best_precision(device: torch.device | str, asked: str = "auto") -> Precision:
    """Return the precision to compute in: what was asked for, or what the device is fast at.

    bfloat16 pays on a GPU that has it and on CPUs with AMX tiles; on other CPUs it is emulated and slower than float32.
    """
    one_of("precision", asked, PRECISIONS, of="a run")
    kind = torch.device(device).type
    if asked == "bf16" and kind == "cpu" and not _has_bfloat16():
        return Precision(asked, "as asked, though this CPU emulates bfloat16 and would be faster in fp32")
    if asked != "auto":
        return Precision(asked, "as asked")
    if kind == "cuda" and torch.cuda.is_bf16_supported():
        return Precision("bf16", "this GPU computes bfloat16 natively")
    if kind == "cpu" and torch.cpu._is_amx_tile_supported():
        return Precision("bf16", "this CPU has AMX tiles for bfloat16")
    return Precision("fp32", f"this {kind} has no fast bfloat16")


def _has_bfloat16() -> bool:
    return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
