"""A small variational auto-encoder learns the sentence vectors of the last steps, and its decoder makes negatives.

Paper: Kingma and Welling 2014, "Auto-Encoding Variational Bayes", Eq. 10; Park 2023, "Data Augmentation, Stabilization
    and Negative Sample Generation Methods", Section 4.3, "Variational auto-encoder sampling": fitted on the outputs of
    the previous 8 steps

    loss = mean over rows of 1/2 |x - D(z)|^2 + 1/2 sum(exp(v) + m^2 - 1 - v),   (m, v) = E(x),   z = m + exp(v / 2) e

Rows are standardized before, and what the decoder makes is put back on their scale. The weights are buffers, trained by
an Adam of their own in `observe`: they are no part of the loss, so the run's optimizer, clipping and averaging must not
see them, and as buffers they join checkpoints together with Adam's moments, which makes resuming exact.
"""

from __future__ import annotations

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor

from mirrormask.core.batch import Step
from mirrormask.core.errors import above, at_least
from mirrormask.negatives import Criterion, Local, NegativeSource, count_of, negatives, remember

Layers = list[tuple[Tensor, Tensor]]


def layer_sizes(width: int, hidden: int, latent: int) -> list[tuple[int, int]]:
    """Return (inputs, outputs) of the four layers: two of the encoder, two of the decoder."""
    return [(width, hidden), (hidden, 2 * latent), (latent, hidden), (hidden, width)]


def layers_of(flat: Tensor, sizes: list[tuple[int, int]]) -> Layers:
    """Return weight and bias of each layer, as views into one vector."""
    places = [0]
    for inputs, outputs in sizes:
        places += [places[-1] + inputs * outputs, places[-1] + inputs * outputs + outputs]
    parts = [flat[a:b] for a, b in pairwise(places)]
    return [(parts[2 * i].view(out, ins), parts[2 * i + 1]) for i, (ins, out) in enumerate(sizes)]


def decode(z: Tensor, layers: Layers) -> Tensor:
    """Return the decoder's vectors (n, d) for latent points (n, latent)."""
    return F.linear(torch.tanh(F.linear(z, *layers[2])), *layers[3])


def negative_elbo(x: Tensor, layers: Layers, noise: Tensor) -> Tensor:
    """Return the loss of rows (n, d) with the given standard normal draws (n, latent)."""
    mean, log_variance = F.linear(torch.tanh(F.linear(x, *layers[0])), *layers[1]).chunk(2, dim=1)
    found = decode(mean + (log_variance / 2).exp() * noise, layers)
    distance = 0.5 * (x - found).square().sum(dim=1)
    divergence = 0.5 * (log_variance.exp() + mean.square() - 1 - log_variance).sum(dim=1)
    return (distance + divergence).mean()


def adam_step(weights: Tensor, gradient: Tensor, moments: Tensor, taken: Tensor, rate: float) -> None:
    """Take one step of Adam (Kingma and Ba 2015) in place; moments are (2, p), `taken` counts steps on the device."""
    taken += 1
    moments[0].lerp_(gradient, 0.1)
    moments[1].lerp_(gradient.square(), 0.001)
    first, second = moments[0] / (1 - 0.9**taken), moments[1] / (1 - 0.999**taken)
    weights -= rate * first / (second.sqrt() + 1e-8)


@negatives.register("variational")
class Variational(NegativeSource):
    """Draw from the decoder of an auto-encoder that learns the anchors of the last steps.

    Args:
        multiple: negatives to draw, as a multiple of the batch size.
        latent: dimensions of the latent space; of 16, 32 and 64 the default is best on STS-B dev.
        hidden: units of the hidden layers.
        memory: steps whose anchors it is fitted on.
        fits: Adam steps per update, each over all of them.
        learning_rate: of its Adam.

    Relations: `mixture` and `covariance` model the same vectors without a network.

    Example:
        >>> Variational(latent=8).latent
        8
    """

    rows: Tensor
    weights: Tensor
    moments: Tensor
    taken: Tensor

    def __init__(
        self,
        multiple: float = 1.0,
        latent: int = 16,
        hidden: int = 256,
        memory: int = 8,
        fits: int = 1,
        learning_rate: float = 1e-3,
    ) -> None:
        super().__init__()
        self.multiple = above("multiple", multiple, 0, of="variational")
        self.latent = at_least("latent", latent, 1, of="variational")
        self.hidden = at_least("hidden", hidden, 1, of="variational")
        self.memory = at_least("memory", memory, 1, of="variational")
        self.fits = at_least("fits", fits, 1, of="variational")
        self.learning_rate = above("learning_rate", learning_rate, 0, of="variational")
        for name in ("rows", "weights", "moments"):
            self.register_buffer(name, torch.empty(0))
        self.register_buffer("taken", torch.zeros(()))

    @torch.no_grad()
    def draw(self, step: Step, criterion: Criterion) -> Tensor | None:
        """Return decoded latent points (m, d), nothing at the first step."""
        if not self.weights.numel():
            return None
        rows = self.rows
        z = torch.randn(count_of(self.multiple, len(step.anchor)), self.latent, dtype=rows.dtype, device=rows.device)
        mean, spread = _scale(rows)
        return mean + spread * decode(z, layers_of(self.weights, self._sizes))

    def observe(self, step: Step, local: Local | None = None) -> None:
        """Take in the anchors, and learn from those of the last steps."""
        remember(self.rows, step.anchor.detach(), self.memory * len(step.anchor))
        if not self.weights.numel():
            self._begin()
        mean, spread = _scale(self.rows)
        x = (self.rows - mean) / spread
        for _ in range(self.fits):
            noise = torch.randn(len(x), self.latent, dtype=x.dtype, device=x.device)
            with torch.enable_grad():
                weights = self.weights.detach().requires_grad_()
                (gradient,) = torch.autograd.grad(negative_elbo(x, layers_of(weights, self._sizes), noise), weights)
            with torch.no_grad():
                adam_step(self.weights, gradient, self.moments, self.taken, self.learning_rate)

    @property
    def _sizes(self) -> list[tuple[int, int]]:
        return layer_sizes(self.rows.shape[1], self.hidden, self.latent)

    @torch.no_grad()
    def _begin(self) -> None:
        """Draw weights and biases as `nn.Linear` does, uniform within one over the root of the inputs."""
        bounds = [(ins * out + out, ins**-0.5) for ins, out in self._sizes]
        drawn = [torch.empty(size, device=self.rows.device).uniform_(-bound, bound) for size, bound in bounds]
        self.weights.resize_(sum(size for size, _ in bounds)).copy_(torch.cat(drawn))
        self.moments.resize_(2, self.weights.numel()).zero_()


def _scale(rows: Tensor) -> tuple[Tensor, Tensor]:
    return rows.mean(dim=0), rows.std(dim=0, correction=0).clamp(min=1e-6)
