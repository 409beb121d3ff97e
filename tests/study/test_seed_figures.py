from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mirrormask.study.compare import AVERAGE, compare_rows
from mirrormask.study.rows import find_rows
from mirrormask.study.seed_figures import cosines_of, draw_comparison, multiples_of, seed_strips, training_cosines

Write = Callable[..., Path]
PNG = b"\x89PNG"


@pytest.fixture
def study(tmp_path: Path, write_row: Write) -> Path:
    write_row(tmp_path / "runs", "base", [1, 2, 3], noise=2.0)
    for multiple in (4.0, 1.0, 2.0):
        negatives = {"type": "Gaussian", "multiple": multiple, "mean": "batch"}
        write_row(tmp_path / "runs", f"x{multiple:g}", [1, 2, 3], noise=1.9 - multiple / 10, negatives=negatives)
    return tmp_path / "runs"


def test_every_figure_is_drawn(study: Path, tmp_path: Path) -> None:
    found = compare_rows(find_rows([study]), resamples=0)
    drawn = draw_comparison(found, tmp_path / "figures", names={"base": "the $ base"})
    assert [path.name for path in drawn] == ["seeds.png", "alignment-uniformity.png", "cosines.png", "negatives.png"]
    assert all(path.read_bytes()[:4] == PNG for path in drawn)


def test_what_there_is_nothing_of_is_not_drawn(tmp_path: Path, write_row: Write) -> None:
    write_row(tmp_path / "runs", "base", [1], noise=2.0, logged=False)
    found = compare_rows(find_rows([tmp_path / "runs"]))
    assert [path.name for path in draw_comparison(found, tmp_path)] == ["seeds.png", "alignment-uniformity.png"]


def test_strips_show_every_seed(study: Path) -> None:
    found = compare_rows(find_rows([study]), resamples=0)
    (panel,) = seed_strips(found).axes
    for place, row in enumerate(found.rows):
        points = panel.collections[place].get_offsets()
        np.testing.assert_allclose(points[:, 0], found.values(row, AVERAGE))
        assert set(points[:, 1]) == {place}


def test_cosines_are_those_of_the_log(study: Path, tmp_path: Path, write_row: Write) -> None:
    row = find_rows([study / "base"])[0]
    steps, positive, negative = cosines_of(row) or pytest.fail("they were logged")
    assert steps.tolist() == list(range(1, 40))
    assert positive.shape == negative.shape == (3, 39)
    assert positive[0, 9] == pytest.approx(row.runs[0].metrics[9]["positive_cosine"])
    (panel,) = training_cosines([row]).axes
    np.testing.assert_allclose(panel.lines[1].get_ydata(), negative.mean(axis=0))
    (silent,) = find_rows([write_row(tmp_path / "more", "silent", [1], noise=1.0, logged=False)])
    assert cosines_of(silent) is None


def test_rows_that_differ_in_number_alone_make_a_series(study: Path, write_row: Write) -> None:
    write_row(study, "other", [1], noise=1.0, negatives={"type": "Mixture", "multiple": 1.0})
    ((kind, series),) = multiples_of(find_rows([study])).items()
    assert kind == "Gaussian, batch"
    assert [(multiple, row.name) for multiple, row in series] == [(1.0, "x1"), (2.0, "x2"), (4.0, "x4")]
