"""Pairs that were given: the default of `train` where a file has pairs or triplets.

Paper: Gao et al. 2021, "SimCSE: Simple Contrastive Learning of Sentence Embeddings", Section 4, composed here for small
    models and few rows

The loss is that of `supervised-simcse`; pooling, rate and batch are not, because BERT-base's are too slow for a small
model.
"""

from __future__ import annotations

from dataclasses import replace

from mirrormask.methods import methods
from mirrormask.methods.supervised_simcse import supervised_simcse
from mirrormask.training.method import Composition


@methods.register("given-pairs")
def given_pairs(temperature: float = 0.05, hard_weight: float = 0.0, masked_lm: float = 0.0) -> Composition:
    """Learn from pairs or triplets at the rate of a small model.

    Args:
        temperature: of the contrastive loss.
        hard_weight: a logit on an anchor's own hard negative.
        masked_lm: weight of guessing masked words beside it; 0 leaves it out.
    """
    return replace(
        supervised_simcse(temperature=temperature, hard_weight=hard_weight, masked_lm=masked_lm),
        pooling="mean",
        # the rate is that of docs/results/supervised-simcse.md, batches are smaller, as a user's file is
        training={"batch_size": 128, "learning_rate": 2e-4, "epochs": 3.0, "warmup": 0.1, "max_length": 64},
    )
