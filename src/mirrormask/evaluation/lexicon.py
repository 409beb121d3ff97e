"""Bilingual lexicon induction: is the translation of a word the nearest word of the other language?

Paper: Liu et al. 2021, "Mirror-BERT", Section 3; the protocol of Glavaš et al. 2019, "How to (Properly) Evaluate
    Cross-Lingual Word Embeddings", with the mapping of Smith et al. 2017, "Offline Bilingual Word Vectors"

    W = U V',  U S V' = X' Y over the dictionary to learn from;  x's translations are ranked by cos(x W, y)

Vectors are brought to length 1, centered and brought to length 1 again, language by language. The candidates are all
translations in both dictionaries. A word's place is that of its best translation, behind all that score the same, so
that vectors that are all alike do not win.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import DataError, one_of
from mirrormask.core.similarity import unit_rows
from mirrormask.data.tasks.bilingual import Dictionary
from mirrormask.evaluation.statistics.bootstrap import RESAMPLES
from mirrormask.evaluation.statistics.comparison import Comparison, compare
from mirrormask.evaluation.statistics.resamples import mean_of
from mirrormask.evaluation.vectors import vectors_of

MAPPINGS = ("orthogonal", "none")
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LexiconReport:
    """How well translations are found.

    Args:
        places: of the best translation of each word among the candidates (n,), 1 is the nearest.
        candidates: how many there are.
        learned_from: pairs that the mapping was fitted on.
        scores: precision at 1, 5 and 10 and the mean reciprocal rank, with intervals.
    """

    places: NDArray[np.int64]
    candidates: int
    learned_from: int
    scores: Comparison

    def to_dict(self) -> dict[str, Any]:
        """Return the report, JSON-able, scores in percent."""
        return {
            "words": len(self.places),
            "candidates": self.candidates,
            "learned_from": self.learned_from,
            "chance_percent": 100 / self.candidates,
            **self.scores.to_dict(),
        }


def induce_lexicon(
    source: Any,
    target: Any,
    test: Dictionary,
    train: Dictionary,
    *,
    mapping: str = "orthogonal",
    name: str = "",
    resamples: int = RESAMPLES,
    seed: int = 42,
) -> LexiconReport:
    """Rank the words of one language for each of another.

    Args:
        source: encoder of the words, or a function from texts to vectors (n, d).
        target: encoder of their translations; the same where one model knows both languages.
        test: what is asked.
        train: what an orthogonal mapping is learned from; words that are asked are left out of it.
        mapping: `orthogonal`, or `none` where both encoders share a space.
        name: what to call the two in tables.
        resamples: bootstrap resamples behind every interval.
        seed: of the resamples.
    """
    one_of("mapping", mapping, MAPPINGS, of="a lexicon")
    learned = [(word, each) for word, each in train.pairs if word not in test.translations]
    words = list(dict.fromkeys([*test.translations, *(word for word, _ in learned)]))
    others = list(dict.fromkeys(each for _, each in [*test.pairs, *train.pairs]))
    x = _standard(vectors_of(source, words, name="the first model"))
    y = _standard(vectors_of(target, others, name="the second model"))
    row, column = ({text: place for place, text in enumerate(texts)} for texts in (words, others))
    if mapping == "orthogonal":
        if not learned:
            raise DataError(
                f"{train.source} has no word that {test.source} does not ask for, so nothing is left to learn from. "
                "Take another, or the mapping none."
            )
        x = x @ orthogonal(x[[row[word] for word, _ in learned]], y[[column[each] for _, each in learned]])
    elif x.shape[1] != y.shape[1]:
        raise DataError(
            f"Without a mapping both models must share a space. Got vectors of {x.shape[1]} and {y.shape[1]} numbers: "
            "take the mapping orthogonal."
        )
    places = np.empty(len(test), dtype=np.int64)
    for number, (word, found) in enumerate(test.translations.items()):
        scores = unit_rows(x[row[word]][None])[0] @ y.T
        places[number] = int((scores >= scores[[column[each] for each in found]].max()).sum())
    metrics = {f"precision_at_{k}_percent": [mean_of((places <= k).astype(np.float64))] for k in (1, 5, 10)}
    metrics["mrr_percent"] = [mean_of(1 / places)]
    scored = compare([name or test.source], metrics, len(test), resamples=resamples, seed=seed)
    return LexiconReport(places, len(others), len(learned) if mapping == "orthogonal" else 0, scored)


def orthogonal(x: Floats, y: Floats) -> Floats:
    """Return the matrix (d, e) with orthonormal rows or columns that brings x (n, d) nearest to y (n, e)."""
    u, _, v = np.linalg.svd(x.T @ y, full_matrices=False)
    found: Floats = u @ v
    return found


def _standard(vectors: NDArray[np.floating]) -> Floats:
    units = unit_rows(np.asarray(vectors, dtype=np.float64))
    return unit_rows(units - units.mean(axis=0))
