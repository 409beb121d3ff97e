"""What a model's masks say about one sentence."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.probing.decoders import Heads, Spans
from mirrormask.probing.impact import Impact


@dataclass(frozen=True)
class Probed:
    """What a model's masks say about one sentence.

    Args:
        model: its name.
        words: the units of the sentence.
        impact: how the matrix was read.
        matrix: how much masking word j moves word i (n, n).
        heads: the head of each word, -1 for the root (n,).
        spans: the phrases of two or more words.
    """

    model: str
    words: tuple[str, ...]
    impact: Impact
    matrix: NDArray[np.float32]
    heads: Heads
    spans: Spans

    @property
    def brackets(self) -> str:
        """Return the phrases in brackets, without labels.

        Example:
            >>> words, spans = ("the", "cat", "sleeps"), [(0, 3), (0, 2)]
            >>> Probed("", words, DEFAULT, np.zeros((3, 3)), np.array([1, 2, -1]), spans).brackets
            '((the cat) sleeps)'
        """
        opened = Counter(start for start, _ in self.spans)
        closed = Counter(stop for _, stop in self.spans)
        return " ".join("(" * opened[place] + word + ")" * closed[place + 1] for place, word in enumerate(self.words))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "model": self.model,
            "words": list(self.words),
            "layer": self.impact.layer,
            "measure": self.impact.measure,
            "impact": np.round(self.matrix.astype(float), 5).tolist(),
            "heads": self.heads.tolist(),
            "spans": [list(span) for span in self.spans],
            "brackets": self.brackets,
        }
