"""Every recipe in recipes/ is one that `mirrormask run` takes, and says how to run it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from mirrormask.methods import methods
from mirrormask.runs.recipe import Recipe, read_recipe
from mirrormask.training.method import Composition

FOLDER = Path(__file__).parents[2] / "recipes"
RECIPES = sorted(FOLDER.glob("*.toml"))


def test_there_are_recipes() -> None:
    assert len(RECIPES) >= 4


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
class TestRecipe:
    def test_parses(self, path: Path) -> None:
        recipe = read_recipe(path)
        assert recipe.data.corpus
        assert recipe.method.name in methods.names()

    def test_first_line_is_the_command(self, path: Path) -> None:
        first, *changes = path.read_text(encoding="utf-8").splitlines()[0].split(f"mirrormask run recipes/{path.name}")
        assert first == "# "
        assert len(changes) == 1
        read_recipe(path, changes[0].split())

    def test_expects_numbers(self, path: Path) -> None:
        expected = tomllib.loads(path.read_text(encoding="utf-8")).get("expect", {})
        assert all(isinstance(value, float) for value in expected.values())

    def test_a_published_recipe_names_its_number(self, path: Path) -> None:
        assert ("expect" in path.read_text(encoding="utf-8")) == path.name.startswith(("simcse", "mirror"))


TABLES = sorted(FOLDER.glob("simcse-*/*.toml"))


@pytest.mark.parametrize("path", TABLES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_rows_of_the_papers_tables(path: Path) -> None:
    """Every row parses, says its command, is chosen on STS-B dev, and differs from its table in one thing alone."""
    recipe = read_recipe(path)
    text = path.read_text(encoding="utf-8")
    assert text.startswith(f"# mirrormask run recipes/{path.parent.name}/{path.name}\n#\n# ")
    assert recipe.data.dev == "stsb-dev"
    assert ("expect" in text) is (path.stem != "mean"), "the table has no row of mean pooling"
    samples = [
        each for each in path.parent.glob("*.toml") if each.stem.endswith("-sample") == path.stem.endswith("-sample")
    ]
    assert {json.dumps(read_recipe(each).training, sort_keys=True) for each in samples} == {
        json.dumps(recipe.training, sort_keys=True)
    }


def test_there_are_as_many_as_the_tables_have() -> None:
    counts = {folder: len(list((FOLDER / folder).glob("*.toml"))) for folder in sorted({p.parent.name for p in TABLES})}
    assert counts == {
        "simcse-augmentation": 11,
        "simcse-auxiliary": 6,
        "simcse-dropout": 8,
        "simcse-objectives": 8,
        "simcse-positives": 14,
    }
    sizes = [read_recipe(path).pairing.parameters["size"] for path in TABLES if path.stem.endswith("-sample")]
    assert sizes == [2400] * 6, "kinds of positives are compared at one size"


def test_the_default_recipe_is_the_default() -> None:
    """The recipe that spells the default out must change with it."""
    recipe = read_recipe(FOLDER / "keyword-passages.toml")
    default: Composition = methods.build(Recipe().method.name)
    assert recipe.method.name == Recipe().method.name
    assert recipe.method.parameters == methods[recipe.method.name].parameters
    assert dict(recipe.training) == default.training
    assert recipe.model.pooling == default.pooling
    from mirrormask.data.pairs import pairings

    assert recipe.pairing.name == default.pairing[0]
    assert recipe.pairing.parameters == {**pairings[recipe.pairing.name].parameters, **default.pairing[1]}
