from __future__ import annotations

import numpy as np
import pytest

from mirrormask.data.tasks.sts_tasks import StsTask
from mirrormask.evaluation.geometry import measure_shape
from mirrormask.evaluation.own.report import score_own
from mirrormask.evaluation.own.scored_pairs import ScoredPairs
from mirrormask.evaluation.statistics.bootstrap import Estimate
from mirrormask.evaluation.sts import StsReport, score_tasks
from mirrormask.evaluation.summary import geometry_table, interval, own_table, sts_tables
from mirrormask.evaluation.vectors import TextVectors
from mirrormask.reporting.tables import Table

LEFT = [f"left {number}" for number in range(40)]
RIGHT = [f"right {number}" for number in range(40)]
SCORES = np.arange(40) / 8
MODELS = ["a", "b", "c"]


@pytest.fixture
def vectors() -> list[TextVectors]:
    random = np.random.default_rng(0)
    return [TextVectors([*LEFT, *RIGHT], random.normal(size=(80, 6)).astype(np.float32)) for _ in MODELS]


def report(vectors: list[TextVectors], subsets: tuple[str, ...] | None) -> StsReport:
    task = StsTask("sts12", "test", tuple(LEFT), tuple(RIGHT), SCORES, subsets, note="a note" if not subsets else "")
    return score_tasks([task], {"sts16": "absent"}, MODELS[: len(vectors)], vectors, resamples=20)


def square(table: Table) -> bool:
    return {len(row) for row in table.rows} == {len(table.columns)}


@pytest.mark.parametrize(
    ("count", "columns"),
    [
        (1, ("task", "pairs", "a")),
        (2, ("task", "pairs", "a", "b", "difference", "p")),
        (3, ("task", "pairs", "a", "b", "difference", "c", "difference")),
    ],
)
def test_the_headline_table_for_one_two_and_more_models(
    vectors: list[TextVectors], count: int, columns: tuple[str, ...]
) -> None:
    headline, *aggregations = sts_tables(report(vectors[:count], ("x", "y") * 20))
    assert headline.columns == columns
    assert all(map(square, [headline, *aggregations]))
    assert [row[0] for row in headline.rows] == ["STS12", "average"]
    against = "differences are to a; " if count == 3 else ""
    assert headline.note == f"The average is over STS12; {against}skipped, because their data was not found: STS16."
    assert len(aggregations) == count


def test_what_cannot_be_computed_is_a_dash(vectors: list[TextVectors]) -> None:
    headline, aggregations = sts_tables(report(vectors[:1], None))
    assert aggregations.rows[0][2:4] == ("–", "–")
    assert headline.note.endswith("STS12: a note.")


def test_own_data_and_geometry(vectors: list[TextVectors]) -> None:
    task = ScoredPairs("folder/x.csv", LEFT, RIGHT, SCORES)
    table = own_table(score_own(task, MODELS[:2], vectors[:2], resamples=20))
    assert square(table)
    assert [row[0] for row in table.rows] == ["Spearman", "Pearson"]
    assert table.title.startswith("x.csv: 40 pairs")
    shape = geometry_table(measure_shape(task, "x.csv", MODELS, vectors))
    assert square(shape)
    assert len(shape.rows) == 3


def test_an_interval_in_words() -> None:
    assert interval(Estimate(72.44, 70.06, 74.6)) == "72.4 (70.1–74.6)"
    assert interval(Estimate(-2.0, -4.0, 0.1)) == "−2.0 (−4.0–0.1)"
