"""The nearest words by word vectors: the candidates of TextFooler.

Paper: Jin et al. 2020, "Is BERT Really Robust? A Strong Baseline for Natural Language Attack on Text Classification and
Entailment"
"""

from __future__ import annotations

from collections.abc import Sequence

from mirrormask.attack.edited_text import REPLACE, in_case_of
from mirrormask.attack.proposals import CANDIDATES, Slot
from mirrormask.attack.word_vectors import WordVectors
from mirrormask.core.errors import MirrormaskError, at_least, between

LEAST = 0.5
"""The least cosine of a synonym, as in the released code."""


class NeighborProposer:
    """The nearest words of a table of word vectors.

    Args:
        vectors: of words.
        candidates: N, "we initiate with N = 50 synonyms" (Section 3).
        least: cosine below which a word is no synonym.

    Relations: `MaskedProposer` looks at the sentence, this one at the word alone.
    """

    def __init__(self, vectors: WordVectors, *, candidates: int = CANDIDATES, least: float = LEAST) -> None:
        self.vectors = vectors
        self.candidates = int(at_least("candidates", candidates, 1, of="an attack"))
        self.least = between("least", least, -1, 1, of="an attack")
        self._known: dict[str, list[str]] = {}

    def __call__(self, slots: Sequence[Slot]) -> list[list[str]]:
        """Return the neighbors of the word in each slot, nearer ones first."""
        if any(slot.kind != REPLACE for slot in slots):
            raise MirrormaskError("TextFooler only replaces words. Take the mode R, or BAE to insert.")
        found = []
        for slot in slots:
            word = slot.word.lower()
            if word not in self._known:
                self._known[word] = self.vectors.neighbors(word, self.candidates, self.least)
            found.append([in_case_of(each, slot.word) for each in self._known[word]])
        return found
