"""Updates that leave no weight that is no number: a broken step is not taken, and one that breaks is taken back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor, nn

from mirrormask.training.averaging import Average
from mirrormask.training.checkpoint import weights_of

SAFE_RATE = 0.01
"""Up to this rate one update cannot ruin a model: AdamW moves no weight by more than about three rates."""

Clipped = tuple[list[nn.Parameter], float]
"""Parameters whose gradients are clipped together, and their largest norm; 0 does not clip."""


class Updates:
    """Makes gradients into updates.

    Args:
        accelerator: that runs the model.
        model: whose weights are updated.
        optimizer: that updates them.
        prepared: the optimizer as the accelerator wraps it.
        average: of the weights, which follows them.
        clipped: every open parameter, with those that it is clipped with.
    """

    def __init__(
        self,
        accelerator: Accelerator,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        prepared: Any,
        average: Average,
        clipped: Sequence[Clipped],
    ) -> None:
        self.accelerator, self.prepared = accelerator, prepared
        self.model, self.optimizer, self.average = model, optimizer, average
        self.clipped = clipped
        self.broken: Tensor | bool = False
        self.back: Callable[[], None] | None = None

    def step(self, loss: Tensor, rate: float) -> tuple[Tensor, bool]:
        """Clip after the last pass, then update; return the gradient's norm, and False where nothing was updated.

        On a GPU a broken step is left out too, with all that follow, but is not waited for: what is returned is True.

        Args:
            loss: of the step.
            rate: the highest learning rate of its update.
        """
        if self.accelerator.scaler is not None:
            self.accelerator.unscale_gradients(self.prepared)
        norms = [nn.utils.clip_grad_norm_(weights, clip or float("inf")) for weights, clip in self.clipped]
        norm = norms[0] if len(norms) == 1 else torch.linalg.vector_norm(torch.stack(norms))
        careful = rate > SAFE_RATE
        if self.accelerator.scaler is None:
            self.broken = self.broken | ~(torch.isfinite(norm) & torch.isfinite(loss))
            if norm.device.type == "cpu" or careful or not self.optimizer.defaults.get("fused"):
                if self.broken:
                    return norm, False
            else:  # read by the fused kernels, without waiting for the GPU
                self.optimizer.found_inf = self.broken.float()  # type: ignore[attr-defined]
                self.optimizer.grad_scale = None  # type: ignore[attr-defined]
        else:  # the scaler leaves out a step that overflows and scales the next one less: nothing is broken
            norm = torch.nan_to_num(norm, nan=0.0, posinf=0.0)
        before = _remembered(self.model, self.optimizer, self.average) if careful else None
        self.prepared.step()
        self.average.update()
        if before is not None and not all_finite(self.model):
            before()
            return norm, False
        self.back = before
        return norm, True

    def take_back(self) -> bool:
        """Undo the last update where it may be the reason that the loss is no number; return whether it did."""
        if self.back is None:
            return False
        self.back()
        self.back = None
        return True


def all_finite(model: nn.Module) -> bool:
    """Return whether everything that a checkpoint would keep of a model is a number."""
    values = [value for value in model.state_dict().values() if isinstance(value, Tensor) and value.is_floating_point()]
    return bool(torch.stack([torch.isfinite(value).all() for value in values]).all()) if values else True


def _remembered(model: nn.Module, optimizer: torch.optim.Optimizer, average: Average) -> Callable[[], None]:
    """Copy what an update changes, and return what puts it back."""
    weights = {name: value.clone() for name, value in weights_of(model).items()}
    moments = {
        number: {name: value.clone() if isinstance(value, Tensor) else value for name, value in entry.items()}
        for number, entry in optimizer.state_dict()["state"].items()
    }
    averaged = {name: value.clone() for name, value in average.state().items()}

    def put_back() -> None:
        model.load_state_dict(weights, strict=False)
        optimizer.load_state_dict({**optimizer.state_dict(), "state": moments})
        average.load(averaged)

    return put_back
