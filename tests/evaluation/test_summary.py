from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from mirrormask.data.tasks.scored_pairs import ScoredPairs
from mirrormask.evaluation.geometry import measure_shape
from mirrormask.evaluation.own.own_report import score_own
from mirrormask.evaluation.own.pairs_task import PairsTask
from mirrormask.evaluation.own.queries import QueryDocuments
from mirrormask.evaluation.statistics.bootstrap import Estimate
from mirrormask.evaluation.sts import StsReport, score_tasks
from mirrormask.evaluation.summary import geometry_table, interval, own_table, query_tables, sts_tables, verdicts
from mirrormask.evaluation.vectors import TextVectors
from mirrormask.reporting.page import Section, render
from mirrormask.reporting.tables import Table

LEFT = [f"left {number}" for number in range(40)]
RIGHT = [f"right {number}" for number in range(40)]
SCORES = np.arange(40) / 8
MODELS = ["a", "b", "c"]


@pytest.fixture
def vectors() -> list[TextVectors]:
    random = np.random.default_rng(0)
    return [TextVectors([*LEFT, *RIGHT], random.normal(size=(80, 6)).astype(np.float32)) for _ in MODELS]


def report(vectors: list[TextVectors], subsets: tuple[str, ...] | None, more: tuple[str, ...] = ()) -> StsReport:
    task = ScoredPairs(
        "sts12", "test", tuple(LEFT), tuple(RIGHT), SCORES, subsets, note="a note" if not subsets else ""
    )
    tasks = [task, *(dataclasses.replace(task, name=name, note="") for name in more)]
    return score_tasks(tasks, {"sts16": "absent"}, MODELS[: len(vectors)], vectors, resamples=20)


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
    headline, *aggregations = sts_tables(report(vectors[:count], ("x", "y") * 20, more=("sts13",)))
    assert headline.columns == columns
    assert all(map(square, [headline, *aggregations]))
    assert [row[0] for row in headline.rows] == ["STS12", "STS13", "average"]
    assert [row[1] for row in headline.rows] == ["40", "40", "40"], "both have the same pairs"
    against = "differences are to a; an asterisk is corrected for the number of pairs of models; " if count == 3 else ""
    over = "The average is over STS12, STS13, and its pairs are different ones"
    assert headline.note == f"{over}; {against}skipped, because their data was not found: STS16."
    assert len(aggregations) == count


def test_what_cannot_be_computed_is_a_dash(vectors: list[TextVectors]) -> None:
    headline, aggregations = sts_tables(report(vectors[:1], None))
    assert aggregations.rows[0][2:4] == ("–", "–")
    assert headline.note.endswith("STS12: a note.")


def test_own_data_and_geometry(vectors: list[TextVectors]) -> None:
    task = PairsTask(ScoredPairs("x.csv", "", tuple(LEFT), tuple(RIGHT), SCORES, source="folder/x.csv"))
    table = own_table(score_own(task, MODELS[:2], vectors[:2], resamples=20))
    assert square(table)
    assert [row[0] for row in table.rows] == ["Spearman", "Pearson"]
    assert table.title.startswith("x.csv: 40 pairs")
    shape = geometry_table(measure_shape(task, "x.csv", MODELS, vectors))
    assert square(shape)
    assert len(shape.rows) == 3


def test_one_task_is_no_average(vectors: list[TextVectors]) -> None:
    found = report(vectors[:2], ("x", "y") * 20)
    assert [[row[0] for row in table.rows] for table in sts_tables(found)] == [["STS12"]] * 3
    assert found.average_title == "STS12"
    (said, skipped) = verdicts(("a", "b"), found, None)
    assert "average" not in said
    assert " on STS12" in said
    assert skipped == "Not measured, because their data was not found: STS16."


def test_queries_won_and_lost_are_shown() -> None:
    documents = [f"document {number}" for number in range(12)]
    queries = [f"<b>query</b> {number}\n{'long ' * 30}" for number in range(12)]
    eye = np.eye(12, dtype=np.float32)
    right = TextVectors([*queries, *documents], np.concatenate([eye, eye]))
    turned = eye.copy()
    turned[[0, 1]] = turned[[1, 0]]  # two queries find each other's document
    wrong = TextVectors([*queries, *documents], np.concatenate([turned, eye]))
    task = QueryDocuments("q.csv", queries, documents)
    found = score_own(task, ["first", "second", "third"], [right, wrong, right], resamples=20)
    second, third = query_tables(found)
    assert second.title == "second against first: 0 queries won, 2 lost, 10 unchanged"
    assert {(row[2], row[4]) for row in second.rows} == {("1", "lost")}
    assert all(int(row[3]) > 1 for row in second.rows)
    assert square(second)
    assert all(len(cell) <= 70 and "\n" not in cell for row in second.rows for cell in row)
    assert third.title == "third against first: 0 queries won, 0 lost, 12 unchanged"
    page = render("x", [Section("y", (), (second,))])
    assert "<b>" not in page
    assert "&lt;b&gt;query&lt;/b&gt; 0 long" in page
    assert query_tables(score_own(task, ["first"], [right], resamples=20)) == []


def test_an_interval_in_words() -> None:
    assert interval(Estimate(72.44, 70.06, 74.6)) == "72.4 (70.1–74.6)"
    assert interval(Estimate(-2.0, -4.0, 0.1)) == "−2.0 (−4.0–0.1)"
