"""MoCoSE: MoCo for sentences, with a predictor on the trained side and a queue of what the slow side made.

Paper: Cao et al. 2022, "Exploring the Impact of Negative Samples of Contrastive Learning: A Case Study of Sentence
    Embedding" (MoCoSE)

    loss_i = -log( exp(cos(q_i, k_i) / t) / (sum_j exp(cos(q_i, k_j) / t) + sum_m exp(cos(q_i, n_m) / t)) )

with q = predictor(projection(f(x))), k = projection'(f'(x)) of the slow side, and n the queue of earlier k. The slow
side takes no gradient and has slow embeddings; the published code lets both sides share the trained embeddings and
trains the slow projection. Its attack on the word embeddings (FGSM of 5e-9, by the gradient of the step before) is
below what float32 can add to most of them, so it is off unless `epsilon` is given, and then by the step's own gradient.
The queue begins empty, not with noise.
"""

from __future__ import annotations

from mirrormask.methods import methods
from mirrormask.models.training_heads import predictor
from mirrormask.negatives.memory_bank import MemoryBank
from mirrormask.objectives.info_nce import InfoNCE
from mirrormask.training.composed import Composition
from mirrormask.views import Chain, View
from mirrormask.views.dropout import Dropout
from mirrormask.views.fgsm import FGSM
from mirrormask.views.momentum import Momentum


@methods.register("mocose")
def mocose(
    temperature: float = 0.05,
    momentum: float = 0.75,
    rising: int = 15_000,
    queue: int = 512,
    epsilon: float = 0.0,
) -> Composition:
    """Learn to predict what a slow encoder says, among its earlier answers.

    Args:
        temperature: of the contrastive loss.
        momentum: how much of the slow encoder stays at the first update; the published code takes 0.75.
        rising: updates over which the momentum rises to 1; the published code's 15,000 are its whole run.
        queue: answers that are remembered (512 is found best).
        epsilon: step of an attack on the word embeddings of the trained side; the published code's is 5e-9.
    """
    seen: View = Chain([Dropout(), FGSM(epsilon)]) if epsilon else Dropout()
    return Composition(
        views=(seen, Momentum(momentum, rising=rising)),
        objective=InfoNCE(temperature=temperature),
        negatives=MemoryBank(size=queue),
        pooling="cls",
        head=predictor,
        # the published notebook
        training={
            "batch_size": 64,
            "learning_rate": 3e-5,
            "weight_decay": 1e-6,
            "epochs": 1.0,
            "max_length": 32,
            "schedule": "linear",
        },
    )
