"""Labels without training: the words' own scores, and the same freed of what the words are likely anyway.

Papers: Schick and Schütze 2021, "Exploiting Cloze Questions"; Hu et al. 2022, "Knowledgeable Prompt-tuning" (Section
    3.2, contextualized calibration): the prior of a word is its mean probability over unlabelled text in the pattern,

    score(w, x) = log p(w | x) - log mean_x' p(w | x')
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import MirrormaskError
from mirrormask.prompting.cloze import Cloze, Fields, word_scores

Scores = NDArray[np.float64]


@dataclass(frozen=True)
class ZeroShot:
    """What a model thinks of texts without having been trained for it.

    Args:
        labels: in the order of the columns.
        plain: log scores of the labels as they are (n, labels).
        calibrated: the same, less the prior of the words; None without unlabelled text.
        priors: each pattern's word priors, log probabilities.
    """

    labels: tuple[str, ...]
    plain: Scores
    calibrated: Scores | None
    priors: tuple[Scores, ...]

    @property
    def scores(self) -> Scores:
        """Return the calibrated scores where there are any."""
        return self.plain if self.calibrated is None else self.calibrated


def zero_shot(patterns: Sequence[Cloze], fields: Fields, unlabelled: Fields | None) -> ZeroShot:
    """Score texts with one model's patterns; of several the mean counts.

    Args:
        patterns: of one masked LM, with the same labels.
        fields: the texts.
        unlabelled: texts whose mean probabilities are the words' priors; the texts themselves will do.
    """
    verbalizer = patterns[0].verbalizer
    assert verbalizer is not None
    for each in patterns:
        if each.pattern.template.soft and each.soft is None:
            raise MirrormaskError(
                f"The soft tokens of {each.pattern.template.text!r} mean nothing before they are learned. Take "
                "mirrormask prompt train, or a template of words."
            )
    same = unlabelled is fields
    words = scores_of_words(patterns, fields)
    background = words if same else [] if unlabelled is None else scores_of_words(patterns, unlabelled)
    priors = tuple(log_mean(each) for each in background)
    plain = np.mean([labels_of(c, w) for c, w in zip(patterns, words, strict=True)], axis=0)
    freed = [labels_of(c, w - prior) for c, w, prior in zip(patterns, words, priors, strict=False)]
    return ZeroShot(
        verbalizer.labels, log_softmax(plain), log_softmax(np.mean(freed, axis=0)) if freed else None, priors
    )


def scores_of_words(patterns: Sequence[Cloze], fields: Fields) -> list[Scores]:
    """Return each pattern's word scores (n, words), in one forward where all words have one token."""
    if all(len(ids) == 1 for each in patterns for words in each.words for ids in words):
        return word_scores(patterns, fields)
    return [each.word_scores(fields) for each in patterns]


def labels_of(cloze: Cloze, words: Scores) -> Scores:
    """Return the mean score of every label's words (n, labels)."""
    ends = np.cumsum([len(each) for each in cloze.words])
    return np.stack([part.mean(1) for part in np.split(words, ends[:-1], axis=1)], axis=1)


def log_mean(scores: Scores) -> Scores:
    """Return the log of the mean probability of every column."""
    top = scores.max(axis=0)
    found: Scores = top + np.log(np.exp(scores - top).mean(axis=0))
    return found


def log_softmax(scores: Scores) -> Scores:
    """Return log probabilities over the columns."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    found: Scores = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return found
