"""TSDAE: words are deleted, and the text is written again from the vector of the rest.

Paper: Wang et al. 2021, "TSDAE: Using Transformer-based Sequential Denoising Auto-Encoder for Unsupervised Sentence
    Embedding Learning"
"""

from __future__ import annotations

from mirrormask.methods import methods
from mirrormask.objectives.denoising import Denoising
from mirrormask.training.method import Composition
from mirrormask.views.dropout import Dropout
from mirrormask.views.word_deletion import WordDeletion


@methods.register("tsdae")
def tsdae(deletion: float = 0.6) -> Composition:
    """Learn vectors from which texts can be written again.

    Args:
        deletion: chance of a word to be deleted (0.6 is what the paper finds best).
    """
    return Composition(
        views=(WordDeletion(deletion), Dropout()),  # the second is never run
        objective=Denoising(),
        pooling="cls",  # what sentence-transformers' example takes
        # sentence-transformers' example: batches of 8, a constant rate of 3e-5, no weight decay, one epoch
        training={"batch_size": 8, "learning_rate": 3e-5, "epochs": 1.0, "schedule": "constant", "max_length": 128},
    )
