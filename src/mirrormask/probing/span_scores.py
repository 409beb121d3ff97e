"""Scores of constituency trees, with the conventions of the literature on unsupervised parsing.

Precision, recall and F1 are over unlabelled spans, each counted once. Spans of one word and the span of the whole
sentence are trivial and left out. Sentence F1 is the mean over sentences: one without gold spans has recall 1, one
without predicted spans precision 1, so that a sentence of one or two words scores 1. Corpus F1 adds up the counts of
all sentences first. Recall by label counts labelled gold spans of two or more words, that of the whole sentence
included, as the published tables by tag do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

LABELS = ("NP", "VP", "PP", "S", "SBAR")
"""The labels of the published table."""


@dataclass
class SpanCounts:
    """What the scores are made of, added up over sentences."""

    sentences: int = 0
    f1_sum: float = 0.0
    right: int = 0
    predicted: int = 0
    gold: int = 0
    labelled: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)

    def add(self, spans: Collection[tuple[int, int]], gold: Collection[tuple[str, int, int]], n: int) -> None:
        """Count a sentence of n words: its predicted spans against its labelled gold spans."""
        whole = (0, n)
        given = {span for span in spans if span != whole and span[1] - span[0] > 1}
        there = {(start, stop) for _, start, stop in gold if (start, stop) != whole and stop - start > 1}
        right = len(given & there)
        self.sentences += 1
        self.f1_sum += sentence_f1(right, len(given), len(there))
        self.right += right
        self.predicted += len(given)
        self.gold += len(there)
        every = {*given, whole}
        for label, start, stop in set(gold):
            if stop - start > 1:
                self.labelled[label] += 1
                self.found[label] += (start, stop) in every

    def scores(self) -> dict[str, float | None]:
        """Return the scores in percent, and the number of sentences; a label that never occurs has no recall."""
        precision = self.right / max(self.predicted, 1)
        recall = self.right / max(self.gold, 1)
        found: dict[str, float | None] = {
            "sentence_f1_percent": 100 * self.f1_sum / max(self.sentences, 1),
            "corpus_f1_percent": 100 * 2 * self.right / max(self.predicted + self.gold, 1),
            "precision_percent": 100 * precision,
            "recall_percent": 100 * recall,
        }
        for label in LABELS:
            there = self.labelled[label]
            found[f"recall_{label}_percent"] = 100 * self.found[label] / there if there else None
        return {**found, "sentences": self.sentences}


def sentence_f1(right: int, predicted: int, gold: int) -> float:
    """Return the F1 of one sentence from its counts.

    Example:
        >>> sentence_f1(1, 2, 2), sentence_f1(0, 0, 0), sentence_f1(0, 3, 0)
        (0.5, 1.0, 0.0)
    """
    precision = right / predicted if predicted else 1.0
    recall = right / gold if gold else 1.0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
