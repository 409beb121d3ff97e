"""FGSM at the word embeddings: a small step in the direction that makes the loss worse.

Paper: Goodfellow et al. 2015, "Explaining and Harnessing Adversarial Examples", Section 4; Park 2023, "Data
    Augmentation, Stabilization and Negative Sample Generation Methods for Improving Sentence Embeddings of SimCSE",
    Section 4.1.2

    x' = x + epsilon * sign(dL / dx),  L the contrastive loss of the unchanged views

The gradient is taken in a pass of its own, with the dropout that the second pass draws again. The thesis leaves
epsilon open; the default is the best on STS-B dev of 0.0003, 0.001, 0.003, 0.01 and 0.03 (recipes/study/README.md).
"""

from __future__ import annotations

from torch import Tensor

from mirrormask.core.errors import above
from mirrormask.views import View, views


def fgsm(x: Tensor, gradient: Tensor, epsilon: float | Tensor) -> Tensor:
    """Return `x` moved by `epsilon` along the sign of the gradient; nothing flows through the step."""
    return x + epsilon * gradient.sign()


@views.register("fgsm")
class FGSM(View):
    """Move the word embeddings where the contrastive loss grows.

    Args:
        epsilon: length of the step in every element.

    Relations: `gaussian-noise` moves at random; `output-fgsm` moves the sentence vector and needs no second pass.

    Example:
        >>> FGSM(epsilon=0.01).gradient_at
        'words'
    """

    gradient_at = "words"

    def __init__(self, epsilon: float = 3e-4) -> None:
        super().__init__()
        self.epsilon = above("epsilon", epsilon, 0, of="fgsm")

    def perturb(self, x: Tensor, gradient: Tensor) -> Tensor:
        """Return word embeddings after the step."""
        return fgsm(x, gradient, self.epsilon)
