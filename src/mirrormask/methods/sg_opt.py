"""SG-OPT: the sentence vector learns from the layers of the same model before training.

Paper: Kim et al. 2021, "Self-Guided Contrastive Learning for BERT Sentence Representations" (SG-OPT)

The loss is `self-guided`'s. A sentence goes through the trained encoder once: its positives are the layers of the
frozen copy. The published code trains on all sentences of the STS benchmark, those of the test set among them.
"""

from __future__ import annotations

from mirrormask.methods import methods
from mirrormask.objectives.self_guided import SelfGuided
from mirrormask.training.composed import Composition
from mirrormask.views.dropout import Dropout
from mirrormask.views.same_mask import SameMask


@methods.register("sg-opt")
def sg_opt(
    temperature: float = 0.01, drift: float = 0.1, width: int = 4096, freeze_embeddings: bool = True
) -> Composition:
    """Learn from the layers of a frozen copy, all of them at once.

    Args:
        temperature: of the contrastive loss.
        drift: weight of the squared distance from the start.
        width: of the projection that exists in training only.
        freeze_embeddings: leave the embeddings as they are.
    """
    return Composition(
        views=(Dropout(), SameMask()),
        objective=SelfGuided(temperature, drift, width=width, freeze_embeddings=freeze_embeddings),
        pooling="cls",  # the paper makes the first token's state a sentence vector
        # the published code: batches of 16, 5e-5, one epoch with a tenth of warm-up, both of Adam's betas 0.9
        training={
            "batch_size": 16,
            "learning_rate": 5e-5,
            "epochs": 1.0,
            "warmup": 0.1,
            "betas": (0.9, 0.9),
            "max_length": 128,
        },
    )
