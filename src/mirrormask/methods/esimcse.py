"""ESimCSE: repeated words make the positive, so that length tells nothing, and a slow encoder fills a queue.

Paper: Wu et al. 2022, "ESimCSE: Enhanced Sample Building Method for Contrastive Learning of Unsupervised Sentence
    Embedding", Eq. 4

    loss_i = -log( exp(cos(h_i, h+_i) / t) / (sum_j exp(cos(h_i, h+_j) / t) + sum_m exp(cos(h_i, q_m) / t)) )

with h+ of the sentence with some sub-words said twice, and q_m the queue of what a slow average of the encoder made of
the sentences of earlier steps, without dropout.
"""

from __future__ import annotations

from mirrormask.methods import methods
from mirrormask.negatives.memory_bank import MemoryBank
from mirrormask.objectives.info_nce import InfoNCE
from mirrormask.training.composed import Composition
from mirrormask.views import Chain
from mirrormask.views.dropout import Dropout
from mirrormask.views.word_repetition import WordRepetition


@methods.register("esimcse")
def esimcse(
    temperature: float = 0.05,
    repetition: float = 0.32,
    queue: int = 160,
    momentum: float = 0.995,
    dropout: float | None = None,
    faithful: bool = False,
) -> Composition:
    """Learn from word repetition, with negatives that a slow encoder remembers.

    Args:
        temperature: of the contrastive loss.
        repetition: largest share of the sub-words that is repeated (the published script of BERT-base).
        queue: negatives that are remembered, 2.5 times the batch of 64.
        momentum: how much of the slow encoder stays at an update.
        dropout: a rate for both views instead of the model's own.
        faithful: put the trained head on the slow encoder, as the published code does, and not a slow one.
    """
    return Composition(
        views=(Dropout(dropout), Chain([Dropout(dropout), WordRepetition(repetition)])),
        objective=InfoNCE(temperature=temperature),
        negatives=MemoryBank(size=queue, momentum=momentum, slow_head=not faithful),
        pooling="cls-mlp",
        # the published script of BERT-base, which has SimCSE's settings
        training={"batch_size": 64, "learning_rate": 3e-5, "epochs": 1.0, "max_length": 32, "schedule": "linear"},
    )
