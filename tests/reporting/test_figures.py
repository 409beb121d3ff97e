from __future__ import annotations

import numpy as np
import pytest

from mirrormask.reporting.drawing import blank, svg
from mirrormask.reporting.figures import bands, bars, canvas, marked_points, ridge, strips


def test_a_canvas_has_one_titled_panel_with_its_grid() -> None:
    for grid, lines in (("x", (True, False)), ("y", (False, True)), ("both", (True, True)), ("", (False, False))):
        with canvas(3, 2, "what one sees", grid=grid, bold=True) as (figure, panel):
            panel.plot([0, 1], [0, 1])
        assert figure.axes == [panel]
        assert figure.get_suptitle() == "what one sees"
        drawn = [any(line.get_visible() for line in axis.get_gridlines()) for axis in (panel.xaxis, panel.yaxis)]
        assert tuple(drawn) == lines


def test_bars_hold_every_value_with_its_interval() -> None:
    rows = {"a": [(50.0, 40.0, 60.0), (70.0, 65.0, 75.0)], "b": [(-5.0, -9.0, -1.0), (5.0, 4.0, 6.0)]}
    (panel,) = bars(["one", "two"], rows, title="t", what="percent", emphasized=["b"]).axes
    assert [bar.get_width() for bar in panel.patches] == [50, 70, -5, 5]
    spans = [tuple(line.get_xdata()) for line in panel.lines if len(line.get_xdata()) == 2]
    assert spans == [(40, 60), (65, 75), (-9, -1), (4, 6)]
    assert panel.get_xlim()[0] <= -9


def test_strips_mark_the_mean_of_the_first_row_through_all() -> None:
    rows = [("base", np.array([1.0, 3.0])), ("other", np.array([4.0, 6.0]))]
    (panel,) = strips(rows, title="t", what="score").axes
    assert panel.lines[0].get_xdata()[0] == 2.0
    assert [tuple(dots.get_offsets()[:, 0]) for dots in panel.collections] == [(1.0, 3.0), (4.0, 6.0)]
    assert [label.get_text() for label in panel.get_yticklabels()] == ["base", "other"]


def test_a_ridge_stands_on_its_line_and_a_constant_is_ticks() -> None:
    panel = blank(3, 3).subplots()
    grid = np.linspace(-1, 1, 50)
    ridge(panel, np.random.default_rng(0).normal(0, 0.2, 100), grid, 2, 5)
    (shape,) = panel.collections
    heights = shape.get_paths()[0].vertices[:, 1]
    assert heights.min() == pytest.approx(2)
    assert heights.max() == pytest.approx(3.4)
    ridge(panel, np.full(9, 0.5), grid, 0, 5)
    assert len(panel.collections) == 1


def test_points_have_a_mark_per_series_and_one_scale() -> None:
    values = [np.array([1.0, 2.0]), np.array([5.0])]
    series = [("a", np.zeros(2), np.ones(2), values[0]), ("<b>", np.ones(1), np.ones(1), values[1])]
    figure = marked_points(series, title="t", axes=("x", "y"), what="score")
    assert {dots.get_clim() for dots in figure.axes[0].collections} == {(1.0, 5.0)}
    assert b"&lt;b&gt;" in svg(figure)


def test_a_band_is_all_that_runs_reach_around_their_mean() -> None:
    panel = blank(3, 3).subplots()
    runs = np.array([[0.0, 1.0], [2.0, 5.0]])
    bands(panel, np.array([1.0, 2.0]), runs, 0, label="a")
    assert panel.lines[0].get_ydata().tolist() == [1.0, 3.0]
    assert len(panel.collections) == 1
    bands(panel, np.array([1.0, 2.0]), runs[:1], 1)
    assert len(panel.collections) == 1, "one run has no band"
