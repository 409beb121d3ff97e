"""Back-translation: a sentence and what came back of it from another language.

Paper: Sennrich et al. 2016, "Improving Neural Machine Translation Models with Monolingual Data"; as the positive of a
    contrastive loss after Fang et al. 2020, "CERT: Contrastive Self-supervised Learning for Language Understanding"

Rows are columns of a file, which `mirrormask back-translate` makes with any two translation models.
"""

from __future__ import annotations

from mirrormask.methods import methods
from mirrormask.objectives.info_nce import InfoNCE
from mirrormask.training.method import Composition
from mirrormask.views.dropout import Dropout


@methods.register("back-translation")
def back_translation(temperature: float = 0.05) -> Composition:
    """Learn from sentences and their back-translations.

    Args:
        temperature: of the contrastive loss, SimCSE's.
    """
    return Composition(
        views=(Dropout(), Dropout()),
        objective=InfoNCE(temperature=temperature),
        pairing=("columns", {}),
        pooling="cls-mlp",  # as unsupervised SimCSE, whose positive it replaces
        training={"batch_size": 64, "learning_rate": 3e-5, "epochs": 1.0, "max_length": 32, "schedule": "linear"},
    )
