"""CLINE: a sentence with synonyms is near, one with antonyms is not, and what was replaced is seen.

Paper: Wang et al. 2021, "CLINE: Contrastive Learning with Semantic Negative Examples for Natural Language
    Understanding"
"""

from __future__ import annotations

from mirrormask.methods import methods
from mirrormask.objectives.masked_lm_loss import MaskedLMLoss
from mirrormask.objectives.replacement_detection import ReplacementDetection
from mirrormask.objectives.semantic_contrast import SemanticContrast
from mirrormask.training.method import Composition
from mirrormask.views.dropout import Dropout


@methods.register("cline")
def cline(
    lexicon: str = "",
    masked_lm: float = 1.0,
    detection: float = 1.0,
    contrast: float = 1.0,
    dot: bool = True,
    temperature: float = 1.0,
) -> Composition:
    """Learn from synonyms and antonyms: hidden words, replaced words and which sentence means the same.

    Args:
        lexicon: a file of synonyms and antonyms, or a folder with WordNet's data files; without one the positive is
            the sentence itself and the negative has random words.
        masked_lm, detection, contrast: weights of the three losses (in the published code their sum).
        dot: compare sentences by dot products, as published; without it by cosines.
        temperature: what they are divided by.
    """
    objective = (
        masked_lm * MaskedLMLoss(shared=True)  # words of the original are hidden where it is compared, in one pass
        + detection * ReplacementDetection()
        + contrast * SemanticContrast(dot=dot, temperature=temperature)
    )
    return Composition(
        views=(Dropout(), Dropout()),
        objective=objective,
        pairing=("replaced-words", {"lexicon": lexicon}),
        pooling="cls",
        training={"batch_size": 32, "learning_rate": 5e-5, "epochs": 1.0, "warmup": 0.1, "max_length": 128},
    )
