from __future__ import annotations

import pytest

from mirrormask.core.errors import MirrormaskError
from mirrormask.runs.catalogue import catalogue, registries


def test_every_registry_is_there_under_its_kind() -> None:
    assert list(registries()) == [
        "method",
        "objective",
        "view",
        "negative source",
        "stabilizer",
        "pairing",
        "pooling",
    ]
    assert all(kind == registry.kind for kind, registry in registries().items())


def test_one_kind_by_singular_or_plural() -> None:
    assert list(catalogue("pooling")) == list(catalogue("poolings")) == ["pooling"]
    assert {part.kind for part in catalogue("view")["view"]} == {"view"}
    with pytest.raises(MirrormaskError, match="Did you mean 'method'"):
        catalogue("metod")
