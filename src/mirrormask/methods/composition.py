"""Any parts by name: what a recipe writes when it tries parts that no paper has put together yet.

Paper: Park 2023, "Data Augmentation, Stabilization and Negative Sample Generation Methods for Improving Sentence
    Embeddings of SimCSE", which changes SimCSE one part at a time

A part is its name, or a table of its name and parameters. A list of views is one view that does all of them, and a
list of objectives is their sum, each with its `weight`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from mirrormask.core.errors import MirrormaskError
from mirrormask.core.registry import Registry
from mirrormask.methods import methods
from mirrormask.methods.simcse import simcse_unsup
from mirrormask.negatives import negatives as sources
from mirrormask.objectives import Objective, WeightedSum, objectives
from mirrormask.stabilizers import stabilizers
from mirrormask.training.method import Composition
from mirrormask.views import Chain, View
from mirrormask.views import views as kinds

T = TypeVar("T")

Named = str | dict[str, Any]
"""A part: its name, or a table of its name and parameters."""


@methods.register("composition")
def composition(
    views: list[Any] | None = None,
    objective: Named | list[Any] = "info-nce",
    negatives: Named = "",
    stabilizer: Named = "plain",
    pooling: str = "cls-mlp",
) -> Composition:
    """Put parts together by name; what is left out is as in unsupervised SimCSE.

    Args:
        views: how anchor and positive are seen; two views, each a part or a list of parts.
        objective: the loss, or a list of losses with weights.
        negatives: a source of negatives besides the batch; empty takes the batch alone.
        stabilizer: how gradients become an update.
        pooling: how token states become one vector, where the recipe's model names none.

    Example:
        >>> built = composition(views=["dropout", {"name": "dropout", "rate": 0.2}], stabilizer="plain")
        >>> [view.rate for view in built.views]
        [None, 0.2]
    """
    views = ["dropout", "dropout"] if views is None else views
    if not isinstance(views, Sequence) or isinstance(views, str) or len(views) != 2:
        raise MirrormaskError(
            f"The 'views' of composition must be a list of two, the anchor's and the positive's. Got {views!r}."
        )
    problems: list[str] = []

    def built(make: Callable[[Any], T], named: Any) -> T:
        try:
            return make(named)
        except MirrormaskError as error:
            problems.append(str(error))
            return None  # type: ignore[return-value]

    anchor, positive = (built(_view, each) for each in views)
    loss = built(_objective, objective)
    source = built(lambda named: part_of(sources, named), negatives) if negatives else None
    update = built(lambda named: part_of(stabilizers, named), stabilizer)
    if problems:
        raise MirrormaskError(" ".join(dict.fromkeys(problems)))
    simcse = simcse_unsup()
    return Composition((anchor, positive), loss, source, update, simcse.pairing, pooling, simcse.training)


def part_of(registry: Registry[T], named: Any) -> T:
    """Return the part that a name, or a table of a name and parameters, describes."""
    if isinstance(named, str):
        return registry.build(named)
    if not isinstance(named, Mapping) or not isinstance(named.get("name"), str):
        article = "An" if registry.kind[0] in "aeiou" else "A"
        raise MirrormaskError(
            f"{article} {registry.kind} is its name or a table with its name, such as "
            f'{{ name = "{registry.names()[0]}" }}. Got {named!r}.'
        )
    return registry.build(named["name"], **{key: value for key, value in named.items() if key != "name"})


def _view(named: Any) -> View:
    if isinstance(named, list):
        return Chain([part_of(kinds, each) for each in named])
    return part_of(kinds, named)


def _objective(named: Any) -> Objective:
    if not isinstance(named, list):
        return part_of(objectives, named)
    terms, weights = [], []
    for each in named:
        each = {"name": each} if isinstance(each, str) else dict(each)
        weights.append(float(each.pop("weight", 1.0)))
        terms.append(part_of(objectives, each))
    return WeightedSum(terms, weights)
