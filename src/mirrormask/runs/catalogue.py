"""Every registered part, by kind: what `list`, the contract tests and the documentation read."""

from __future__ import annotations

from typing import Any

from mirrormask.core.errors import one_of
from mirrormask.core.registry import Part, Registry


def registries() -> dict[str, Registry[Any]]:
    """Return all registries by the kind of their parts."""
    from mirrormask.data.pairs import pairings
    from mirrormask.methods import methods
    from mirrormask.models.pooling import poolings
    from mirrormask.negatives import negatives
    from mirrormask.objectives import objectives
    from mirrormask.stabilizers import stabilizers
    from mirrormask.views import views

    found = (methods, objectives, views, negatives, stabilizers, pairings, poolings)
    return {registry.kind: registry for registry in found}


def catalogue(kind: str = "") -> dict[str, list[Part[Any]]]:
    """Return the parts of every kind, or of one."""
    every = registries()
    if kind:
        kind = kind.rstrip("s") if kind not in every else kind
        one_of("kind", kind, every, of="the list")
        return {kind: list(every[kind])}
    return {name: list(registry) for name, registry in every.items()}
