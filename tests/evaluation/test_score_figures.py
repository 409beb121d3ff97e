from __future__ import annotations

import numpy as np
import pytest

from mirrormask.evaluation.geometry import Geometry, measure_geometry
from mirrormask.evaluation.score_figures import plane, score_bars, similarity_density, spectrum
from mirrormask.evaluation.statistics.bootstrap import Estimate
from mirrormask.reporting.drawing import svg


@pytest.fixture
def geometries() -> list[Geometry]:
    random = np.random.default_rng(0)
    first, second = random.normal(1, 1, size=(60, 8)), random.normal(size=(60, 8))
    return [measure_geometry(vectors, (vectors[:9], vectors[9:18])) for vectors in (first, second)]


def test_density_has_a_panel_per_model_and_five_groups() -> None:
    random = np.random.default_rng(0)
    scores = random.uniform(0, 5, size=300)
    similarities = np.stack([0.1 * scores + 0.2 * random.normal(size=300), random.uniform(0.8, 1, size=300)])
    figure = similarity_density(["one", "two <x>"], np.clip(similarities, -1, 1), scores)
    assert len(figure.axes) == 2
    assert [tick.get_text() for tick in figure.axes[0].get_yticklabels()] == [
        "0 – 1",
        "1 – 2",
        "2 – 3",
        "3 – 4",
        "4 – 5",
    ]
    assert "one · Spearman" in figure.axes[0].get_title("left") + figure.axes[0].get_title()
    assert b"two &lt;x&gt;" in svg(figure)


def test_density_survives_groups_that_are_empty_or_constant() -> None:
    scores = np.array([0.0] * 10 + [5.0] * 10 + [2.5])
    similarities = np.array([[0.5] * 10 + [0.2, 0.9] * 5 + [0.4]])
    assert svg(similarity_density(["one"], similarities, scores)).startswith(b"<svg")


def test_density_of_many_models_goes_on_in_a_second_row() -> None:
    scores = np.linspace(0, 5, 50)
    figure = similarity_density(list("abcd"), np.tile(scores / 5, (4, 1)), scores)
    assert [panel.get_visible() for panel in figure.axes] == [True] * 4 + [False] * 2


def test_density_takes_any_scale() -> None:
    scores = np.linspace(-1, 1, 50)
    figure = similarity_density(["one"], scores[None, :], scores, scale=(-1, 1))
    assert figure.axes[0].get_yticklabels()[0].get_text() == "−1 – −0.6"


def test_spectrum_overlays_the_models(geometries: list[Geometry]) -> None:
    figure = spectrum(["one", "two"], geometries)
    assert figure.axes[0].get_yscale() == "log"
    assert len(figure.axes[0].lines) == 2
    collapsed = measure_geometry(np.ones((5, 3)))
    assert svg(spectrum(["flat"], [collapsed])).startswith(b"<svg")


def test_plane_shows_every_model_at_its_place(geometries: list[Geometry]) -> None:
    figure = plane(["one", "two"], geometries)
    points = [tuple(dots.get_offsets()[0]) for dots in figure.axes[0].collections]
    assert points == [(one.uniformity, one.alignment) for one in geometries]


def test_bars_have_intervals_and_values() -> None:
    scores = {"first": [Estimate(50, 40, 60), Estimate(70, 65, 75)], "average": [Estimate(55, 50, 60)] * 2}
    figure = score_bars(["one", "two"], scores, title="Scores", emphasized=["average"])
    panel = figure.axes[0]
    assert [bar.get_width() for bar in panel.patches] == [50, 70, 55, 55]
    assert [text.get_text() for text in panel.texts] == ["50.0", "70.0", "55.0", "55.0"]
    assert [label.get_fontweight() for label in panel.get_yticklabels()] == ["normal", "bold"]
    negative = score_bars(["one"], {"x": [Estimate(-5, -9, -1)]}, title="Scores")
    assert negative.axes[0].get_xlim()[0] <= -9
