"""Words out of characters: two neighbors that hardly feel each other's mask stand in different words.

    correlation of neighbors = (F(i, i+1) + F(i+1, i)) / 2

A boundary is put where it falls below a threshold, which is chosen without labels (see `thresholds`) or on a
development set. What writing itself shows may be used as well (`typography`): a punctuation mark is a word, and a run
of Latin letters or of digits is one. That is no label, but it is no merit of the model either, so the baselines are
scored with and without it.

Paper: Wu et al. 2020, "Perturbed Masking"; the segmentation is Su Jianlin's use of it
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import MirrormaskError, at_least, one_of
from mirrormask.core.seeding import generator
from mirrormask.probing.boundary_scores import WordCounts
from mirrormask.probing.thresholds import best_threshold, mean_length, mixture, otsu
from mirrormask.probing.typography import cut_at, typographic

Matrix = NDArray[np.floating[Any]]
Floats = NDArray[np.float64]

RULES = ("otsu", "mixture", "mean-length", "fixed")
CHINESE_LENGTH = 1.6
"""Characters of a word in running Chinese text, roughly."""


@dataclass(frozen=True)
class Segmenter:
    """How neighbors become words.

    Args:
        rule: how the threshold is found: `otsu`, `mixture`, `mean-length` or `fixed`.
        value: the mean length asked for by `mean-length`, or the threshold of `fixed`.
        per_line: standardize the numbers of each line first, so that only their order within it and their spread count.
        typography: set punctuation apart, and keep runs of Latin letters and of digits whole.

    Example:
        >>> Segmenter(rule="fixed", value=2.0).cut("今天下雨", np.array([5.0, 1.0, 4.0]), 2.0)
        ['今天', '下雨']
    """

    rule: str = "mean-length"
    value: float = CHINESE_LENGTH
    per_line: bool = False
    typography: bool = True

    def __post_init__(self) -> None:
        one_of("rule", self.rule, RULES, of="a segmenter")
        if self.rule == "mean-length":
            at_least("value", self.value, 1, of="the rule mean-length")

    def threshold(self, lines: Sequence[Floats], texts: Sequence[str]) -> float:
        """Return the threshold for these lines, from their neighbors' correlations alone."""
        free = [values[self.forced(text) == 0] for values, text in zip(map(self.scaled, lines), texts, strict=True)]
        values = np.concatenate(free) if free else np.zeros(0)
        if self.rule == "fixed":
            return self.value
        if len(values) < 2:
            return float("-inf")  # nothing to decide
        if self.rule == "mean-length":
            fixed = sum(int((self.forced(text) == 1).sum()) + bool(text) for text in texts)
            characters = sum(map(len, texts))
            wanted = min(max(characters / self.value - fixed, 0.0), float(len(values)))
            return mean_length(values, 0, len(values) / max(wanted, 0.5))
        return {"otsu": otsu, "mixture": mixture}[self.rule](values)

    def cut(self, text: str, values: Floats, threshold: float) -> list[str]:
        """Return the words of a line, given the correlation of every two neighbors (n - 1,)."""
        forced = self.forced(text)
        boundary = np.where(forced == 0, self.scaled(values) < threshold, forced == 1)
        return cut_at(text, boundary)

    def scaled(self, values: Floats) -> Floats:
        """Return the correlations of a line as the threshold sees them."""
        if not self.per_line or len(values) < 2:
            return values
        deviation = values.std()
        found: Floats = (values - values.mean()) / (deviation if deviation > 0 else 1.0)
        return found

    def forced(self, text: str) -> NDArray[np.int64]:
        """Return where writing decides (n - 1,): 1 apart, -1 together, 0 nothing."""
        return typographic(text) if self.typography else np.zeros(max(len(text) - 1, 0), dtype=np.int64)


DEFAULT_SEGMENTER = Segmenter()


def neighbors(matrix: Matrix) -> Floats:
    """Return the correlation of every two neighboring units of an impact matrix (n - 1,).

    Example:
        >>> neighbors(np.array([[0.0, 4.0, 0.0], [2.0, 0.0, 1.0], [0.0, 3.0, 0.0]])).tolist()
        [3.0, 2.0]
    """
    wide = np.asarray(matrix, dtype=np.float64)
    found: Floats = (wide.diagonal(1) + wide.diagonal(-1)) / 2
    return found


@dataclass(frozen=True)
class SegmentationResult:
    """Scores of the induced words and of every baseline.

    Args:
        lines: how many were scored.
        segmenter: how words were cut.
        threshold: below it, neighbors were cut apart.
        scores: segmentation → score → value.
    """

    lines: int
    segmenter: dict[str, Any]
    threshold: float
    scores: dict[str, dict[str, float]]

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {"task": "segmentation", **asdict(self)}


def segment(
    texts: Sequence[str],
    matrices: Iterable[Matrix],
    segmenter: Segmenter = DEFAULT_SEGMENTER,
    *,
    threshold: float | None = None,
) -> tuple[list[list[str]], float]:
    """Return the words of each text, and the threshold.

    Args:
        texts: lines, or clauses of lines.
        matrices: the impact matrix over the characters of each; only neighbors are kept, so memory is that of text.
        segmenter: how to cut.
        threshold: where to cut, for example of `threshold_of_dev`; by default the segmenter's rule finds it.
    """
    kept = list(_checked(texts, matrices))
    found = segmenter.threshold(kept, texts) if threshold is None else threshold
    return [segmenter.cut(text, values, found) for text, values in zip(texts, kept, strict=True)], found


def threshold_of_dev(
    gold: Sequence[Sequence[str]], matrices: Iterable[Matrix], segmenter: Segmenter = DEFAULT_SEGMENTER
) -> float:
    """Return the threshold that gets most boundaries of segmented lines right: the one rule that looks at labels."""
    texts = ["".join(words) for words in gold]
    values, real = [], []
    for text, words, line in zip(texts, gold, _checked(texts, matrices), strict=True):
        starts = np.cumsum([len(word) for word in words])[:-1]
        free = segmenter.forced(text) == 0
        values.append(segmenter.scaled(line)[free])
        real.append(np.isin(np.arange(1, len(text)), starts)[free])
    return best_threshold(np.concatenate(values), np.concatenate(real))


def _checked(texts: Sequence[str], matrices: Iterable[Matrix]) -> Iterator[Floats]:
    for number, (text, matrix) in enumerate(zip(texts, matrices, strict=True), 1):
        if matrix.shape != (len(text), len(text)):
            raise MirrormaskError(
                f"The impact matrix of line {number} must have a row and a column for each of its {len(text)} "
                f"characters. Got shape {matrix.shape}."
            )
        yield neighbors(matrix)


def score_segmentation(
    gold: Sequence[Sequence[str]],
    words: Sequence[Sequence[str]],
    segmenter: Segmenter,
    threshold: float,
    *,
    seed: int = 42,
) -> SegmentationResult:
    """Return the scores of segmented lines beside single characters and random boundaries of the gold mean length.

    Args:
        gold: the words of each line.
        words: the words each line was cut into.
        segmenter, threshold: how they were cut, for the record.
        seed: of the random boundaries.
    """
    rng = generator(seed, "random boundaries")
    gaps = sum(max(sum(map(len, line)) - 1, 0) for line in gold)
    share = sum(max(len(line) - 1, 0) for line in gold) / max(gaps, 1)
    counts: dict[str, WordCounts] = {}
    total = 0
    for line, found in zip(gold, words, strict=True):
        text = "".join(line)
        if not text:
            continue
        if "".join(found) != text:
            raise MirrormaskError(f"Line {total + 1} was cut into words of another text: {''.join(found)[:30]!r}.")
        chance = rng.random(len(text) - 1) < share
        forced = typographic(text)
        cuts = {
            "single characters": np.ones(len(text) - 1, dtype=bool),
            "random boundaries": chance,
            "single characters, typography": forced >= 0,
            "random boundaries, typography": np.where(forced == 0, chance, forced == 1),
        }
        counts.setdefault("induced", WordCounts()).add(found, line)
        for name, boundary in cuts.items():
            counts.setdefault(name, WordCounts()).add(cut_at(text, boundary), line)
        total += 1
    scores = {name: each.scores() for name, each in counts.items()}
    return SegmentationResult(total, asdict(segmenter), threshold, scores)


def probe_segmentation(
    gold: Sequence[Sequence[str]],
    matrices: Iterable[Matrix],
    segmenter: Segmenter = DEFAULT_SEGMENTER,
    *,
    threshold: float | None = None,
    seed: int = 42,
) -> SegmentationResult:
    """Return the scores of lines segmented by their matrices, beside the baselines.

    Args:
        gold: the words of each line; none may be empty.
        matrices: the impact matrix over the characters of each, in the same order; one is held at a time.
        segmenter: how to cut.
        threshold: of a development set; by default the segmenter's rule finds one without labels.
        seed: of the random boundaries.
    """
    words, found = segment(["".join(line) for line in gold], matrices, segmenter, threshold=threshold)
    return score_segmentation(gold, words, segmenter, found, seed=seed)
