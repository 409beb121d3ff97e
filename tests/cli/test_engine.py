from __future__ import annotations

import pytest

from mirrormask.cli.engine import engine_named
from mirrormask.core.errors import MirrormaskError


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("rey", {}, "Did you mean 'ray'"),
        ("plain", {"address": "auto"}, "--address is for Ray. Add --engine ray"),
        ("plain", {"workers": 2}, "--workers is for Ray"),
        ("ray", {"workers": 0}, "'workers' of the ray engine must be at least 1"),
    ],
)
def test_what_no_engine_can_be_is_refused(name: str, options: dict[str, object], says: str) -> None:
    with pytest.raises(MirrormaskError, match=says):
        engine_named(name, **options)  # type: ignore[arg-type]


def test_engines_are_named() -> None:
    assert not engine_named("plain").remote and engine_named("ray", workers=3).remote
