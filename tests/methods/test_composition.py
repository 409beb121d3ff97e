from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from mirrormask.core.errors import MirrormaskError
from mirrormask.methods import methods
from mirrormask.methods.composition import composition
from mirrormask.objectives import WeightedSum
from mirrormask.objectives.info_nce import InfoNCE
from mirrormask.runs.recipe import build_recipe, read_recipe
from mirrormask.stabilizers.plain import Plain
from mirrormask.views import Chain
from mirrormask.views.dropout import Dropout


def test_nothing_said_is_simcse() -> None:
    built, simcse = composition(), methods.build("simcse-unsup")
    assert built.record() == simcse.record()
    assert built.training == simcse.training


def test_parts_by_name_and_by_table() -> None:
    built = composition(
        views=["dropout", {"name": "dropout", "rate": 0.2}],
        objective={"name": "info-nce", "label_smoothing": 0.1},
        stabilizer={"name": "plain"},
        pooling="mean",
    )
    assert [cast(Dropout, view).rate for view in built.views] == [None, 0.2]
    assert cast(InfoNCE, built.objective).label_smoothing == 0.1
    assert isinstance(built.stabilizer, Plain)
    assert (built.negatives, built.pooling) == (None, "mean")


def test_a_list_of_views_is_a_chain_and_a_list_of_objectives_a_sum() -> None:
    built = composition(
        views=["dropout", ["dropout", {"name": "dropout", "rate": 0.0}]],
        objective=["info-nce", {"name": "info-nce", "temperature": 0.5, "weight": 0.1}],
    )
    assert isinstance(built.views[1], Chain)
    assert built.record()["views"][1] == {
        "type": "Chain",
        "views": [{"type": "Dropout", "rate": None}, {"type": "Dropout", "rate": 0.0}],
    }
    loss = cast(WeightedSum, built.objective)
    assert loss.weights == [1.0, 0.1]
    assert [cast(InfoNCE, term).temperature for term in loss.terms] == [0.05, 0.5]
    assert built.record()["objective"]["terms"][1]["temperature"] == 0.5


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (
            {"views": ["dropout"]},
            "The 'views' of composition must be a list of two, the anchor's and the positive's. Got",
        ),
        ({"views": "dropout"}, "must be a list of two"),
        ({"views": ["dropout", "droput"]}, "There is no view 'droput'. Did you mean 'dropout'?"),
        ({"views": ["dropout", 3]}, 'A view is its name or a table with its name, such as { name = "'),
        ({"objective": {"temperature": 0.1}}, "An objective is its name"),
        ({"objective": {"name": "info-nce", "temp": 1}}, "objective 'info-nce' has no parameter 'temp'. Did you mean"),
        (
            {"objective": [{"name": "info-nce", "weight": 1, "temperature": 0}]},
            "'temperature' of info-nce must be above 0",
        ),
        ({"stabilizer": "plane"}, "There is no stabilizer 'plane'. Did you mean 'plain'?"),
        ({"negatives": "zzz"}, "There is no negative source 'zzz'"),
    ],
)
def test_what_is_wrong_is_said(table: dict[str, Any], says: str) -> None:
    with pytest.raises(MirrormaskError) as caught:
        build_recipe({"method": {"name": "composition", **table}})
    assert says in str(caught.value)


def test_all_problems_are_said_at_once() -> None:
    with pytest.raises(MirrormaskError) as caught:
        composition(views=["droput", "droput"], stabilizer="plane")
    assert str(caught.value).count("Did you mean") == 2


def test_a_recipe_composes_and_is_overridden(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_text(
        '[method]\nname = "composition"\nviews = ["dropout", { name = "dropout", rate = 0.2 }]\n'
        'objective = { name = "info-nce", temperature = 0.1 }\n'
    )
    recipe = read_recipe(path, ["method.objective.temperature=0.2"])
    built = methods.build(recipe.method.name, **recipe.method.parameters)
    assert cast(InfoNCE, built.objective).temperature == 0.2
