"""Noise made harder: each draw is moved where it raises the loss.

Paper: Zhou et al. 2022, "Debiased Contrastive Learning of Unsupervised Sentence Representations" (DCLR), Section 3.2;
    Goodfellow et al. 2015, "Explaining and Harnessing Adversarial Examples" (FGSM)

    x <- x + size * s * sign(g)               `sign`, as Park 2023 describes it
    x <- x + size * |x| * g / |g|             `gradient`, as DCLR writes it

with g the gradient of the loss with respect to x, and s the deviation the noise was drawn with. Steps are relative to
the noise, because under cosine scores only direction counts; `relative` can be off, as DCLR writes it: then a step of
1e-3 turns noise of 768 dimensions by a few hundred-thousandths. The loss is the run's own objective, or DCLR's
non-uniformity of the noise alone:

    -log( exp(cos(a_i, p_i) / t) / sum_j exp(cos(a_i, x_j) / t) )
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import torch
from torch import Tensor

from mirrormask.core.batch import Step
from mirrormask.core.errors import above, at_least, one_of
from mirrormask.core.similarity import cosine
from mirrormask.negatives import Criterion, NegativeSource, count_of, negatives
from mirrormask.negatives.gaussian import DEVIATIONS, MEANS, gaussian_noise, moments

DIRECTIONS, LOSSES = ("sign", "gradient"), ("objective", "non-uniformity")


def non_uniformity(step: Step, temperature: float) -> Tensor:
    """Return how little the noise of a step is told from its anchors' positives, the mean over the anchors."""
    if step.extra is None:
        raise TypeError("Non-uniformity is that of noise, and the step has none.")
    own = torch.nn.functional.cosine_similarity(step.anchor, step.positive, dim=-1) / temperature
    return ((cosine(step.anchor, step.extra) / temperature).logsumexp(dim=1) - own).mean()


def harden(
    noise: Tensor,
    step: Step,
    criterion: Criterion,
    *,
    size: float,
    scale: Tensor,
    direction: str = "sign",
    relative: bool = True,
) -> Tensor:
    """Return the noise (m, d) one step up the loss.

    Args:
        noise: negatives.
        step: the batch; nothing flows into it.
        criterion: the loss.
        size: of the step.
        scale: deviation of each dimension (d,), for `sign`.
        direction: `sign` or `gradient`.
        relative: whether a step is relative to the noise, by its deviation or its length.
    """
    fixed = dataclasses.replace(
        step,
        anchor=step.anchor.detach(),
        positive=step.positive.detach(),
        hard=None if step.hard is None else step.hard.detach(),
    )
    with torch.enable_grad():
        moving = noise.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(criterion(dataclasses.replace(fixed, extra=moving)), moving)
    if direction == "sign":
        return noise.detach() + size * (scale if relative else 1.0) * gradient.sign()
    length = noise.detach().norm(dim=1, keepdim=True) if relative else 1.0
    return noise.detach() + size * length * torch.nn.functional.normalize(gradient, dim=1)


@negatives.register("hardened")
class Hardened(NegativeSource):
    """Draw noise and move it by its gradient to where it is hard.

    Args:
        multiple: negatives to draw, as a multiple of the batch size.
        size: of a step, relative to the noise.
        steps: how many.
        direction: `sign` (FGSM) or `gradient` (DCLR).
        mean: of the noise before, `zero` or `batch`.
        deviation: of the noise before, `one` or `batch`.
        relative: whether a step is relative to the noise; DCLR's is not.
        loss: what is raised, the run's `objective` or the `non-uniformity` of DCLR.
        temperature: of the non-uniformity.

    Relations: `gaussian` with the same mean and deviation is what it starts from; `hardest-noise` chooses among draws.

    Example:
        >>> Hardened(direction="gradient").direction
        'gradient'
    """

    def __init__(
        self,
        multiple: float = 1.0,
        size: float = 0.1,
        steps: int = 1,
        direction: str = "sign",
        mean: str = "zero",
        deviation: str = "one",
        relative: bool = True,
        loss: str = "objective",
        temperature: float = 0.05,
    ) -> None:
        super().__init__()
        self.multiple = above("multiple", multiple, 0, of="hardened")
        self.size = above("size", size, 0, of="hardened")
        self.steps = at_least("steps", steps, 1, of="hardened")
        self.direction = one_of("direction", direction, DIRECTIONS, of="hardened")
        self.mean = one_of("mean", mean, MEANS, of="hardened")
        self.deviation = one_of("deviation", deviation, DEVIATIONS, of="hardened")
        self.relative = relative
        self.loss = one_of("loss", loss, LOSSES, of="hardened")
        self.temperature = above("temperature", temperature, 0, of="hardened")

    def draw(self, step: Step, criterion: Criterion) -> Tensor:
        """Return the hardened noise (m, d)."""
        anchor = step.anchor.detach()
        count = count_of(self.multiple, len(anchor))
        noise = gaussian_noise(anchor, count, mean=self.mean, deviation=self.deviation)
        _, scale = moments(anchor, mean=self.mean, deviation=self.deviation)
        raised = criterion if self.loss == "objective" else partial(non_uniformity, temperature=self.temperature)
        how: dict[str, Any] = {
            "size": self.size,
            "scale": scale,
            "direction": self.direction,
            "relative": self.relative,
        }
        for _ in range(self.steps):
            noise = harden(noise, step, raised, **how)
        return noise
