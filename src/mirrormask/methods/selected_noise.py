"""SimCSE with the hardest of much noise as negatives: what the thesis on its negatives names as its next step.

Paper: Park 2023, "Data Augmentation, Stabilization and Negative Sample Generation Methods for Improving Sentence
    Embeddings of SimCSE", Sections 7.3 and 8
"""

from __future__ import annotations

from mirrormask.methods import methods
from mirrormask.methods.simcse import simcse_unsup
from mirrormask.negatives.hardest_noise import HardestNoise
from mirrormask.objectives.info_nce import InfoNCE
from mirrormask.training.composed import Composition
from mirrormask.views.dropout import Dropout


@methods.register("simcse-hardest-noise")
def simcse_hardest_noise(
    temperature: float = 0.05, multiple: float = 1.0, pool: float = 10.0, nearest: float = 1.0
) -> Composition:
    """Learn from dropout, with noise like the batch as negatives, the hardest of a large pool.

    Args:
        temperature: of the contrastive loss and of the hardness.
        multiple: negatives to keep, as a multiple of the batch size (Table 5 adds as many as the batch has).
        pool: draws for each that is kept; 1 keeps all, which is the thesis' own noise.
        nearest: the largest cosine with an anchor that a negative should have.
    """
    simcse = simcse_unsup()
    return Composition(
        views=(Dropout(), Dropout()),
        objective=InfoNCE(temperature=temperature),
        # the batch's own mean and deviation, which Table 7 finds best
        negatives=HardestNoise(multiple=multiple, pool=pool, temperature=temperature, nearest=nearest),
        pooling=simcse.pooling,
        training=simcse.training,
    )
