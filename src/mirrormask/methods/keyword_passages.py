"""The default: a text is found by a few of its telling words.

Paper: Lee et al. 2019, "Latent Retrieval for Weakly Supervised Open Domain Question Answering" (the inverse cloze
    task) and Giorgi et al. 2021, "DeCLUTR" (passages of one document), composed here

Dropout alone is too easy for a small model: its contrastive loss is near zero after 40 steps and little is learned.
Keywords against a passage stays hard, and it is what an encoder is for when someone searches.
"""

from __future__ import annotations

from mirrormask.methods import methods
from mirrormask.objectives.info_nce import InfoNCE
from mirrormask.training.method import Composition
from mirrormask.views.dropout import Dropout


@methods.register("keyword-passages")
def keyword_passages(temperature: float = 0.05, both_directions: bool = True) -> Composition:
    """Learn to find a passage by two to four telling words of its text.

    Args:
        temperature: of the contrastive loss.
        both_directions: also find the keywords by the passage.
    """
    return Composition(
        views=(Dropout(), Dropout()),
        objective=InfoNCE(temperature=temperature, both_directions=both_directions),
        pairing=("keywords", {}),
        pooling="mean",
        # chosen on held-out docstrings: docs/results/quickstart.md
        training={
            "batch_size": 64,
            "learning_rate": 1e-4,
            "steps": 250,
            "warmup": 0.1,
            "max_length": 32,
            "average": 0.99,
        },
    )
