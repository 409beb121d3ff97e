"""DiffCSE: SimCSE, and a sentence vector that knows what a masked LM changed in the sentence.

Paper: Chuang et al. 2022, "DiffCSE: Difference-based Contrastive Learning for Sentence Embeddings", Eq. 3

    loss = contrast + weight * replaced token detection

The vectors go through a projector with BatchNorm that exists in training only; all rows of both views share its
statistics. Its paper's generator is a small model, DistilBERT.
"""

from __future__ import annotations

from mirrormask.methods import methods
from mirrormask.models.training_heads import batch_norm
from mirrormask.objectives.info_nce import InfoNCE
from mirrormask.objectives.replaced_tokens import ReplacedTokens
from mirrormask.training.composed import Composition
from mirrormask.views.dropout import Dropout


@methods.register("diffcse")
def diffcse(
    temperature: float = 0.05,
    weight: float = 0.005,
    rate: float = 0.3,
    generator: str = "",
    faithful: bool = False,
) -> Composition:
    """Learn from dropout, and from the tokens that a masked LM replaced.

    Args:
        temperature: of the contrastive loss.
        weight: lambda, of the replaced token detection (0.005 for BERT-base).
        rate: chance of a token to be masked (0.3 for STS).
        generator: the masked LM that fills the masks, by name; empty takes the one that the encoder starts from.
        faithful: let the generator change every token and both views be conditions, as the published code does.
    """
    return Composition(
        views=(Dropout(), Dropout()),
        objective=InfoNCE(temperature=temperature) + weight * ReplacedTokens(rate, generator, faithful),
        pooling="cls",
        head=batch_norm,
        # the published script of BERT-base for STS
        training={"batch_size": 64, "learning_rate": 7e-6, "epochs": 2.0, "max_length": 32, "schedule": "linear"},
    )
