"""RankCSE: besides telling sentences apart, both views rank the batch alike, and as a teacher does.

Paper: Liu et al. 2023, "RankCSE: Unsupervised Sentence Representations Learning via Learning to Rank"
"""

from __future__ import annotations

from mirrormask.methods import methods
from mirrormask.objectives.info_nce import InfoNCE
from mirrormask.objectives.ranking_consistency import RankingConsistency
from mirrormask.objectives.ranking_distillation import RankingDistillation
from mirrormask.training.method import Composition
from mirrormask.views.dropout import Dropout


@methods.register("rankcse")
def rankcse(
    teacher: str = "",
    list_net: bool = False,
    temperature: float = 0.05,
    ranking_temperature: float = 0.05,
    consistency: float = 1.0,
    distillation: float = 1.0,
) -> Composition:
    """Learn from dropout and from the ranking of a teacher; without one the start teaches itself.

    Args:
        teacher: a sentence encoder with the same tokens (the paper's are SimCSE and DiffCSE).
        list_net: learn the teacher's distribution instead of its order.
        temperature: tau_1 of the contrastive loss and of the consistency.
        ranking_temperature: tau_2; tau_3 is its half.
        consistency: beta; this and all other numbers are those of the public reproduction (perceptiveshawty/RankCSE).
        distillation: gamma.
    """
    objective = (
        InfoNCE(temperature=temperature)
        + consistency * RankingConsistency(temperature=temperature)
        + distillation * RankingDistillation(teacher=teacher, list_net=list_net, temperature=ranking_temperature)
    )
    return Composition(
        views=(Dropout(), Dropout()),
        objective=objective,
        pooling="cls-mlp",  # as in SimCSE, the MLP in training only
        # one epoch of 10^6 sentences, batches of 128, a rate of 3e-5 for BERT-base, 32 tokens
        training={"batch_size": 128, "learning_rate": 3e-5, "epochs": 1.0, "max_length": 32, "schedule": "linear"},
    )
