from __future__ import annotations

from typing import NoReturn

import pytest

from mirrormask.core.errors import MirrormaskError
from mirrormask.core.part_files import NotReadable
from mirrormask.runs.catalogue import catalogue, listing, registries


def test_every_registry_is_there_under_its_kind() -> None:
    assert list(registries()) == [
        "method",
        "objective",
        "view",
        "negative source",
        "stabilizer",
        "pairing",
        "pooling",
        "suite",
        "transform",
    ]
    assert all(kind == registry.kind for kind, registry in registries().items())


def test_one_kind_by_singular_or_plural() -> None:
    assert list(catalogue("pooling")) == list(catalogue("poolings")) == ["pooling"]
    assert {part.kind for part in catalogue("view")["view"]} == {"view"}
    with pytest.raises(MirrormaskError, match="Did you mean 'method'"):
        catalogue("metod")


def test_a_part_that_only_its_import_can_tell_is_listed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    read = listing("stabilizer")

    def unreadable(*_: object) -> NoReturn:
        raise NotReadable

    monkeypatch.setattr("mirrormask.runs.catalogue.listed_parts", unreadable)
    assert listing("stabilizer") == read and len(read["stabilizer"]) > 2
