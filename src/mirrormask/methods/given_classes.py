"""Classes that were given: the default of `train` where a file has texts and labels.

Paper: Khosla et al. 2020, "Supervised Contrastive Learning", with dropout as the second view (Gao et al. 2021,
    "SimCSE")
"""

from __future__ import annotations

from mirrormask.methods import methods
from mirrormask.objectives.sup_con import SupCon
from mirrormask.training.method import Composition
from mirrormask.views.dropout import Dropout


@methods.register("given-classes")
def given_classes(temperature: float = 0.3) -> Composition:
    """Learn an encoder in which the texts of a class are near each other.

    Args:
        temperature: of the contrastive loss (Gunel et al. 2021 choose 0.3 for most tasks).
    """
    return Composition(
        views=(Dropout(), Dropout()),
        objective=SupCon(temperature=temperature),
        pairing=("classes", {}),
        pooling="mean",
        training={"batch_size": 64, "learning_rate": 1e-4, "epochs": 3.0, "warmup": 0.1, "max_length": 64},
    )
