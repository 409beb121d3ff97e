"""The recipes of the study: every row of the thesis has one, and its published numbers add up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mirrormask.methods import methods
from mirrormask.runs.recipe import build_recipe, read_recipe
from mirrormask.study.gathering import published
from mirrormask.study.study_file import read_study

ROOT = Path(__file__).parents[2]
RECIPES = sorted((ROOT / "recipes" / "study").glob("*.toml"))
STUDY = read_study(ROOT / "docs" / "results" / "simcse-study.toml")

TASKS = ("sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sickr")

ROWS = {"Table 2": 6, "Table 3": 5, "Table 4": 5, "Table 5": 7, "Table 7": 4}
"""Rows of the tables of the thesis besides the baseline."""


def test_every_row_has_a_recipe_and_every_recipe_a_row() -> None:
    rows = {row for row in STUDY.rows if row not in ("simcse-order", "simcse-dropout")}
    assert rows == {path.stem for path in RECIPES}
    assert {table.label: len(table.rows) for table in STUDY.tables if table.label in ROWS} == ROWS
    assert set(STUDY.names) == set(STUDY.rows)
    for label in ROWS:
        for table in STUDY.tables:
            if table.label == label:
                assert all((ROOT / STUDY.recipes / f"{row}.toml").is_file() for row in table.rows)
                assert all("expect" in (ROOT / STUDY.recipes / f"{row}.toml").read_text() for row in table.rows)


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
class TestRecipe:
    def test_parses_and_differs_from_the_baseline_in_its_row_alone(self, path: Path) -> None:
        recipe, base = read_recipe(path), read_recipe(ROOT / STUDY.recipes / "simcse.toml")
        assert recipe.evaluation.tasks == base.evaluation.tasks
        assert recipe.model == base.model
        if recipe.evaluation.untrained:
            return
        assert recipe.data == base.data
        if path.stem == "larger-batch":
            seen = [each.training["batch_size"] * each.training["steps"] for each in (recipe, base)]
            assert seen[0] == seen[1]
        else:
            assert recipe.training == base.training
            assert path.stem == "simcse" or recipe.method.parameters != base.method.parameters

    def test_first_line_is_the_command(self, path: Path) -> None:
        assert path.read_text().splitlines()[0] == f"# mirrormask run recipes/study/{path.name}"

    def test_published_numbers_add_up(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(ROOT)
        numbers = published(STUDY, path.stem)
        if numbers:
            mean = sum(numbers[task] for task in TASKS) / len(TASKS)
            assert numbers["average"] == pytest.approx(mean, abs=0.06)


@pytest.mark.parametrize("path", [p for p in RECIPES if p.stem != "untrained"], ids=lambda path: path.stem)
def test_every_row_trains(path: Path, tiny_folder: Path, sentences: list[str], tmp_path: Path) -> None:
    """Two steps of each on a tiny model."""
    from mirrormask.runs.runner import run_recipe

    recipe = read_recipe(path)
    tables: dict[str, Any] = {
        "model": {"name": str(tiny_folder), "pooling": recipe.model.pooling},
        "method": {"name": recipe.method.name, **recipe.method.parameters},
        "training": {"steps": 2, "batch_size": 8, "precision": "fp32", "max_length": 16},
    }
    done = run_recipe(build_recipe(tables), tmp_path / "run", source=sentences[:60])
    assert done.record["result"]["steps"] == 2
    assert done.record["parts"]["negatives"] is None or "negatives" in recipe.method.parameters
    assert (
        methods.build(recipe.method.name, **recipe.method.parameters).record()["views"] == done.record["parts"]["views"]
    )


def test_the_pipeline_from_recipes_to_the_page(
    tiny_folder: Path, sentences: list[str], tmp_path: Path, sts_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recipes times seeds, run, compared and written, on a tiny model."""
    from mirrormask.study.gathering import gather
    from mirrormask.study.grid import plan_runs, run_grid
    from mirrormask.study.study_page import write_study

    monkeypatch.chdir(ROOT)
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(sentences[:60]))
    changes = [f"model.name={tiny_folder}", f"data.corpus={corpus}", "steps=2", "batch_size=8", "max_length=16"]
    changes += ["precision=fp32", "evaluation.tasks=['stsb','stsb-dev']"]
    names = ("untrained", "simcse", "gaussian", "gaussian-x2")
    rows = {name: read_recipe(f"recipes/study/{name}.toml", changes) for name in names}
    ended = list(run_grid(plan_runs(rows, [1, 2], tmp_path / "runs", keep_models=False)))
    assert {each.status for each in ended} == {"done"}, [each.error for each in ended]
    list(run_grid(plan_runs({"simcse": rows["simcse"]}, [1, 2], tmp_path / "runs", vary=["order"])))
    found = gather(STUDY, [tmp_path / "runs"], resamples=50)
    assert set(found.rows) == {*names, "simcse-order"}
    page = write_study(found, tmp_path / "out", command="mirrormask study")[0].read_text()
    for said in ("5 of 36 rows are here", "not trained", "N(μ, σ), 2 × batch", "Figure 9", "precision fp32"):
        assert said in page
    assert "**Missing:** SAM" not in page
    assert "label smoothing; SAM" in page


@pytest.mark.parametrize("name", ["simcse-study", "default-method"])
def test_the_pages_say_what_their_records_hold(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mirrormask.study.gathering import gather
    from mirrormask.study.study_page import write_study

    monkeypatch.chdir(ROOT)
    results = Path("docs/results")
    found = gather(read_study(results / f"{name}.toml"), [results / f"{name}.json"])
    written = write_study(found, tmp_path, command="x")
    shown, again = ((folder / f"{name}.md").read_text().split("-->")[1] for folder in (results, tmp_path))
    assert again == shown
    assert (tmp_path / f"{name}.json").read_text() == (results / f"{name}.json").read_text()
    assert {path.name for path in written[2:]} <= {path.name for path in (results / name).iterdir()}
