"""The shape of a set of sentence vectors: alignment, uniformity, anisotropy and singular values.

Paper: Wang & Isola 2020, "Understanding Contrastive Representation Learning through Alignment and Uniformity on the
    Hypersphere", Eqs. 1–2; Ethayarajh 2019, "How Contextual are Contextualized Word Representations?" (anisotropy);
    Roy & Vetterli 2007, "The Effective Rank". All are defined for vectors of length 1, so vectors are normalized first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import DataError
from mirrormask.core.seeding import generator
from mirrormask.core.similarity import unit_rows
from mirrormask.data.tasks.scored_pairs import ScoredPairs
from mirrormask.data.tasks.sts_tasks import STS_TASKS
from mirrormask.evaluation.own.pairs_task import PairsTask, similarities
from mirrormask.evaluation.own.task import OwnTask
from mirrormask.evaluation.vectors import TextVectors

SAMPLE = 10_000
"""Texts beyond which uniformity is measured on a random sample of so many; all their pairs are still used."""

SPECTRUM_OF = "unit vectors, not centered, largest = 1"

_BLOCK = 2048


@dataclass(frozen=True)
class Geometry:
    """The geometry of one model's vectors on one set of texts.

    Args:
        texts: number of different texts.
        positives: number of positive pairs behind the alignment.
        alignment: mean squared distance of positive pairs, 0 to 4, lower is better; None without positives.
        uniformity: log of the mean Gaussian potential of all pairs; 0 for one single direction, about −4 where all are
            used evenly, lower is better.
        anisotropy: mean cosine of two different texts; 0 where directions are used evenly, 1 where all are one.
        effective_rank: how many directions the vectors really use, 1 to their width.
        spectrum: singular values, largest = 1.
    """

    texts: int
    positives: int
    alignment: float | None
    uniformity: float
    anisotropy: float
    effective_rank: float
    spectrum: NDArray[np.float64] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures, JSON-able."""
        return {
            "alignment": self.alignment,
            "uniformity": self.uniformity,
            "anisotropy": self.anisotropy,
            "effective_rank": self.effective_rank,
            "width": len(self.spectrum),
            "singular_values_of": SPECTRUM_OF,
            "singular_values": [float(value) for value in self.spectrum],
        }


def measure_geometry(
    vectors: NDArray[np.floating],
    positives: tuple[NDArray[np.floating], NDArray[np.floating]] | None = None,
    *,
    seed: int = 42,
) -> Geometry:
    """Measure the vectors of different texts (n, d), and the two sides of positive pairs (p, d) each where given."""
    if len(vectors) < 2:
        raise DataError(f"Geometry needs at least 2 different texts. Got {len(vectors)}.")
    pairs = 0 if positives is None else len(positives[0])
    spectrum = singular_values(vectors)
    return Geometry(
        texts=len(vectors),
        positives=pairs,
        alignment=alignment(*positives) if positives is not None and pairs else None,
        uniformity=uniformity(vectors, sample=SAMPLE, seed=seed),
        anisotropy=anisotropy(vectors),
        effective_rank=effective_rank(spectrum),
        spectrum=spectrum,
    )


def alignment(left: NDArray[np.floating], right: NDArray[np.floating]) -> float:
    """Return the mean squared distance of positive pairs, row i of one belonging to row i of the other.

    Example:
        >>> round(alignment(np.array([[2.0, 0.0]]), np.array([[0.0, 3.0]])), 4)
        2.0
    """
    total = sum(float(np.sum((unit_rows(left[rows]) - unit_rows(right[rows])) ** 2)) for rows in _blocks(len(left)))
    return total / len(left)


def uniformity(
    vectors: NDArray[np.floating], *, temperature: float = 2.0, sample: int | None = None, seed: int = 42
) -> float:
    """Return the log of the mean of exp(−t ‖x − y‖²) over all pairs of different rows, in blocks.

    Args:
        vectors: one vector per text (n, d).
        temperature: the paper's t.
        sample: use at most so many rows, drawn at random; None uses all, n² / 2 pairs of them.
        seed: decides the sample.

    Example:
        >>> round(uniformity(np.array([[1.0, 0.0], [-1.0, 0.0]])), 4)
        -8.0
    """
    if sample is not None and len(vectors) > sample:
        vectors = vectors[generator(seed, "uniformity").choice(len(vectors), sample, replace=False)]
    units = unit_rows(vectors).astype(np.float32)  # the products dominate; sums below are float64
    squares = np.einsum("nd,nd->n", units, units, dtype=np.float64)
    total = 0.0
    for rows in _blocks(len(units)):
        for columns in _blocks(len(units), start=rows.start):
            distance = squares[rows, None] + squares[None, columns] - 2.0 * (units[rows] @ units[columns].T)
            potential = np.exp(-temperature * np.maximum(distance, 0.0))
            if rows == columns:
                np.fill_diagonal(potential, 0.0)
                total += float(potential.sum()) / 2
            else:
                total += float(potential.sum())
    return math.log(total / (len(units) * (len(units) - 1) / 2))


def anisotropy(vectors: NDArray[np.floating]) -> float:
    """Return the mean cosine of all pairs of different rows, exactly and in one pass.

    The sum of all cosines is the squared length of the sum of the unit vectors.

    Example:
        >>> anisotropy(np.array([[1.0, 0.0], [2.0, 0.0], [-3.0, 0.0]])).__round__(4)
        -0.3333
    """
    total = np.zeros(vectors.shape[1])
    own = 0.0
    for rows in _blocks(len(vectors)):
        units = unit_rows(vectors[rows])
        total += units.sum(axis=0)
        own += float(np.sum(units * units))
    return (float(total @ total) - own) / (len(vectors) * (len(vectors) - 1))


def singular_values(vectors: NDArray[np.floating], *, centered: bool = False) -> NDArray[np.float64]:
    """Return the singular values of the unit vectors (d,), largest first and divided by it.

    They come from the d × d products of the columns, so that any number of rows fits.

    Args:
        vectors: one vector per text (n, d).
        centered: subtract the mean vector first, which hides how much all vectors share one direction.
    """
    width = vectors.shape[1]
    products, total = np.zeros((width, width)), np.zeros(width)
    for rows in _blocks(len(vectors)):
        units = unit_rows(vectors[rows])
        products += units.T @ units
        total += units.sum(axis=0)
    if centered:
        products -= np.outer(total, total) / len(vectors)
    values: NDArray[np.float64] = np.sqrt(np.maximum(np.linalg.eigvalsh(products)[::-1], 0.0))
    return values / values[0] if values[0] > 0 else values


def effective_rank(spectrum: NDArray[np.float64]) -> float:
    """Return the exponential of the entropy of the singular values taken as shares.

    Example:
        >>> effective_rank(np.array([1.0, 1.0, 1.0, 0.0])).__round__(4)
        3.0
    """
    total = float(spectrum.sum())
    shares = spectrum[spectrum > 0] / total if total > 0 else np.ones(1)
    return float(np.exp(-np.sum(shares * np.log(shares))))


def _blocks(count: int, start: int = 0) -> Iterator[slice]:
    return (slice(begin, min(begin + _BLOCK, count)) for begin in range(start, count, _BLOCK))


_PREFERRED = ("stsb", "stsb-dev")  # what the SimCSE paper draws its figures from


@dataclass(frozen=True)
class GeometryReport:
    """What several models' vectors look like on the same texts.

    Args:
        models: names.
        on: what was measured on.
        positives: which pairs count as positive, in words; empty without.
        measured: one geometry per model.
        similarities: cosine of scored pairs under each model (models, n), where there are scores.
        scores: gold scores of these pairs (n,).
        scale: lowest and highest possible score.
    """

    models: tuple[str, ...]
    on: str
    positives: str
    measured: tuple[Geometry, ...]
    similarities: NDArray[np.float64] | None = field(default=None, repr=False)
    scores: NDArray[np.float64] | None = field(default=None, repr=False)
    scale: tuple[float, float] = (0.0, 5.0)

    def to_dict(self) -> dict[str, Any]:
        """Return the report, JSON-able."""
        first = self.measured[0]
        return {
            "on": self.on,
            "texts": first.texts,
            "positive_pairs": first.positives,
            "positives": self.positives,
            "models": {name: found.to_dict() for name, found in zip(self.models, self.measured, strict=True)},
        }


def measure_shape(
    task: OwnTask, on: str, models: Sequence[str], vectors: Sequence[TextVectors], *, seed: int = 42
) -> GeometryReport:
    """Measure the vectors of all different texts of a task, and of its positive pairs where it has any."""
    measured = []
    for one in vectors:
        different = [one.of(list(dict.fromkeys(texts)), role) for role, texts in task.roles().items()]
        measured.append(measure_geometry(np.concatenate(different), task.positives(one), seed=seed))
    if not isinstance(task, PairsTask):
        rule = "every query with each of its documents" if task.kind == "retrieval" else ""
        return GeometryReport(tuple(models), on, rule, tuple(measured))
    pairs = task.pairs
    rule = f"pairs with a score above {pairs.positive_above:g}"
    cosines = np.stack([similarities(pairs, one) for one in vectors])
    return GeometryReport(tuple(models), on, rule, tuple(measured), cosines, pairs.scores, pairs.limits)


def pairs_for_shape(tasks: Sequence[ScoredPairs]) -> tuple[PairsTask, str]:
    """Return the STS task that geometry is measured on, and its name: STS-B where it is there, else the first."""
    by_name = {task.name: task for task in tasks}
    task = next((by_name[name] for name in _PREFERRED if name in by_name), tasks[0])
    return PairsTask(task), f"{STS_TASKS[task.name].title} ({task.split})"
