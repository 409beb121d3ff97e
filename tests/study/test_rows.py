from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.core.storage import read_json, write_json
from mirrormask.study.rows import ORDER, find_rows, keep_order, row_order
from mirrormask.study.run_scores import SCORES

Write = Callable[..., Path]


def test_rows_are_found_at_every_depth(tmp_path: Path, write_row: Write) -> None:
    write_row(tmp_path, "b", [2, 1], noise=1.0)
    write_row(tmp_path, "a", [1], noise=2.0)
    whole = find_rows([tmp_path])
    assert [(row.name, [run.seeds[0] for run in row.runs]) for row in whole] == [("a", [1]), ("b", [1, 2])]
    assert [row.name for row in find_rows([tmp_path / "b", tmp_path / "a"])] == ["b", "a"], "in the order given"
    (one,) = find_rows([tmp_path / "b" / "seed-2"])
    assert [run.seeds for run in one.runs] == [(2, 2, 2)]
    twice = find_rows([tmp_path / "b", tmp_path])
    assert [len(row.runs) for row in twice] == [2, 1], "a run named twice is one run"


def test_a_row_knows_its_scores(tmp_path: Path, write_row: Write) -> None:
    (row,) = find_rows([write_row(tmp_path, "a", [1, 2, 3], noise=1.0)])
    scores = row.scores(["sts12", "stsb"])
    assert scores.shape == (3, 2)
    assert row.averages(["sts12", "stsb"]).tolist() == scores.mean(axis=1).tolist()
    assert [run.seeds[0] for run in row.only([(3, 3, 3), (1, 1, 1)]).runs] == [3, 1]
    assert row.task_pairs(["stsb"])["stsb"].cosines.shape == (3, 60)
    assert row.runs[0].metrics[0]["step"] == 1, "evaluations are left out"


def test_what_cannot_be_a_row(tmp_path: Path, write_row: Write, write_run: Write) -> None:
    with pytest.raises(DataError, match=r"There is no folder .*/nothing"):
        find_rows([tmp_path / "nothing"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="holds no run with scores. Runs to compare come from 'mirrormask run"):
        find_rows([tmp_path / "empty"])
    write_row(tmp_path / "x", "a", [1], noise=1.0)
    write_row(tmp_path / "y", "a", [1], noise=2.0)
    with pytest.raises(MirrormaskError, match="are the same row and seed. Name only one of them"):
        find_rows([tmp_path / "x", tmp_path / "y"])
    write_run(tmp_path / "x" / "a" / "seed-2", "a", 2, noise=1.0, temperature=0.1)
    with pytest.raises(MirrormaskError, match=r"differ in more than their seeds \(method\). Compare them as rows"):
        find_rows([tmp_path / "x"])


def test_runs_on_different_text_are_no_row(tmp_path: Path, write_row: Write) -> None:
    row = write_row(tmp_path, "a", [1, 2], noise=1.0)
    for seed in (1, 2):
        file = row / f"seed-{seed}" / SCORES
        write_json(file, {**read_json(file), "data": f"text {seed}"})
    with pytest.raises(MirrormaskError, match="learned from different text under one name. Repeat one of them"):
        find_rows([tmp_path])


def test_rows_of_a_folder_come_as_their_recipes_were_named(tmp_path: Path, write_row: Write) -> None:
    for name in ("apple", "berry", "cherry", "date"):
        write_row(tmp_path, name, [1], noise=1.0)
    keep_order(tmp_path, ["cherry", "apple", "cherry"])
    keep_order(tmp_path, ["berry", "apple"])
    assert row_order(tmp_path) == ["cherry", "apple", "berry"], "an earlier command's come first"
    assert [row.name for row in find_rows([tmp_path])] == ["cherry", "apple", "berry", "date"]
    (tmp_path / ORDER).write_text("[1, 2")
    assert [row.name for row in find_rows([tmp_path])] == ["apple", "berry", "cherry", "date"], "no order is kept"
