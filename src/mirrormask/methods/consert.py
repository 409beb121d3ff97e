"""ConSERT: the tokens of a sentence mixed, and the same sentence with some features erased, find each other.

Paper: Yan et al. 2021, "ConSERT: A Contrastive Framework for Self-Supervised Sentence Representation Transfer", Eq. 1

    loss_i = -log( exp(cos(r_i, r_j) / t) / sum_(k != i) exp(cos(r_i, r_k) / t) ),  r the 2n vectors of both views

which is NT-Xent over both views. The model's own dropout is off: the views are all that differs.
"""

from __future__ import annotations

from mirrormask.methods import methods
from mirrormask.objectives.mirror_nce import MirrorNCE
from mirrormask.training.composed import Composition
from mirrormask.views import Chain
from mirrormask.views.dropout import Dropout
from mirrormask.views.feature_cutoff import FeatureCutoff
from mirrormask.views.token_shuffle import TokenShuffle


@methods.register("consert")
def consert(temperature: float = 0.1, cutoff: float = 0.2, dropout: float = 0.0, faithful: bool = False) -> Composition:
    """Learn from shuffled tokens on one side and a feature cutoff on the other.

    Args:
        temperature: of the contrastive loss (the published script takes 0.1).
        cutoff: share of the features that is erased (0.2; with token shuffle it is the published best).
        dropout: of the encoder; the published script switches it off.
        faithful: shuffle the positions of special tokens too, as the published code does.
    """
    return Composition(
        views=(Chain([Dropout(dropout), TokenShuffle(faithful)]), Chain([Dropout(dropout), FeatureCutoff(cutoff)])),
        objective=MirrorNCE(temperature=temperature),
        pooling="last-2",  # the mean over tokens of the last two layers, as the published evaluation reads it
        # the published script of the unsupervised base model
        training={"batch_size": 96, "learning_rate": 5e-7, "epochs": 1.0, "max_length": 64, "warmup": 0.1},
    )
