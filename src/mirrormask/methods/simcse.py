"""SimCSE: a sentence and itself under another dropout mask; with labels it is `supervised_simcse`.

Paper: Gao et al. 2021, "SimCSE: Simple Contrastive Learning of Sentence Embeddings"
"""

from __future__ import annotations

from mirrormask.methods import methods
from mirrormask.methods.supervised_simcse import supervised_simcse
from mirrormask.objectives.info_nce import InfoNCE
from mirrormask.training.method import Composition
from mirrormask.views.dropout import Dropout


@methods.register("simcse-unsup")
def simcse_unsup(temperature: float = 0.05, dropout: float | None = None) -> Composition:
    """Learn from dropout alone: each sentence is its own positive.

    Args:
        temperature: of the contrastive loss (Section 3; Table D.1 finds 0.05 best).
        dropout: a rate for both views instead of the model's own (Table 2 finds BERT's 0.1 best).
    """
    return Composition(
        views=(Dropout(dropout), Dropout(dropout)),
        objective=InfoNCE(temperature=temperature),
        # "we keep the MLP layer on top during training, and remove it at test time" (Section 6.3)
        pooling="cls-mlp",
        pairing=("self", {}),
        # Table A.1 and Appendix A: BERT-base; evaluated every 125 steps of 15,625
        training={"batch_size": 64, "learning_rate": 3e-5, "epochs": 1.0, "max_length": 32, "schedule": "linear"},
    )


@methods.register("simcse-sup")
def simcse_sup(temperature: float = 0.05, hard_weight: float = 0.0) -> Composition:
    """Learn from entailment pairs, with contradictions as hard negatives: an earlier name of `supervised-simcse`.

    Args:
        temperature: of the contrastive loss.
        hard_weight: a logit on an anchor's own hard negative (Table 5: the logarithm of alpha, best at 0).
    """
    return supervised_simcse(temperature=temperature, hard_weight=hard_weight)
