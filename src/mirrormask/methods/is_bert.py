"""IS-BERT: sentence vectors that share as much information as they can with the n-grams of their sentence.

Paper: Zhang et al. 2020, "An Unsupervised Sentence Embedding Method by Mutual Information Maximization" (IS-BERT)
"""

from __future__ import annotations

from mirrormask.methods import methods
from mirrormask.objectives.local_global import LocalGlobal
from mirrormask.training.method import Composition
from mirrormask.views.dropout import Dropout


@methods.register("is-bert")
def is_bert(dropout: float | None = None) -> Composition:
    """Learn vectors that tell the n-grams of their sentence from those of others.

    Args:
        dropout: a rate instead of the model's own.
    """
    return Composition(
        views=(Dropout(dropout), Dropout(dropout)),  # the second is never run
        objective=LocalGlobal(),
        pooling="cls",  # "CLS output as global representation" (Park 2023, Section 3.2.1)
        # the published script: one epoch in batches of 32, sentence-transformers' rate of then, a tenth as warm-up
        training={"batch_size": 32, "learning_rate": 2e-5, "epochs": 1.0, "warmup": 0.1, "max_length": 128},
    )
