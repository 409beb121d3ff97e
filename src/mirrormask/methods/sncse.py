"""SNCSE: a sentence and its negation are alike, but not as alike as a sentence and itself.

Paper: Wang et al. 2022, "SNCSE: Contrastive Learning for Unsupervised Sentence Embedding with Soft Negative Samples"

The loss is `soft-negatives`'; the negations come from the pairing `negation`, which needs HanTa (the extra `attack`).
Sentences are read at the mask of PromptBERT's two templates, the second for the positive and the negation, under a
Linear and Tanh that exist in training only. The published code writes a full stop after texts without one.
"""

from __future__ import annotations

from mirrormask.methods import methods
from mirrormask.models.training_heads import mlp
from mirrormask.objectives.soft_negatives import SoftNegatives
from mirrormask.training.composed import Composition
from mirrormask.views.dropout import Dropout
from mirrormask.views.other_template import OtherTemplate


@methods.register("sncse")
def sncse(
    temperature: float = 0.05,
    near: float = 0.1,
    far: float = 0.3,
    weight: float = 1e-3,
    template: str = 'This sentence of "{text}" means [MASK].',
) -> Composition:
    """Learn from two templates, with negations as soft negatives.

    Args:
        temperature: of the contrastive loss.
        near: alpha, how much less similar than the positive a negation is at least.
        far: beta, and at most.
        weight: lambda, of these margins (1e-3 for BERT, 5e-4 for RoBERTa).
        template: of the positive and the negation; it ends as the encoder's own after [MASK].
    """
    return Composition(
        views=(Dropout(), OtherTemplate(template)),
        objective=SoftNegatives(temperature, near, far, weight),
        pairing=("negation", {}),
        pooling="mask-prompt",
        head=mlp,
        # the published script of BERT-base
        training={"batch_size": 256, "learning_rate": 1e-5, "epochs": 1.0, "max_length": 32, "schedule": "linear"},
    )
