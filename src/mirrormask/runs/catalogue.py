"""Every registered part, by kind: what `list`, the contract tests and the documentation read."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from typing import Any

from mirrormask.core.errors import one_of
from mirrormask.core.part_files import ListedPart, NotReadable, files_of, listed_parts
from mirrormask.core.plugins import plugins
from mirrormask.core.registry import Part, Registry

PLACES = {
    "method": "mirrormask.methods:methods",
    "objective": "mirrormask.objectives:objectives",
    "view": "mirrormask.views:views",
    "negative source": "mirrormask.negatives:negatives",
    "stabilizer": "mirrormask.stabilizers:stabilizers",
    "pairing": "mirrormask.data.pairs:pairings",
    "pooling": "mirrormask.models.pooling:poolings",
    "suite": "mirrormask.evaluation.suites:suites",
    "transform": "mirrormask.isotropy:transforms",
}
"""Where the parts of each kind are registered: the module, and the registry's name in it."""


def registries() -> dict[str, Registry[Any]]:
    """Return all registries by the kind of their parts."""
    found = {}
    for kind, place in PLACES.items():
        module, _, name = place.partition(":")
        found[kind] = getattr(importlib.import_module(module), name)
    return found


def catalogue(kind: str = "") -> dict[str, list[Part[Any]]]:
    """Return the parts of every kind, or of one."""
    asked = _asked(kind)
    return {name: list(registry) for name, registry in registries().items() if name in asked}


def listing(kind: str = "") -> dict[str, list[ListedPart]]:
    """Return what can be said of the parts of every kind, or of one, from their files alone: without torch."""
    asked = _asked(kind)
    try:
        if plugins():
            raise NotReadable("parts from outside")
        every = _listed(place.partition(":")[0] for place in PLACES.values())
    except NotReadable:  # a part that only its import can tell
        return {name: [_of(part) for part in parts] for name, parts in catalogue(kind).items()}
    return {name: sorted(parts, key=lambda part: part.name) for name, parts in every.items() if name in asked}


def _listed(modules: Iterable[str]) -> dict[str, list[ListedPart]]:
    kinds = {place: kind for kind, place in PLACES.items()}
    found: dict[str, list[ListedPart]] = {kind: [] for kind in PLACES}
    for module in modules:
        for name, file in files_of(module).items():
            for kind, part in listed_parts(name, file, kinds):
                found[kind].append(part)
    return found


def _of(part: Part[Any]) -> ListedPart:
    return ListedPart(part.name, part.summary, part.paper, part.parameters, part.shown_parameters)


def _asked(kind: str) -> Mapping[str, str]:
    if not kind:
        return PLACES
    kind = kind.rstrip("s") if kind not in PLACES else kind
    one_of("kind", kind, PLACES, of="the list")
    return {kind: PLACES[kind]}
