"""CERT: two back-translations of a sentence find each other among a queue of others.

Paper: Fang et al. 2020, "CERT: Contrastive Self-supervised Learning for Language Understanding"; He et al. 2020,
    "Momentum Contrast for Unsupervised Visual Representation Learning" (MoCo)

Rows are columns of a file: two paraphrases of a sentence, which `mirrormask back-translate` makes. Besides the queue
the positives of the other rows are candidates here.
"""

from __future__ import annotations

from mirrormask.methods import methods
from mirrormask.negatives.memory_bank import MemoryBank
from mirrormask.objectives.info_nce import InfoNCE
from mirrormask.training.method import Composition
from mirrormask.views.dropout import Dropout
from mirrormask.views.momentum import Momentum


@methods.register("cert")
def cert(temperature: float = 0.07, momentum: float = 0.999, queue: int = 6720) -> Composition:
    """Learn from two paraphrases of each sentence, one of them seen by a slow encoder that fills a queue.

    Args:
        temperature: of the contrastive loss (0.07 in the published script, as all that follows).
        momentum: how much of the slow encoder stays at an update.
        queue: vectors that are remembered.
    """
    return Composition(
        views=(Dropout(), Momentum(momentum=momentum)),
        objective=InfoNCE(temperature=temperature),
        negatives=MemoryBank(size=queue),
        pairing=("columns", {}),
        pooling="cls",
        training={"batch_size": 32, "learning_rate": 4e-5, "epochs": 50.0, "schedule": "cosine", "max_length": 64},
    )
