"""Scores of word segmentation: precision, recall and F1 of whole words, as the SIGHAN bake-offs count them.

A word is right where both its ends are. Boundaries between characters are counted as well, the ends of lines aside.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass
class WordCounts:
    """What the scores are made of, added up over lines."""

    right: int = 0
    predicted: int = 0
    gold: int = 0
    boundaries_right: int = 0
    boundaries_predicted: int = 0
    boundaries_gold: int = 0
    characters: int = 0

    def add(self, words: Sequence[str], gold: Sequence[str]) -> None:
        """Count a line: the words it was cut into against its gold words."""
        given, there = word_spans(words), word_spans(gold)
        self.right += len(given & there)
        self.predicted += len(given)
        self.gold += len(there)
        cuts, real = {start for start, _ in given} - {0}, {start for start, _ in there} - {0}
        self.boundaries_right += len(cuts & real)
        self.boundaries_predicted += len(cuts)
        self.boundaries_gold += len(real)
        self.characters += sum(map(len, gold))

    def scores(self) -> dict[str, float]:
        """Return the scores in percent, the mean length of a word, and the number of words."""
        return {
            "precision_percent": 100 * self.right / max(self.predicted, 1),
            "recall_percent": 100 * self.right / max(self.gold, 1),
            "f1_percent": 200 * self.right / max(self.predicted + self.gold, 1),
            "boundary_f1_percent": 200
            * self.boundaries_right
            / max(self.boundaries_predicted + self.boundaries_gold, 1),
            "mean_length": self.characters / max(self.predicted, 1),
            "words": self.predicted,
        }


def word_spans(words: Sequence[str]) -> set[tuple[int, int]]:
    """Return where each word begins and ends, in characters.

    Example:
        >>> sorted(word_spans(["今天", "下雨", "了"]))
        [(0, 2), (2, 4), (4, 5)]
    """
    ends = list(itertools.accumulate(map(len, words), initial=0))
    return set(itertools.pairwise(ends))
