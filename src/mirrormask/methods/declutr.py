"""DeCLUTR: spans of one document are near each other, and words of the anchors are guessed beside it.

Paper: Giorgi et al. 2021, "DeCLUTR: Deep Contrastive Learning for Unsupervised Textual Representations"
"""

from __future__ import annotations

from mirrormask.core.errors import at_least
from mirrormask.methods import methods
from mirrormask.objectives import Objective
from mirrormask.objectives.masked_lm_loss import MaskedLMLoss
from mirrormask.objectives.mean_positive_nce import MeanPositiveNCE
from mirrormask.training.method import Composition
from mirrormask.views.dropout import Dropout


@methods.register("declutr")
def declutr(
    temperature: float = 0.05,
    anchors: int = 2,
    positives: int = 2,
    min_words: int = 32,
    max_words: int = 512,
    masked_lm: float = 1.0,
) -> Composition:
    """Learn from anchors of a document and the spans around them, with words of the anchors hidden.

    Args:
        temperature: of the contrastive loss (0.05 in the published configuration, as all that follows).
        anchors: of a document.
        positives: of an anchor, averaged.
        min_words: of a span, at least.
        max_words: of a span, at most.
        masked_lm: weight of guessing hidden words (the loss is the sum of both); 0 leaves it out.
    """
    objective: Objective = MeanPositiveNCE(temperature=temperature)
    if at_least("masked_lm", masked_lm, 0, of="declutr"):
        objective = objective + masked_lm * MaskedLMLoss(shared=True)  # the anchors themselves are masked
    spans = {"anchors": anchors, "positives": positives, "min_words": min_words, "max_words": max_words}
    return Composition(
        views=(Dropout(), Dropout()),
        objective=objective,
        pairing=("declutr-spans", spans),
        pooling="mean",  # of the token states
        # the published configuration: 4 documents of 2 anchors, AdamW at 5e-5 with a weight decay of 0.1, one epoch of
        # a slanted triangular schedule, which warms up over a tenth of it, gradients clipped at 1
        training={
            "batch_size": 8,
            "learning_rate": 5e-5,
            "weight_decay": 0.1,
            "epochs": 1.0,
            "warmup": 0.1,
            "max_length": 512,
        },
    )
