"""The geometry of several models on one set of texts, and what its figures are drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.data.sts import STS_TASKS, StsTask
from mirrormask.evaluation.geometry import Geometry, measure_geometry
from mirrormask.evaluation.own_task import OwnTask
from mirrormask.evaluation.pairs import ScoredPairs
from mirrormask.evaluation.vectors import TextVectors

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
    if not isinstance(task, ScoredPairs):
        rule = "every query with each of its documents" if task.kind == "retrieval" else ""
        return GeometryReport(tuple(models), on, rule, tuple(measured))
    rule = f"pairs with a score above {task.positive_above:g}"
    similarities = np.stack([task.similarities(one) for one in vectors])
    return GeometryReport(tuple(models), on, rule, tuple(measured), similarities, task.scores, task.scale)


def pairs_for_shape(tasks: Sequence[StsTask]) -> tuple[ScoredPairs, str]:
    """Return the STS task that geometry is measured on, and its name: STS-B where it is there, else the first."""
    by_name = {task.name: task for task in tasks}
    task = next((by_name[name] for name in _PREFERRED if name in by_name), tasks[0])
    pairs = ScoredPairs(task.source, task.sentence1, task.sentence2, task.scores, scale=(0.0, 5.0))
    return pairs, f"{STS_TASKS[task.name].title} ({task.split})"
