from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mirrormask.core.part_files import ListedPart, NotReadable, files_of, listed_parts

REGISTRIES = {"sorts_of_a_test:sorts": "sort"}
PACKAGE = '"""Parts that cannot be imported."""\n\nsorts = 1 / 0\n'
PART = '''"""Ways to sort.

Paper: Nobody 2001, "Sorting"
"""
from sorts_of_a_test import sorts as ways


@ways.register("quick")
class Quick(object):
    """Sort quickly.

    Paper: Somebody 1999
    """

    def __init__(self, rows, pivot: float = -0.5, *, inner=None):
        self.pivot = pivot


@ways.register("plain")
def plain(*, twice: bool = False):
    """Sort plainly. Relations: slower."""
'''


def read(folder: Path, text: str) -> list[tuple[str, ListedPart]]:
    (folder / "ways.py").write_text(text, encoding="utf-8")
    return list(listed_parts("sorts_of_a_test.ways", folder / "ways.py", REGISTRIES))


def test_parts_are_read_without_their_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "sorts_of_a_test"
    folder.mkdir()
    (folder / "__init__.py").write_text(PACKAGE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert read(folder, PART) == [
        ("sort", ListedPart("quick", "Sort quickly.", "Somebody 1999", {"rows": None, "pivot": -0.5, "inner": None},
                            ["pivot=-0.5", "inner=None"])),
        ("sort", ListedPart("plain", "Sort plainly.", 'Nobody 2001, "Sorting"', {"twice": False}, ["twice=False"])),
    ]  # fmt: skip
    files = files_of("sorts_of_a_test")
    assert files == {"sorts_of_a_test": folder / "__init__.py", "sorts_of_a_test.ways": folder / "ways.py"}
    assert "sorts_of_a_test" not in sys.modules
    with pytest.raises(NotReadable):
        files_of("there_is_no_such_package")


@pytest.mark.parametrize(
    ("before", "after"),
    [('register("quick")', "register(NAME)"), ("-0.5", "2 * HALF"), ("@ways.", "@other.ways.")],
)
def test_what_only_python_can_follow_is_not_guessed(tmp_path: Path, before: str, after: str) -> None:
    with pytest.raises(NotReadable):
        read(tmp_path, PART.replace(before, after))
