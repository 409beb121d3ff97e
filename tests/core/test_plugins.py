"""Parts that another installed package brings: a small distribution on the path, as pip would leave it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mirrormask.core import plugins
from mirrormask.core.plugins import BrokenPlugin
from mirrormask.core.registry import Registry

PACKAGE = '''"""A package of parts."""

from mirrormask.core.registry import Registry

shapes = Registry("shape", __name__)
'''
PART = '''"""A shape.

Paper: Nobody 2001, "Shapes"
"""

from shapes_of_a_test import shapes


@shapes.register("{name}")
class Shape:
    """Be a shape."""
'''

Install = Callable[[str, dict[str, str], str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Return what leaves a distribution: its name, its modules, and the value of its entry point."""
    folder = tmp_path / "shapes_of_a_test"
    folder.mkdir()
    (folder / "__init__.py").write_text(PACKAGE)
    (folder / "round.py").write_text(PART.format(name="round"))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(plugins, "_loaded", False)

    def leave(name: str, modules: dict[str, str], value: str) -> None:
        for module, code in modules.items():
            (tmp_path / f"{module}.py").write_text(code)
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[mirrormask.parts]\n{name}-parts = {value}\n")

    yield leave
    for module in [m for m in sys.modules if m.endswith("_of_a_test") or "shapes_of_a_test" in m]:
        del sys.modules[module]


def shapes() -> Registry[object]:
    from shapes_of_a_test import shapes as found  # type: ignore[import-not-found]

    registry: Registry[object] = found
    return registry


def test_a_part_registers_from_outside(install: Install) -> None:
    install("square", {"square_of_a_test": PART.format(name="square")}, "square_of_a_test")
    assert shapes().names() == ["round", "square"]
    assert type(shapes().build("square")).__module__ == "square_of_a_test"
    assert shapes()["square"].paper == 'Nobody 2001, "Shapes"'
    assert [point.name for point in plugins.plugins() if point.name == "square-parts"] == ["square-parts"]


@pytest.mark.parametrize(
    ("code", "value", "reason"),
    [
        ("import nothing_of_that_name", "broken_of_a_test", "No module named 'nothing_of_that_name'"),
        ("def (", "broken_of_a_test", "SyntaxError"),
        ("x = 1", "missing_of_a_test", "No module named 'missing_of_a_test'"),
        ("x = 1", "broken_of_a_test:nothing", "has no attribute 'nothing'"),
        ("x = 1 / 0", "broken_of_a_test", "ZeroDivisionError: division by zero"),
        (PART.format(name="round"), "broken_of_a_test", "shape 'round' is registered twice"),
    ],
)
def test_a_broken_one_is_named_and_left_out(install: Install, code: str, value: str, reason: str) -> None:
    install("broken", {"broken_of_a_test": code}, value)
    install("square", {"square_of_a_test": PART.format(name="square")}, "square_of_a_test")
    with pytest.warns(BrokenPlugin, match="The plug-in 'broken-parts' of broken was left out") as caught:
        assert shapes().names() == ["round", "square"], "all others are there"
    (warning,) = caught
    assert reason in str(warning.message)
    assert "\n" not in str(warning.message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shapes().names()  # it is said once


def test_a_name_of_ours_cannot_be_taken_before_we_use_it(install: Install) -> None:
    """Even where the plug-in is imported before our own folder is."""
    install("early", {"early_of_a_test": PART.format(name="round")}, "early_of_a_test")
    shapes()
    with pytest.warns(BrokenPlugin, match="'round' is registered twice"):
        plugins.load_plugins()
    assert type(shapes().build("round")).__module__ == "shapes_of_a_test.round"


def test_a_plug_in_may_ask_for_parts_while_it_is_imported(install: Install) -> None:
    asking = PART.format(name="square") + "\nfound = shapes.names()\n"
    install("asking", {"asking_of_a_test": asking}, "asking_of_a_test")
    assert shapes().names() == ["round", "square"]


def test_a_part_from_outside_needs_no_paper(install: Install) -> None:
    own = PART.format(name="own").replace('\n\nPaper: Nobody 2001, "Shapes"\n', "")
    install("idea", {"idea_of_a_test": own}, "idea_of_a_test")
    from shapes_of_a_test import shapes  # type: ignore[import-not-found]

    assert shapes.names() == ["own", "round"]
    assert shapes["own"].paper == ""
