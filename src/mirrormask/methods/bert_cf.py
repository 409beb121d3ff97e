"""BERT-CF: contrast first, then a flow over the frozen encoder that the same contrast regularizes.

Paper: Hu 2023, "BERT-CF: Contrastive Flows for MultiTask-BERT"

The report gives no temperature; the one here is SimCSE's. `benchmarks/bert_cf_runs.py` chooses one on a dev set.
"""

from __future__ import annotations

from mirrormask.core.errors import at_least
from mirrormask.methods import methods
from mirrormask.models.glow import FlowShape
from mirrormask.objectives import Objective
from mirrormask.objectives.flow_likelihood import FlowLikelihood
from mirrormask.objectives.mirror_nce import MirrorNCE
from mirrormask.training.method import Composition
from mirrormask.views import Chain, View
from mirrormask.views.dropout import Dropout
from mirrormask.views.span_mask import SpanMask

# "batch size b = 16", "we perform t = 10^4 steps", "AdamW optimizer with weight decay 0.01" (Section 5.3); no schedule
TRAINING = {"batch_size": 16, "steps": 10_000, "weight_decay": 0.01, "schedule": "constant", "max_length": 64}


@methods.register("bert-cf-contrast")
def bert_cf_contrast(
    temperature: float = 0.05, dropout: float = 0.1, stop: float = 0.3, longest: int = 5
) -> Composition:
    """Learn from dropout on both sides and a masked span of tokens on one: the first stage of BERT-CF.

    Args:
        temperature: of the contrastive loss.
        dropout: p_d of both views (Section 5.3).
        stop: p_g, the chance that a masked span ends after each token (Section 5.3).
        longest: the cap of a span (Section 5.3); 0 masks nothing, which is its SimCSE.
    """
    return Composition(
        views=_views(dropout, stop, longest),
        objective=MirrorNCE(temperature=temperature, both_directions=False),
        pooling="mean",  # "the mean of the last transformer block"
        training={**TRAINING, "learning_rate": 1e-4},
    )


@methods.register("bert-cf-flow")
def bert_cf_flow(
    contrast: float = 0.3,
    temperature: float = 0.05,
    dropout: float = 0.1,
    stop: float = 0.3,
    longest: int = 5,
    frozen: bool = True,
    levels: int = 3,
    depth: int = 3,
    width: int = 32,
) -> Composition:
    """Learn a flow on the encoder by likelihood, with the contrast of its outputs as a regularizer: the second stage.

    Args:
        contrast: the weight of the contrastive term (lambda 0.3); 0 learns by likelihood alone.
        temperature: of the contrastive term.
        dropout: of both views.
        stop: the chance that a masked span ends after each token.
        longest: the cap of a span; 0 masks nothing.
        frozen: leave the encoder as it is; otherwise the contrastive term moves it, the likelihood never does.
        levels: of the flow; "3 flow blocks, the same number as in Li et al." are its levels of 3 steps.
        depth: steps of a level.
        width: of the couplings' hidden layers.
    """
    objective: Objective = FlowLikelihood()
    if at_least("contrast", contrast, 0, of="bert-cf-flow"):
        objective = contrast * MirrorNCE(temperature=temperature, both_directions=False) + objective
    return Composition(
        views=_views(dropout, stop, longest),
        objective=objective,
        pooling="mean",
        training={**TRAINING, "learning_rate": 3e-4},
        flow=FlowShape(levels, depth, width),
        frozen=frozen,
    )


def _views(dropout: float, stop: float, longest: int) -> tuple[View, View]:
    return Dropout(dropout), Chain([Dropout(dropout), SpanMask(stop, longest)])
