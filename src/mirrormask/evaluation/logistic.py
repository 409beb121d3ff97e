"""Many logistic regressions on the same vectors at once: folds and penalties are columns of one problem.

Paper: Liu and Nocedal 1989, "On the limited memory BFGS method for large scale optimization"

    loss_j = mean over rows of fit j of -log p(y | W_j x + b_j)  +  penalty_j / 2 · |W_j|²

Fits differ in which rows they see and in their penalty, never in x, so one matrix product serves all of them. The
vectors are centered and turned to their principal axes, which leaves every loss as it is and makes its curvature nearly
diagonal; divided by that diagonal, a fit takes some ten steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

CLOSE = 1e-3
"""Length of a gradient at which a fit is done: its loss is then within about 5e-7 of the lowest."""

Value = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]

_STEPS = 200  # most steps of a fit
_MEMORY = 8  # steps that the curvature is estimated from
_HALVINGS = 12  # times a step is made shorter before a fit is left as it is
_CELLS = 1 << 26  # scores held at a time, of all rows and fits together


@dataclass(frozen=True)
class Fits:
    """What was fitted.

    Args:
        scores: of every row under every fit, for each class beyond the first of two, or for all (n, fits, classes).
    """

    scores: Tensor

    def predicted(self) -> NDArray[np.int64]:
        """Return the most likely class of every row under every fit (n, fits)."""
        found = self.scores[..., 0] > 0 if self.scores.shape[-1] == 1 else self.scores.argmax(dim=-1)
        return found.long().cpu().numpy()


class Regressions:
    """Logistic regressions on one set of vectors.

    Args:
        vectors: of the rows (n, d).
        labels: their classes, from 0 (n,).
        device: where to compute.
    """

    def __init__(self, vectors: NDArray[np.floating], labels: NDArray[np.integer], *, device: str = "cpu") -> None:
        x = torch.as_tensor(np.asarray(vectors, dtype=np.float32), device=device)
        x = x - x.mean(dim=0)
        self.curvature, axes = torch.linalg.eigh((x.T @ x / len(x)).double())
        self.x = x @ axes.float()  # (n, d), its columns uncorrelated
        self.curvature = self.curvature.clamp(min=0).float()
        self.y = torch.as_tensor(np.asarray(labels, dtype=np.int64), device=device)
        self.classes = int(self.y.max()) + 1

    def fit(self, seen: NDArray[np.bool_], penalties: NDArray[np.floating]) -> Fits:
        """Fit one regression for every column of `seen`.

        Args:
            seen: which rows each fit learns from (n, fits).
            penalties: of each fit (fits,).
        """
        width = 1 if self.classes == 2 else self.classes
        step = max(1, _CELLS // (len(self.x) * width))
        found = [
            self._block(
                torch.as_tensor(seen[:, start : start + step], device=self.x.device),
                torch.as_tensor(np.asarray(penalties[start : start + step], dtype=np.float32), device=self.x.device),
            )
            for start in range(0, seen.shape[1], step)
        ]
        return Fits(torch.cat(found, dim=1))

    def _block(self, seen: Tensor, penalties: Tensor) -> Tensor:
        n, d = self.x.shape
        width = 1 if self.classes == 2 else self.classes
        share = seen / seen.sum(dim=0)  # (n, fits): a row's part in the mean
        kinds = torch.nn.functional.one_hot(self.y, self.classes).float()
        kinds = kinds[:, 1:] if width == 1 else kinds  # (n, width)
        prior = share.T @ kinds  # (fits, width)
        spread = (prior * (1 - prior)).clamp(min=1e-3)
        scale = torch.sqrt(spread[None] * self.curvature[:, None, None] + penalties[None, :, None])  # (d, fits, width)
        scale = torch.cat([scale, torch.sqrt(spread)[None]])  # and of the intercept
        weights = torch.zeros_like(scale)
        weights[d] = torch.logit(prior.clamp(1e-6, 1 - 1e-6)) if width == 1 else prior.clamp(min=1e-6).log()
        point = (weights * scale).movedim(1, 0).reshape(len(penalties), -1)  # (fits, (d + 1) * width)

        def unfolded(point: Tensor, fits: Tensor) -> Tensor:
            return point.reshape(len(fits), d + 1, width).movedim(0, 1) / scale[:, fits]

        def scores(weights: Tensor) -> Tensor:
            return (self.x @ weights[:d].flatten(1)).reshape(n, -1, width) + weights[d]

        def value(point: Tensor, fits: Tensor) -> tuple[Tensor, Tensor]:
            weights = unfolded(point, fits)
            found, part = scores(weights), share[:, fits, None]
            if width == 1:
                losses = torch.nn.functional.softplus(found) - found * kinds[:, None]
                error = torch.sigmoid(found) - kinds[:, None]
            else:
                losses = torch.logsumexp(found, dim=2, keepdim=True) - (found * kinds[:, None]).sum(2, keepdim=True)
                error = torch.softmax(found, dim=2) - kinds[:, None]
            error = error * part
            penalty = penalties[fits, None]
            loss = (losses * part).sum(dim=(0, 2)) + 0.5 * (penalty * weights[:d].square()).sum(dim=(0, 2))
            slope = torch.cat([(self.x.T @ error.flatten(1)).reshape(d, -1, width), error.sum(dim=0)[None]])
            slope[:d] += penalty * weights[:d]
            return loss, (slope / scale[:, fits]).movedim(1, 0).reshape(len(fits), -1)

        point = _lowest(value, point)
        return scores(unfolded(point, torch.arange(len(penalties), device=point.device)))


def _lowest(value: Value, point: Tensor) -> Tensor:
    """Return where each row's function is lowest, by L-BFGS; rows that are done are asked no more.

    Args:
        value: from points and the numbers of their rows to losses (m,) and slopes (m, p).
        point: where to start (rows, p).
    """
    rows = torch.arange(len(point), device=point.device)
    here = point.clone()
    loss, slope = value(here, rows)
    past: list[tuple[Tensor, Tensor, Tensor]] = []  # moves, changes of the slope, and one over their product
    for _ in range(_STEPS):
        open_ = slope.norm(dim=1) > CLOSE
        if not bool(open_.any()):
            break
        if not bool(open_.all()):
            point[rows[~open_]] = here[~open_]
            rows, here, loss, slope = rows[open_], here[open_], loss[open_], slope[open_]
            past = [(a[open_], b[open_], c[open_]) for a, b, c in past]
        move = -_curved(slope, past)
        downhill = (move * slope).sum(dim=1)
        length = torch.ones_like(loss)
        for _ in range(_HALVINGS):
            there = here + length[:, None] * move
            next_loss, next_slope = value(there, rows)
            too_far = next_loss > loss + 1e-4 * length * downhill + 1e-7 * loss.abs()
            if not bool(too_far.any()):
                break
            length = torch.where(too_far, length / 2, length)
        stuck = too_far
        there = torch.where(stuck[:, None], here, there)
        next_slope = torch.where(stuck[:, None], torch.zeros_like(slope), next_slope)  # as near as float32 comes
        moved, changed = there - here, next_slope - slope
        product = (moved * changed).sum(dim=1)
        past.append((moved, changed, torch.where(product > 1e-12, 1 / product, torch.zeros_like(product))))
        past = past[-_MEMORY:]
        here, loss, slope = there, torch.where(stuck, loss, next_loss), next_slope
    point[rows] = here
    return point


def _curved(slope: Tensor, past: list[tuple[Tensor, Tensor, Tensor]]) -> Tensor:
    """Return the slope times the inverse curvature that past steps tell (the two-loop recursion)."""
    direction, kept = slope, []
    for moved, changed, inverse in reversed(past):
        weight = inverse * (moved * direction).sum(dim=1)
        direction = direction - weight[:, None] * changed
        kept.append(weight)
    if past:
        _, changed, inverse = past[-1]
        product = changed.square().sum(dim=1)
        direction = direction * torch.where(inverse > 0, 1 / (inverse * product).clamp(min=1e-12), 1.0)[:, None]
    for (moved, changed, inverse), weight in zip(past, reversed(kept), strict=True):
        direction = direction + (weight - inverse * (changed * direction).sum(dim=1))[:, None] * moved
    return direction
