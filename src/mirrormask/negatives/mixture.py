"""A Gaussian mixture follows the sentence vectors of the last steps, and negatives are drawn from it.

Paper: Park 2023, "Data Augmentation, Stabilization and Negative Sample Generation Methods for Improving Sentence
    Embeddings of SimCSE", Section 4.3, "Gaussian Mixture Model sampling"; Dempster et al. 1977, "Maximum likelihood
    from incomplete data via the EM algorithm"

    r_ik = w_k N(x_i; m_k, v_k) / sum_j w_j N(x_i; m_j, v_j)
    w_k = n_k / n,   m_k = sum_i r_ik x_i / n_k,   v_k = sum_i r_ik x_i^2 / n_k - m_k^2 + floor,   n_k = sum_i r_ik

Each update takes a few EM steps from where the last one ended, which is enough because the encoder moves slowly.
Components have a variance per dimension: a full covariance of hundreds of dimensions cannot be had from so few rows.
"""

from __future__ import annotations

import torch
from torch import Tensor

from mirrormask.core.batch import Step
from mirrormask.core.errors import above, at_least
from mirrormask.negatives import Criterion, Local, NegativeSource, count_of, negatives, remember

Components = tuple[Tensor, Tensor, Tensor]
"""Weights (k,), means (k, d) and variances (k, d)."""


def responsibilities(x: Tensor, weights: Tensor, means: Tensor, variances: Tensor) -> Tensor:
    """Return the share of every component in every row (n, k): the E step."""
    center = x.mean(dim=0)  # squares of what is far from 0 lose digits in float32
    x, means = x - center, means - center
    precision = 1 / variances
    squares = x.square() @ precision.T - 2 * x @ (means * precision).T + (means.square() * precision).sum(dim=1)
    return torch.softmax(weights.log() - 0.5 * (squares + variances.log().sum(dim=1)), dim=1)


def maximized(x: Tensor, shares: Tensor, *, floor: float) -> Components:
    """Return the mixture that fits rows (n, d) best with these shares (n, k): the M step."""
    center = x.mean(dim=0)
    x = x - center
    counts = shares.sum(dim=0) + 10 * torch.finfo(x.dtype).eps
    means = shares.T @ x / counts[:, None]
    variances = shares.T @ x.square() / counts[:, None] - means.square()
    return counts / counts.sum(), means + center, variances.clamp(min=0) + floor


def mixture_noise(count: int, weights: Tensor, means: Tensor, variances: Tensor) -> Tensor:
    """Return draws from a mixture (count, d); the component of each comes from the largest of perturbed log weights."""
    chance = -torch.empty(count, len(weights), dtype=means.dtype, device=means.device).exponential_().log()
    chosen = (weights.log() + chance).argmax(dim=1)  # the Gumbel trick: no waiting for the GPU
    noise = torch.randn(count, means.shape[1], dtype=means.dtype, device=means.device)
    return means[chosen] + variances[chosen].sqrt() * noise


@negatives.register("mixture")
class Mixture(NegativeSource):
    """Draw from a Gaussian mixture that follows the anchors of the last steps.

    Args:
        multiple: negatives to draw, as a multiple of the batch size.
        components: Gaussians in the mixture.
        memory: steps whose anchors it is fitted on.
        fits: EM steps per update.
        floor: added to every variance.

    Relations: one component is nearly `gaussian` over several steps; scikit-learn's `GaussianMixture` takes the same
        EM steps for `covariance_type="diag"`.

    Example:
        >>> Mixture(components=4).components
        4
    """

    rows: Tensor
    weights: Tensor
    means: Tensor
    variances: Tensor

    def __init__(
        self, multiple: float = 1.0, components: int = 8, memory: int = 8, fits: int = 2, floor: float = 1e-6
    ) -> None:
        super().__init__()
        self.multiple = above("multiple", multiple, 0, of="mixture")
        self.components = at_least("components", components, 1, of="mixture")
        self.memory = at_least("memory", memory, 1, of="mixture")
        self.fits = at_least("fits", fits, 1, of="mixture")
        self.floor = above("floor", floor, 0, of="mixture")
        for name in ("rows", "weights", "means", "variances"):
            self.register_buffer(name, torch.empty(0))

    def draw(self, step: Step, criterion: Criterion) -> Tensor | None:
        """Return draws (m, d), nothing at the first step."""
        if not self.means.numel():
            return None
        return mixture_noise(count_of(self.multiple, len(step.anchor)), self.weights, self.means, self.variances)

    @torch.no_grad()
    def observe(self, step: Step, local: Local | None = None) -> None:
        """Take in the anchors, and follow them by a few EM steps."""
        remember(self.rows, step.anchor.detach(), self.memory * len(step.anchor))
        if not self.means.numel():
            self._begin()
        found = (self.weights, self.means, self.variances)
        for _ in range(self.fits):
            found = maximized(self.rows, responsibilities(self.rows, *found), floor=self.floor)
        for buffer, value in zip((self.weights, self.means, self.variances), found, strict=True):
            buffer.copy_(value)

    def _begin(self) -> None:
        """Start at rows drawn at random, each as wide as the whole."""
        k, rows = self.components, self.rows
        order = torch.randperm(len(rows), device=rows.device)
        self.means.resize_(k, rows.shape[1]).copy_(rows[order[torch.arange(k, device=rows.device) % len(rows)]])
        self.variances.resize_(k, rows.shape[1]).copy_(rows.var(dim=0, correction=0) + self.floor)
        self.weights.resize_(k).fill_(1 / k)
