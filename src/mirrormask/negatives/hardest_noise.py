"""The hardest noise: of a large pool of draws those are kept that are most like the anchors.

Paper: Park 2023, "Data Augmentation, Stabilization and Negative Sample Generation Methods for Improving Sentence
    Embeddings of SimCSE", Section 7.3, which names it as a follow-up: "selective hard negative samples from large
    generated pool"

    x = m + s * e,  e ~ N(0, I);  hardness(x) = log mean_i exp(cos(x, a_i) / temperature)

which is, up to what all draws share, how much of the contrastive loss a draw is. A hard negative is "similar to the
anchor but noticeably different": a draw that is closer than `nearest` to an anchor comes after all others.
"""

from __future__ import annotations

from torch import Tensor

from mirrormask.core.batch import Step
from mirrormask.core.errors import MirrormaskError, above, at_least, one_of
from mirrormask.core.similarity import cosine
from mirrormask.negatives import Criterion, NegativeSource, count_of, negatives
from mirrormask.negatives.gaussian import DEVIATIONS, MEANS, gaussian_noise


def hardness(noise: Tensor, anchor: Tensor, temperature: float) -> Tensor:
    """Return how hard each draw (m, d) is as a negative of the anchors (n, d): larger is harder (m,)."""
    return (cosine(noise, anchor) / temperature).logsumexp(dim=1)


def hardest(noise: Tensor, anchor: Tensor, count: int, *, temperature: float, nearest: float = 1.0) -> Tensor:
    """Return the `count` hardest draws (count, d), the hardest first; those too close to an anchor come last.

    Args:
        noise: the pool (m, d).
        anchor: sentence vectors (n, d).
        count: draws to keep.
        temperature: of the hardness; smaller looks at the nearest anchor alone.
        nearest: the largest cosine with an anchor that a negative should have.
    """
    hard = hardness(noise, anchor, temperature)
    too_close = cosine(noise, anchor).amax(dim=1) > nearest
    return noise[(hard - too_close * 4 / temperature).topk(count).indices]  # hardness spans 2 / temperature


@negatives.register("hardest-noise")
class HardestNoise(NegativeSource):
    """Draw much noise that looks like the batch, and keep what is hardest to tell from it.

    Args:
        multiple: negatives to keep, as a multiple of the batch size.
        pool: draws for each that is kept.
        temperature: of the hardness.
        nearest: the largest cosine with an anchor that a negative should have.
        mean: of the noise, `batch` or `zero`.
        deviation: of the noise, `batch` or `one`.

    Relations: `gaussian` keeps all draws; `hardened` moves them by their gradient.

    Example:
        >>> import torch
        >>> step = Step(torch.eye(4), torch.eye(4))
        >>> tuple(HardestNoise(multiple=2.0).draw(step, torch.sum).shape)
        (8, 4)
    """

    def __init__(
        self,
        multiple: float = 1.0,
        pool: float = 10.0,
        temperature: float = 0.05,
        nearest: float = 1.0,
        mean: str = "batch",
        deviation: str = "batch",
    ) -> None:
        super().__init__()
        self.multiple = above("multiple", multiple, 0, of="hardest-noise")
        self.pool = at_least("pool", pool, 1, of="hardest-noise")
        self.temperature = above("temperature", temperature, 0, of="hardest-noise")
        self.nearest = above("nearest", nearest, 0, of="hardest-noise")
        if nearest > 1:
            raise MirrormaskError(f"The 'nearest' of hardest-noise is a cosine, so at most 1. Got {nearest!r}.")
        self.mean = one_of("mean", mean, MEANS, of="hardest-noise")
        self.deviation = one_of("deviation", deviation, DEVIATIONS, of="hardest-noise")

    def draw(self, step: Step, criterion: Criterion) -> Tensor:
        """Return the hardest draws (m, d)."""
        anchor = step.anchor.detach()
        count = count_of(self.multiple, len(anchor))
        noise = gaussian_noise(anchor, count_of(self.pool, count), mean=self.mean, deviation=self.deviation)
        return hardest(noise, anchor, count, temperature=self.temperature, nearest=self.nearest)
