"""Adapt a sentence encoder to a text: what it knows stays, and what the words of the text add to it is learned.

Paper: Hinton et al. 2015, "Distilling the Knowledge in a Neural Network" and Wortsman et al. 2022, "Robust fine-tuning
    of zero-shot models" (weights between start and end), composed here

Teaching such an encoder anew, as `keyword-passages` does, makes it forget more than a user's text can teach it.
"""

from __future__ import annotations

import math

from mirrormask.methods import methods
from mirrormask.objectives.start_and_words import StartAndWords
from mirrormask.training.method import Composition
from mirrormask.views.dropout import Dropout

GENTLE, STRONG = 0.2, 0.8
"""Weights of the words beside a start that searches as well as they do, and beside one that is far behind them."""


@methods.register("adaptation")
def adaptation(weight: float = 0.2, sharpness: float = 2.0) -> Composition:
    """Adapt a sentence encoder to a text: learn the ranking of the start and the words together, keep what helps.

    Args:
        weight: of the words beside the start; `train` takes what suits the start.
        sharpness: of the ranking that is learned.
    """
    weak = weight > (GENTLE * STRONG) ** 0.5
    return Composition(
        views=(Dropout(), Dropout()),
        objective=StartAndWords(weight=weight, sharpness=sharpness),
        pairing=("lookups", {}),
        pooling="mean",
        # chosen on five collections with judged queries: docs/results/adaptation.md
        training={
            "batch_size": 64,
            "learning_rate": 5e-5 * math.sqrt(max(weight, GENTLE) / GENTLE),
            "steps": 200,
            "warmup": 0.1,
            "max_length": 256,
        },
        between=(0.6, 1.0) if weak else (0.3, 0.6),
    )
