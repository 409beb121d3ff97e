"""Mirror-BERT: a text and itself with a span masked and other units dropped, found among all texts of both views.

Paper: Liu et al. 2021, "Fast, Effective, and Self-Supervised: Transforming Masked Language Models into Universal
    Lexical and Sentence Encoders" (Mirror-BERT)
"""

from __future__ import annotations

from typing import Any

from mirrormask.methods import methods
from mirrormask.objectives.mirror_nce import MirrorNCE
from mirrormask.training.method import Composition
from mirrormask.views import Chain, View
from mirrormask.views.character_span_mask import CharacterSpanMask
from mirrormask.views.drop_head import DropHead
from mirrormask.views.dropout import Dropout
from mirrormask.views.span_mask import SpanMask

# the published scripts: AdamW at a constant rate, no warm-up, no clipping; batches of 200
_TRAINING: dict[str, Any] = {
    "batch_size": 200,
    "learning_rate": 2e-5,
    "weight_decay": 0.01,
    "schedule": "constant",
    "clip": 0.0,
}


@methods.register("mirror-bert")
def mirror_bert(
    temperature: float = 0.04,
    tokens: bool = False,
    dropout: float | None = None,
    drop_head: float = 0.0,
    both_directions: bool = True,
    faithful: bool = False,
) -> Composition:
    """Learn from span masks and dropout on sentences or phrases, without labels and in seconds.

    Args:
        temperature: of the contrastive loss (Section 3: 0.04 for phrases and sentences).
        tokens: mask a span of tokens of geometric length, as BERT-CF does, and not of five characters.
        dropout: a rate for both views instead of the model's own.
        drop_head: drop whole attention heads at this rate in place of dropout (0.2 for BERT, 0.05 for RoBERTa).
        both_directions: whether masked texts look for their originals too; BERT-CF's form has one direction.
        faithful: as the published code has it: its way to place the span, and a mean over padding too.
    """
    span: View = SpanMask() if tokens else CharacterSpanMask(faithful=faithful)
    return Composition(
        views=(_seen(dropout, drop_head), Chain([span, _seen(dropout, drop_head)])),
        objective=MirrorNCE(temperature=temperature, both_directions=both_directions),
        pooling="mean-padded" if faithful else "mean",
        training={**_TRAINING, "epochs": 1.0, "max_length": 50},
    )


@methods.register("mirror-bert-words")
def mirror_bert_words(
    temperature: float = 0.2, dropout: float | None = None, drop_head: float = 0.0, both_directions: bool = True
) -> Composition:
    """Learn from dropout on single words, which are too short to hide a part of.

    Args:
        temperature: of the contrastive loss (Section 3: 0.2 for words).
        dropout: a rate for both views instead of the model's own.
        drop_head: drop whole attention heads at this rate in place of dropout.
        both_directions: whether the second view looks for the first too.
    """
    return Composition(
        views=(_seen(dropout, drop_head), _seen(dropout, drop_head)),
        objective=MirrorNCE(temperature=temperature, both_directions=both_directions),
        pooling="cls",
        training={**_TRAINING, "epochs": 2.0, "max_length": 25},
    )


def _seen(dropout: float | None, drop_head: float) -> View:
    """Return how both views run the encoder: heads dropped, or units."""
    if not drop_head:
        return Dropout(dropout)
    return Chain([DropHead(drop_head), Dropout(0.0 if dropout is None else dropout)])
