"""Evaluate on the user's own data: scored pairs, query–document pairs or labelled texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.seeding import derive
from mirrormask.evaluation.own.queries import QueryDocuments
from mirrormask.evaluation.own.reading import read_own
from mirrormask.evaluation.own.task import OwnTask
from mirrormask.evaluation.statistics.bootstrap import RESAMPLES
from mirrormask.evaluation.statistics.comparison import Comparison, compare
from mirrormask.evaluation.vectors import Progress, TextVectors


@dataclass(frozen=True)
class OwnReport:
    """What models scored on the user's own data.

    Args:
        task: the data.
        comparison: every metric with its interval, and the differences.
        places: for queries under several models, the place of each one's first right document (models, n).
    """

    task: OwnTask
    comparison: Comparison
    places: NDArray[np.int64] | None = field(default=None, repr=False)

    @property
    def models(self) -> tuple[str, ...]:
        """Return the names of the models."""
        return self.comparison.models

    @property
    def name(self) -> str:
        """Return the file's name without its folders."""
        return Path(self.task.source).name

    def verdicts(self) -> list[str]:
        """Return one sentence for every two models, about the metric that matters most."""
        return self.comparison.verdicts(self.task.primary, self.name)

    def to_dict(self) -> dict[str, Any]:
        """Return the report, JSON-able; every metric is in percent as the keys say."""
        return {
            "file": self.task.source,
            "kind": self.task.kind,
            "unit": self.task.unit,
            "units": self.task.units,
            "primary": self.task.primary,
            "notes": list(self.task.notes),
            **self.comparison.to_dict(),
        }


def score_own(
    task: OwnTask,
    models: Sequence[str],
    vectors: Sequence[TextVectors],
    *,
    resamples: int = RESAMPLES,
    seed: int = 42,
) -> OwnReport:
    """Score models on data whose texts they have already encoded."""
    found = [task.statistics(one, seed=seed) for one in vectors]
    metrics = {metric: [one[metric] for one in found] for metric in found[0]}
    comparison = compare(models, metrics, task.units, resamples=resamples, seed=derive(seed, task.kind))
    places = None
    if isinstance(task, QueryDocuments) and len(vectors) > 1:
        places = np.stack([task.best_places(one) for one in vectors])
    return OwnReport(task, comparison, places)


def evaluate_own(
    encoders: Sequence[Any],
    path: Path | str,
    *,
    kind: str | None = None,
    columns: Mapping[str, str] | None = None,
    names: Sequence[str] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 42,
    progress: Progress | None = None,
) -> OwnReport:
    """Score encoders on a file of the user's own, each different text encoded once.

    Args:
        encoders: SentenceTransformers (or functions from texts to vectors); the first is what others are held against.
        path: a file of scored pairs, query–document pairs or labelled texts.
        kind: "pairs", "retrieval" or "labels"; by default what the columns say.
        columns: the column of each role, where its name does not tell.
        names: what to call the encoders.
        resamples: bootstrap resamples behind every interval.
        seed: decides resamples and folds.
        progress: called as texts are encoded.
    """
    called = list(names) if names is not None else [f"model {number}" for number in range(1, len(encoders) + 1)]
    task = read_own(path, kind=kind, columns=columns)
    vectors = [
        TextVectors.encode(encoder, roles=task.roles(), name=name, progress=progress)
        for encoder, name in zip(encoders, called, strict=True)
    ]
    return score_own(task, called, vectors, resamples=resamples, seed=seed)
