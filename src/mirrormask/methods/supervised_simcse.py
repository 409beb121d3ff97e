"""Supervised SimCSE: an entailment pair, with the contradiction of its premise as a hard negative.

Paper: Gao et al. 2021, "SimCSE: Simple Contrastive Learning of Sentence Embeddings", Section 4, Eq. 5

    loss_i = -log( exp(cos(h_i, h_i+) / t) / sum_j (exp(cos(h_i, h_j+) / t) + exp(cos(h_i, h_j-) / t)) )

Every anchor sees the hard negatives of all others. Rows are columns of a file: two make pairs, three triplets.
"""

from __future__ import annotations

from mirrormask.core.errors import at_least
from mirrormask.methods import methods
from mirrormask.objectives import Objective
from mirrormask.objectives.info_nce import InfoNCE
from mirrormask.objectives.masked_lm_loss import MaskedLMLoss
from mirrormask.training.method import Composition
from mirrormask.views.dropout import Dropout


@methods.register("supervised-simcse")
def supervised_simcse(
    temperature: float = 0.05, hard_weight: float = 0.0, masked_lm: float = 0.0, faithful: bool = False
) -> Composition:
    """Learn from pairs or triplets: anchor, positive and, where there are any, hard negatives.

    Args:
        temperature: of the contrastive loss.
        hard_weight: a logit on an anchor's own hard negative.
        masked_lm: weight of guessing masked words of all sentences beside it; 0 leaves it out.
        faithful: as the published code has it: a text that stands in the batch again is its own negative, and the
            output matrix of the masked-LM head parts from the embeddings.
    """
    # "We also experiment with weighting of hard negatives": the logarithm of alpha, best at 0 (Appendix B); in the
    # published code a logit on the anchor's own hard negative, `hard_negative_weight`, 0
    objective: Objective = InfoNCE(temperature=temperature, hard_weight=hard_weight, mask_same_text=not faithful)
    if at_least("masked_lm", masked_lm, 0, of="supervised-simcse"):
        # "lambda is a weighting hyperparameter", 0.1 in the tables; 15 % of the tokens, as in BERT
        objective = objective + masked_lm * MaskedLMLoss(rate=0.15, faithful=faithful)
    return Composition(
        views=(Dropout(), Dropout()),
        objective=objective,
        # "for supervised SimCSE, we keep the MLP layer" (Section 6.3)
        pooling="cls-mlp-kept",
        pairing=("columns", {}),
        # "3 epochs", batches of 512, a rate of 5e-5 for BERT-base, 32 tokens (Appendix A)
        training={"batch_size": 512, "learning_rate": 5e-5, "epochs": 3.0, "max_length": 32, "schedule": "linear"},
    )
