"""FGSM on the sentence vector: a step in the direction that makes the loss worse, with one forward only.

Paper: Goodfellow et al. 2015, "Explaining and Harnessing Adversarial Examples", Section 4; Park 2023, "Data
    Augmentation, Stabilization and Negative Sample Generation Methods for Improving Sentence Embeddings of SimCSE",
    Section 4.1.1

    z' = z + epsilon * s * sign(dL / dz),  L the contrastive loss of anchors and unmoved positives,
    s = the standard deviation of the elements of all z

A positive that is its own anchor is at the top of their cosine, so the step leads toward the other anchors. The thesis
leaves epsilon open; here it is a share of the vectors' own deviation, since the scale of vectors differs between
models and a cosine does not see it. Of 0.03, 0.1 and 0.3 none is better than no training (recipes/study/README.md).
"""

from __future__ import annotations

from torch import Tensor

from mirrormask.core.errors import above
from mirrormask.views import View, views
from mirrormask.views.fgsm import fgsm


@views.register("output-fgsm")
class OutputFGSM(View):
    """Move the sentence vectors where the contrastive loss grows.

    Args:
        epsilon: length of the step in every element, in standard deviations of all elements.
        before_head: whether it comes before the training-only head.

    Relations: `output-noise` moves at random; `fgsm` moves the word embeddings and needs a second pass.

    Example:
        >>> OutputFGSM().gradient_at
        'output'
    """

    shares_forward = True
    gradient_at = "output"

    def __init__(self, epsilon: float = 0.03, before_head: bool = False) -> None:
        super().__init__()
        self.epsilon = above("epsilon", epsilon, 0, of="output-fgsm")
        self.before_head = before_head

    def perturb(self, x: Tensor, gradient: Tensor) -> Tensor:
        """Return sentence vectors after the step."""
        return fgsm(x, gradient, self.epsilon * x.detach().std())
