from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mirrormask.core.errors import MirrormaskError
from mirrormask.core.seeding import Seeds
from mirrormask.runs.recipe import DEFAULT_METHOD, apply_overrides, build_recipe, parse_value, read_recipe


def test_nothing_is_the_default() -> None:
    recipe = build_recipe({})
    assert (recipe.model.name, recipe.method.name, recipe.pairing.name) == ("mini", DEFAULT_METHOD, "")
    assert recipe.seeds == Seeds()


def test_a_whole_recipe(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_text(
        '[model]\nname = "m"\npooling = "cls"\nlora = 4\n[data]\ncorpus = ["a.txt", "b.txt"]\ncolumns = "text"\n'
        '[method]\nname = "simcse-unsup"\ntemperature = 1\n[pairing]\nname = "crops"\nmin_words = 5\n'
        "[training]\nlearning_rate = 1\nseed = 3\n[seeds]\ndata = 9\n[expect]\nsts_average = 76.3\n"
    )
    recipe = read_recipe(path, ["steps=10", "method.dropout=0.2", "split=en", "model.lora=0"])
    assert recipe.data.corpus == ("a.txt", "b.txt")
    assert recipe.data.columns == ("text",)
    assert recipe.data.split == "en"
    assert recipe.model.lora == 0
    assert recipe.method.parameters == {"temperature": 1, "dropout": 0.2}
    assert recipe.pairing.parameters == {"min_words": 5}
    assert recipe.training == {"learning_rate": 1.0, "steps": 10}
    assert recipe.seeds == Seeds(data=9, dropout=3, initialization=3), "one seed, but for those named"
    assert recipe.expect == {"sts_average": 76.3}
    assert recipe.record()["model"]["pooling"] == "cls"


@pytest.mark.parametrize(
    ("text", "value"),
    [("3", 3), ("3e-5", 3e-5), ("true", True), ('["a"]', ["a"]), ("cls-mlp", "cls-mlp"), ("", ""), ("a = b", "a = b")],
)
def test_values_of_overrides(text: str, value: Any) -> None:
    assert parse_value(text) == value


def test_a_list_of_numbers_in_a_file_and_on_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "recipe.toml"
    file.write_text("[training]\nbetas = [0.9, 0.98]\n", encoding="utf-8")
    assert read_recipe(file).training["betas"] == (0.9, 0.98)
    assert build_recipe(apply_overrides({}, ["training.betas=[0.8,0.9]"])).training["betas"] == (0.8, 0.9)
    with pytest.raises(MirrormaskError, match=r"\[training\] betas must be a list of 2 numbers\. Got \[0\.9\]"):
        build_recipe({"training": {"betas": [0.9]}})


def test_an_override_finds_its_table() -> None:
    tables = apply_overrides(
        {}, ["steps=1", "seed=2", "corpus=x", "pooling=max", "temperature=0.1", "pairing.name=self"]
    )
    assert tables == {
        "training": {"steps": 1, "seed": 2},
        "data": {"corpus": "x"},
        "model": {"pooling": "max"},
        "method": {"temperature": 0.1},
        "pairing": {"name": "self"},
    }


@pytest.mark.parametrize(
    ("tables", "says"),
    [
        ({"model": 3}, r"\[model\] must be a table"),
        ({"modle": {}}, r"There is no table \[modle\]\. Did you mean 'model'\?"),
        ({"model": {"name": 3}}, r"\[model\] name must be a text\. Got 3"),
        ({"data": {"deduplicate": 1}}, r"deduplicate must be true or false\. Got 1"),
        ({"data": {"limit": True}}, r"limit must be a whole number\. Got True"),
        ({"training": {"clip": "no"}}, r"\[training\] clip must be a number\. Got 'no'"),
        ({"training": {"seeds": 3}}, r"has no key 'seeds'\. Did you mean 'seed'\?"),
        ({"seeds": {"droput": 3}}, r"\[seeds\] has no key 'droput'\. Did you mean 'dropout'\?"),
        ({"model": {"pooling": "cls-mpl"}}, r"There is no pooling 'cls-mpl'\. Did you mean 'cls-mlp'\?"),
        ({"method": {"temperature": 0}}, r"The 'temperature' of info-nce must be above 0\. Got 0"),
        ({"pairing": {"name": "crops", "min_words": 9, "max_words": 3}}, r"'max_words' of crops must be at least 9"),
    ],
)
def test_what_is_wrong_is_said(tables: dict[str, Any], says: str) -> None:
    with pytest.raises(MirrormaskError, match=says):
        build_recipe(tables)


def test_one_problem_of_a_file_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_text("[training]\nsteps = -1\n")
    with pytest.raises(MirrormaskError, match=rf"^{path}: The 'steps' of training must be at least 0\. Got -1\.$"):
        read_recipe(path)


@pytest.mark.parametrize("override", ["steps", "=3", ""])
def test_an_override_without_a_value(override: str) -> None:
    with pytest.raises(MirrormaskError, match="An override is 'table.key=value'"):
        apply_overrides({}, [override])


@pytest.mark.parametrize("text", ["9" * 6_000, "[" * 9_999])
def test_a_value_that_toml_cannot_hold_is_a_text(text: str, tmp_path: Path) -> None:
    assert parse_value(text) == text
    (tmp_path / "x.toml").write_text(f"x = {text}")
    with pytest.raises(MirrormaskError, match="is not TOML"):
        read_recipe(tmp_path / "x.toml")
