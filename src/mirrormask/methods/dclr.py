"""DCLR: noise that its gradient made hard as negatives, and no negatives that a second model finds too similar.

Paper: Zhou et al. 2022, "Debiased Contrastive Learning of Unsupervised Sentence Representations" (DCLR)

The loss is `debiased-nce`'s; the noise begins as N(0, 1) and takes a few steps up its own non-uniformity (`hardened`).
"""

from __future__ import annotations

from mirrormask.methods import methods
from mirrormask.negatives.hardened import Hardened
from mirrormask.objectives.debiased_nce import DebiasedNCE
from mirrormask.training.composed import Composition
from mirrormask.views.dropout import Dropout


@methods.register("dclr")
def dclr(
    temperature: float = 0.05,
    threshold: float = 0.9,
    multiple: float = 1.0,
    size: float = 0.1,
    steps: int = 4,
    complement: str = "",
    faithful: bool = False,
) -> Composition:
    """Learn from dropout, with hardened noise as negatives and without false ones.

    Args:
        temperature: of the contrastive loss and of the non-uniformity.
        threshold: the second model's cosine from which on a text is no negative.
        multiple: noise, as a multiple of the batch size.
        size: of a step of the noise, in shares of its length.
        steps: that the noise takes.
        complement: the second model by name, a trained SimCSE in the paper; empty takes a copy of the start.
        faithful: take the second model's cosines as they are, and let a step of the noise have this length whatever the
            noise's own, as the paper writes it; it takes 1e-3, which hardly turns it.
    """
    return Composition(
        views=(Dropout(), Dropout()),
        objective=DebiasedNCE(temperature, threshold, complement, centered=not faithful),
        negatives=Hardened(
            multiple,
            size,
            steps,
            direction="gradient",
            relative=not faithful,
            loss="non-uniformity",
            temperature=temperature,
        ),
        pooling="cls-mlp",
        training={"batch_size": 128, "learning_rate": 3e-5, "epochs": 1.0, "max_length": 32, "schedule": "linear"},
    )
