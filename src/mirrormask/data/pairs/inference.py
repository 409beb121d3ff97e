"""Inference: sentence pairs with a label make triplets, what a premise entails and what contradicts it.

Paper: Gao et al. 2021, "SimCSE: Simple Contrastive Learning of Sentence Embeddings", Section 4: "for one premise, there
    are one entailment hypothesis and one contradiction hypothesis"

    example of row i with the label `positive` = (premise, hypothesis, a hypothesis of that premise with `negative`)
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.batch import Ids
from mirrormask.core.errors import DataError
from mirrormask.core.seeding import derive, integers, uniforms
from mirrormask.data.pairs import Examples, Pairing, Rows, pairings
from mirrormask.data.text.corpus_folder import Corpus
from mirrormask.data.text.tokens import Tokenized

_BLOCK = 1 << 16


@pairings.register("inference")
class Inference(Pairing):
    """The premise, a hypothesis that follows and one that contradicts, of rows of premise, hypothesis and label.

    Args:
        positive: label of the hypotheses that are positives.
        negative: label of those that are hard negatives, one of the premise's own drawn for each example and epoch.
        fill: let premises that lack one of the two take part too: without a hard negative with one of another premise,
            without a positive with themselves, seen twice.
    """

    def __init__(self, positive: str = "entailment", negative: str = "contradiction", fill: bool = False) -> None:
        self.positive = positive
        self.negative = negative
        self.fill = fill

    def index(self, corpus: Corpus, tokens: Tokenized, folder: Path) -> Examples:
        """Return one example for every row whose label is the positive one."""
        if corpus.width != 3:
            raise DataError(
                "The pairing 'inference' takes three columns, premise, hypothesis and label, and the corpus has "
                f"{corpus.width}. Name them in this order."
            )
        premises, labels = _numbers(corpus)
        for label in (self.positive, self.negative):
            if label not in labels:
                known = ", ".join(sorted(labels)[:5])
                raise DataError(f"No row has the label {label!r}. The labels are {known}: name one of them.")
        follows, contradicts = labels[self.positive], labels[self.negative]
        order = np.argsort(premises[contradicts], kind="stable")
        contradicts = contradicts[order]
        groups = premises[contradicts]
        first, end = (np.searchsorted(groups, premises, side=side) for side in ("left", "right"))
        if self.fill:
            alone = np.setdiff1d(contradicts, contradicts[np.isin(groups, premises[follows])])
            _, kept = np.unique(premises[alone], return_index=True)
            anchors = np.concatenate([follows, alone[kept]])
            itself = np.arange(len(anchors)) >= len(follows)
            lacking = first[anchors] == end[anchors]
            first, end = (np.where(lacking, 0, first[anchors]), np.where(lacking, len(contradicts), end[anchors]))
        else:
            anchors = follows[first[follows] < end[follows]]
            itself = np.zeros(len(anchors), dtype=np.bool_)
            first, end = first[anchors], end[anchors]
        if len(anchors) < 2:
            raise DataError(
                f"The pairing 'inference' found {len(anchors)} premises with a hypothesis of both labels, and at least "
                "2 are needed. Give more rows, or set fill=true."
            )
        return _Triplets(tokens, anchors, itself, contradicts, first, end, premises)


class _Triplets(Examples):
    """Premise, hypothesis or the premise itself, and a hard negative drawn from a range of rows."""

    def __init__(
        self,
        tokens: Tokenized,
        anchors: Rows,
        itself: NDArray[np.bool_],
        contradicts: Rows,
        first: Rows,
        end: Rows,
        premises: Rows,
    ) -> None:
        self._tokens = tokens
        self._anchors = anchors
        self._itself = itself
        self._contradicts = contradicts
        self._first, self._end = first, end
        self._premises = premises[anchors]

    def __len__(self) -> int:
        return len(self._anchors)

    def columns(self, examples: Rows, seed: int) -> tuple[list[Ids], ...]:
        """Return premises, positives and hard negatives."""
        rows = self._anchors[examples]
        chance = uniforms(derive(seed, "inference"), examples)
        hard = self._contradicts[integers(self._first[examples], self._end[examples] - 1, chance)]
        premises = self._tokens.take(rows.tolist(), 0)
        positives = self._tokens.take(rows.tolist(), 1)
        for place in np.flatnonzero(self._itself[examples]).tolist():
            positives[place] = premises[place]
        return premises, positives, self._tokens.take(hard.tolist(), 1)

    def sharing(self, examples: Rows) -> Rows:
        """Return all examples with a premise of the given ones."""
        return np.flatnonzero(np.isin(self._premises, self._premises[examples]))


def _numbers(corpus: Corpus) -> tuple[Rows, dict[str, Rows]]:
    """Return a number for the premise of each row (n,), and the rows of each label."""
    seen: dict[str, int] = {}
    premises = np.empty(len(corpus), dtype=np.int64)
    labels: dict[str, list[int]] = {}
    for start in range(0, len(corpus), _BLOCK):
        for row, premise in enumerate(corpus.column(0, start, start + _BLOCK), start):
            premises[row] = seen.setdefault(premise, len(seen))
        for row, label in enumerate(corpus.column(2, start, start + _BLOCK), start):
            labels.setdefault(label, []).append(row)
    return premises, {label: np.array(rows, dtype=np.int64) for label, rows in labels.items()}
