"""CT: two encoders of one start agree on the same sentence and on no other.

Paper: Carlsson et al. 2021, "Semantic Re-tuning with Contrastive Tension", Eq. 2

    loss = -log s(f_1(x) . f_2(x)) - sum_(k <= K) log(1 - s(f_1(x) . f_2(x_k))),  s the logistic function

The paper keeps the better of the two encoders; here the first is kept. It trains with RMSprop at a rate that falls in
steps from 1e-5 to 2e-6; here AdamW's falls in a line.
"""

from __future__ import annotations

from mirrormask.methods import methods
from mirrormask.objectives.contrastive_tension import ContrastiveTension
from mirrormask.training.composed import Composition
from mirrormask.views.dropout import Dropout
from mirrormask.views.twin import Twin


@methods.register("ct")
def ct(negatives: float = 7.0, faithful: bool = False) -> Composition:
    """Learn by the tension between two encoders that see the same sentences.

    Args:
        negatives: K, other sentences per positive.
        faithful: pair each sentence with K others, as the paper does; otherwise with all others of the batch, which
            together weigh as much.
    """
    return Composition(
        views=(Dropout(), Twin()),
        objective=ContrastiveTension(negatives=negatives, drawn=faithful),
        pooling="mean",  # the mean over the states of the last layer
        # batches of 16, rates from 1e-5 on, 50,000 steps
        training={"batch_size": 16, "learning_rate": 1e-5, "steps": 50_000, "max_length": 75},
    )
