from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mirrormask.core.errors import MirrormaskError
from mirrormask.core.registry import Registry, configuration

PACKAGE = '''"""A package of parts."""

from mirrormask.core.registry import Registry

sorts = Registry("sort", __name__)
'''
PART = '''"""A way to sort.

Paper: Nobody 2001, "Sorting",
    in two lines
"""

from parts_of_a_test import sorts


@sorts.register("quick")
class Quick:
    """Sort quickly. Relations: slower than nothing.

    Args:
        pivot: where to cut.
    """

    def __init__(self, pivot: float = 0.5, inner: object = None):
        self.pivot = pivot
        self.inner = inner
'''


@pytest.fixture
def sorts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry[object]:
    folder = tmp_path / "parts_of_a_test"
    folder.mkdir()
    (folder / "__init__.py").write_text(PACKAGE)
    (folder / "quick.py").write_text(PART)
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.startswith("parts_of_a_test")]:
        monkeypatch.delitem(sys.modules, name)
    from parts_of_a_test import sorts as found  # type: ignore[import-not-found]

    registry: Registry[object] = found
    return registry


def test_a_new_file_is_a_new_part(sorts: Registry[object]) -> None:
    assert sorts.names() == ["quick"]
    (part,) = sorts
    assert (part.kind, part.name) == ("sort", "quick")
    assert part.paper == 'Nobody 2001, "Sorting", in two lines'
    assert part.summary == "Sort quickly."
    assert part.parameters == {"pivot": 0.5, "inner": None}
    assert part.shown_parameters == ["pivot=0.5", "inner=None"]
    assert part.types == {"pivot": float, "inner": object}


def test_build_checks_names_and_types(sorts: Registry[object]) -> None:
    assert configuration(sorts.build("quick", pivot=1)) == {"type": "Quick", "pivot": 1, "inner": None}
    with pytest.raises(MirrormaskError, match="There is no sort 'quik'. Did you mean 'quick'\\? Known: quick"):
        sorts.build("quik")
    with pytest.raises(MirrormaskError, match="no parameter 'pivto'. Did you mean 'pivot'\\? It takes: pivot, inner"):
        sorts.build("quick", pivto=1)
    with pytest.raises(MirrormaskError, match="The 'pivot' of quick must be a number. Got 'middle'"):
        sorts.build("quick", pivot="middle")
    assert len(sorts.check("quick", {"pivot": "x", "a": 1, "b": 2})) == 3


def test_a_part_without_a_paper_or_with_a_taken_name_is_refused(sorts: Registry[object]) -> None:
    class Plain:
        """Without a source."""

    Plain.__module__ = f"{sorts.package}.plain"
    with pytest.raises(TypeError, match="needs a 'Paper:' line"):
        sorts.register("plain")(Plain)
    Plain.__doc__ = "With one.\n\nPaper: Somebody 1999"
    sorts.register("plain")(Plain)
    with pytest.raises(TypeError, match="registered twice"):
        sorts.register("plain")(Plain)


def test_configuration_goes_into_parts_and_lists(sorts: Registry[object]) -> None:
    quick = sorts["quick"].build
    nested = configuration(quick(inner=[quick(pivot=0.1), 3]))
    assert nested["inner"] == [{"type": "Quick", "pivot": 0.1, "inner": None}, 3]
