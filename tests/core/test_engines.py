from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mirrormask.core.engines import PlainEngine


def test_the_plain_engine_makes_once_and_works_in_order(tmp_path: Path) -> None:
    made: list[str] = []

    def read(piece: str) -> Iterator[str]:
        yield from piece

    def make() -> type[str]:
        made.append("once")
        return str

    with PlainEngine() as engine:
        assert list(engine.run(["ab", "", "c"], read, make, tmp_path)) == ["a", "b", "c"]
    assert made == ["once"]
