"""Docstrings of installed packages: what is found, what is cleaned away, what is held out."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.data.docstrings import collecting as docstrings
from mirrormask.data.docstrings import retrieval as docstring_retrieval
from mirrormask.data.docstrings.collecting import Docstring, collect, installed_roots, read_file
from mirrormask.data.docstrings.prose import paragraphs, reads_as_prose, sentences
from mirrormask.data.docstrings.retrieval import hold_out, spelled_out

SOURCE = '''
"""Tools for a small garden of words."""

class Gardener:
    """Keeps the beds in good order."""

    def water_the_beds(self):
        """Pour water on every dry bed.

        Beds that are wet already are left alone.
        """
        def inner():
            """Nobody calls this from outside."""

    async def wait_for_rain(self):
        """Sleep until the first drop falls."""

if True:
    def plant():
        """Put a seed into the ground."""
    class Shed:
        """Holds the tools in winter."""
        def lock(self):
            """Turn the key in the door."""
try:
    pass
except ImportError:
    def fallback():
        """Stand in when the seed is missing."""
'''


def write(root: Path, name: str, text: str | bytes) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def function(name: str, text: str, package: str = "garden", module: str = "garden.beds") -> Docstring:
    return Docstring(package, module, name, name.rsplit(".", 1)[-1], "function", text)


def test_reads_modules_classes_and_functions_once(tmp_path: Path) -> None:
    write(tmp_path, "garden/beds.py", SOURCE)
    found = read_file(tmp_path / "garden" / "beds.py", tmp_path)
    assert [(each.kind, each.qualname) for each in found] == [
        ("module", ""),
        ("class", "Gardener"),
        ("function", "Gardener.water_the_beds"),
        ("function", "Gardener.wait_for_rain"),
        ("function", "plant"),
        ("class", "Shed"),
        ("function", "Shed.lock"),
        ("function", "fallback"),
    ]
    assert {(each.package, each.module) for each in found} == {("garden", "garden.beds")}
    water = found[2]
    assert water.name == "water_the_beds"
    assert water.summary == "Pour water on every dry bed."
    assert water.sentences == ["Pour water on every dry bed.", "Beds that are wet already are left alone."]


def test_a_package_is_named_by_its_folder(tmp_path: Path) -> None:
    write(tmp_path, "garden/__init__.py", '"""Tools for a small garden."""')
    assert read_file(tmp_path / "garden" / "__init__.py", tmp_path)[0].module == "garden"


def test_bad_files_are_counted_and_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.py", '"""A module that can be read."""')
    write(tmp_path, "b.py", '"""A module that cannot be read.""" def (')
    write(tmp_path, "c.py", b'"""A null byte \x00 is no source."""')
    write(tmp_path, "d.py", b'# -*- coding: no-such-code -*-\n"""An unknown encoding."""')
    write(tmp_path, "e.py", b'"""Bytes \xff\xfe that are no text."""')
    write(tmp_path, "f.py", '"""Deep below the ground it lies."""\nx = ' + "-" * 3_900 + "1")
    write(tmp_path, "g.py", '"""A module of far too many bytes."""' + "\n" * 40_000)
    write(tmp_path, "h.py", b'# -*- coding: latin-1 -*-\n"""The caf\xe9 at the corner is open."""')
    write(tmp_path, "i.py", '"""An \\invalid escape is no concern of ours."""')
    write(tmp_path, "tests/j.py", '"""A test suite is left alone."""')
    (tmp_path / "folder.py").mkdir()
    monkeypatch.setattr(docstrings, "LARGEST_FILE", 30_000)
    collected = collect([tmp_path])
    assert [each.module for each in collected] == ["a", "h", "i"]
    assert collected.docstrings[1].text == "The café at the corner is open."
    assert (collected.files, collected.unreadable, collected.too_large, len(collected)) == (9, 5, 1, 3)


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_links_are_not_followed(tmp_path: Path) -> None:
    write(tmp_path, "garden/beds.py", SOURCE)
    (tmp_path / "garden" / "again").symlink_to(tmp_path / "garden", target_is_directory=True)
    (tmp_path / "garden" / "copy.py").symlink_to(tmp_path / "garden" / "beds.py")
    assert collect([tmp_path]).files == 1


def test_a_root_inside_another_is_read_once(tmp_path: Path) -> None:
    write(tmp_path, "garden/beds.py", SOURCE)
    assert collect([tmp_path, tmp_path / "garden"]).files == 1


def test_the_order_is_that_of_sorted_paths_and_does_not_depend_on_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (3, 1, 2):
        write(tmp_path, f"pack{number}/part.py", f'"""The part with the number {number}."""')
    monkeypatch.setattr(docstrings, "FEWEST_FILES_FOR_PROCESSES", 1)
    monkeypatch.setattr(docstrings, "CHUNK", 1)
    seen: list[tuple[int, int]] = []
    alone = collect([tmp_path], lambda done, total: seen.append((done, total)))
    assert [each.package for each in alone] == ["pack1", "pack2", "pack3"]
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert collect([tmp_path], workers=2).docstrings == alone.docstrings


def test_nothing_is_imported(tmp_path: Path) -> None:
    write(tmp_path, "never_imported_garden.py", '"""Importing this would fail at once."""\nraise SystemExit')
    assert len(collect([tmp_path])) == 1
    assert "never_imported_garden" not in sys.modules


def test_a_missing_folder_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"reads folders of Python packages. Got .*nowhere', which is no folder"):
        collect([tmp_path / "nowhere"])


def test_the_roots_hold_the_standard_library_and_the_installed_packages() -> None:
    roots = installed_roots()
    assert any((root / "json" / "decoder.py").is_file() for root in roots)
    assert any((root / "pytest" / "__init__.py").is_file() for root in roots)
    assert Path.cwd() not in roots


GOOGLE = """Plant a tree.

Args:
    depth (int, *optional*): How deep
        the hole is.
    tree (`Tree`):
        The young tree.

Example:
    Here is how it goes.
"""
NUMPY = """Plant a tree.

Parameters
----------
depth : int, optional
    How deep the hole is.
tree : Tree
    The young tree.

Examples
--------
Here is how it goes.

>>> plant(3)

Notes
-----
Water it every day.
"""
SPHINX = """Plant a tree.

:param int depth: How deep the hole is.
:type depth: int or none at all
:returns: The planted tree.
"""
LITERAL = """Plant a tree::

    plant(the, best, tree)

Then water it well.
"""
DIRECTIVES = """Plant a tree.

.. note:: Not in deep winter.

.. code-block:: python

    a line of code here

Afterwards rest a bit.
"""
MARKDOWN = """Plant a tree.

```python
this is some code
```

- First dig a hole.
- Then fill it again.
"""
TABLE = """Plant a tree.

====  ====
kind  size
====  ====

| one | two | three |
"""


@pytest.mark.parametrize(
    ("docstring", "expected"),
    [
        (GOOGLE, ["Plant a tree.", "How deep the hole is.", "The young tree."]),
        (NUMPY, ["Plant a tree.", "How deep the hole is.", "The young tree.", "Water it every day."]),
        (SPHINX, ["Plant a tree.", "How deep the hole is.", "The planted tree."]),
        (LITERAL, ["Plant a tree:", "Then water it well."]),
        (DIRECTIVES, ["Plant a tree.", "Not in deep winter.", "Afterwards rest a bit."]),
        (MARKDOWN, ["Plant a tree.", "First dig a hole.", "Then fill it again."]),
        (TABLE, ["Plant a tree."]),
        ("plant(tree, depth) -> bool\n\nPlant a tree in the ground.", ["Plant a tree in the ground."]),
        ("", []),
    ],
    ids=["google", "numpy", "sphinx", "literal block", "directives", "markdown", "table", "signature", "empty"],
)
def test_dialects(docstring: str, expected: list[str]) -> None:
    assert paragraphs(docstring) == [[sentence] for sentence in expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See :class:`~garden.Bed` and ``rows`` of `the plan`.", "See garden.Bed and rows of the plan."),
        ("Read [the guide](x.html) or `the book <y.html>`_ first [1]_.", "Read the guide or the book first ."),
        ("A **bold** and *slanted* word <b>here</b>.", "A bold and slanted word here ."),
        ("Look   at\n the https://example.org/page site.", "Look at the site."),
    ],
)
def test_inline_markup_goes_and_its_text_stays(text: str, expected: str) -> None:
    assert [" ".join(each.split()) for each in sentences(text)] == [expected]


def test_abbreviations_end_no_sentence() -> None:
    assert sentences("Trees, e.g. Oaks, grow slowly. They live long (cf. Smith et al. 2001). Fine by me!") == [
        "Trees, e.g. Oaks, grow slowly.",
        "They live long (cf. Smith et al. 2001).",
        "Fine by me!",
    ]


@pytest.mark.parametrize("text", ["x = y + z", "f(a, b)", "two words", "a b c d e", "== == ==", "word " * 200])
def test_what_is_no_prose(text: str) -> None:
    assert not reads_as_prose(text)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("read_csv", "read csv"),
        ("toHTMLPage", "to html page"),
        ("conv2d", "conv 2 d"),
        ("__init__", "init"),
        ("X", "x"),
    ],
)
def test_spelled_out(name: str, words: str) -> None:
    assert spelled_out(name) == words


def garden() -> list[Docstring]:
    verbs = ["dig", "rake", "mow", "prune", "graft", "sow", "weed", "trim"]
    found = []
    for package in ("garden", "park", "yard"):
        for number, verb in enumerate(verbs):
            for place in (f"{package}bed", f"{package}path"):
                text = f"Use the {place} tool number {number} to {verb} slowly.\nRest {number} hours at {place}."
                found.append(function(f"{verb}_{place}", text, package=package, module=f"{package}.{place}"))
    return found


def test_held_out_functions_share_packages_evenly_and_do_not_depend_on_hash_order() -> None:
    held = hold_out(garden(), functions=9, seed=3)
    assert [each.package for each in held.functions].count("park") == 3
    assert len(set(held.queries)) == len(held.documents) == 9
    assert held.queries[0] == spelled_out(held.functions[0].name)
    assert held.functions == hold_out(garden(), functions=9, seed=3).functions
    assert held.functions != hold_out(garden(), functions=9, seed=4).functions


def test_unfit_functions_are_never_held_out() -> None:
    unfit = [
        function("_dig_bed", "Dig the bed over with a spade."),
        function("Gardener.__call__", "Send the gardener out to work."),
        function("test_digging", "Check that the spade still digs."),
        function("rake", "Rake it all."),
        function("sort_all_rows", "Sort all rows."),
        function("fit", "Fit the fence around the garden."),
        function("Shed.fit", "Fit the roof onto the shed.", module="garden.shed"),
        Docstring("garden", "garden", "Bed", "Bed", "class", "Holds many flowers of one kind."),
    ]
    held = hold_out([*garden(), *unfit], functions=1000)
    assert not {each.qualname for each in held.functions} & {each.qualname for each in unfit}


def test_training_holds_nothing_of_what_is_held_out(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = function(
        "open_the_gate", "Open the old iron gate with the big key.\n\nIt squeaks when the weather is wet."
    )
    copies = [
        Docstring(
            "x", "x.a", "A", "A", "class", "Open the OLD iron gate, with the big key!\n\nMore about this class here."
        ),
        Docstring("x", "x.b", "B", "B", "class", "Something else entirely.\nIt squeaks when the weather is wet."),
        Docstring("x", "x.c", "C", "C", "class", "Another thing.\nOpen the old iron gate with a big key."),
        Docstring("x", "x.d", "D", "D", "class", "Something else entirely."),
    ]
    monkeypatch.setattr(docstring_retrieval, "_choose", lambda *_: [secret, garden()[0]])
    held = hold_out([secret, *garden(), *copies])
    text = {sentence for document in held.training for sentence in document}
    assert not [sentence for sentence in text if "gate" in sentence or "squeaks" in sentence]
    assert held.training[-2:] == [["Something else entirely."], ["Another thing."]]
    assert len(held.names) == len(held.training) == held.counts["documents"]
    assert sum(map(len, held.training)) == held.counts["sentences"]
    assert held.counts["held_out"] == 2
    assert held.counts["held_out_duplicates"] == 1
    assert held.counts["duplicate_sentences"] == 1


def test_near_duplicates_match_a_loop_over_all_pairs() -> None:
    words = ["the", "a", "old", "iron", "gate", "big", "key", "bed", "path", "spade", "rake"]
    texts = [" ".join(words[i % 7 : i % 7 + 3 + i % 5]) for i in range(30)]
    probes = [" ".join(words[i % 6 : i % 6 + 2 + i % 7]) for i in range(60)]
    near = docstring_retrieval._NearDuplicates(texts)

    def overlap(one: str, two: str) -> float:
        a, b = set(one.split()), set(two.split())
        return len(a & b) / len(a | b)

    expected = [any(overlap(probe, text) >= docstring_retrieval.NEAR for text in texts) for probe in probes]
    assert [near.to(probe) for probe in probes] == expected
    assert {True, False} == set(expected)


def test_too_few_functions_is_one_sentence() -> None:
    with pytest.raises(
        DataError, match=r"needs documented public functions with distinct names. Got 0 in 0 docstrings"
    ):
        hold_out([])
    with pytest.raises(MirrormaskError, match=r"'functions' of the held-out functions must be at least 2. Got 1."):
        hold_out([], functions=1)


def test_the_standard_library_gives_a_corpus() -> None:
    json_folder = next(root for root in installed_roots() if (root / "json").is_dir()) / "json"
    collected = collect([json_folder])
    assert collected.files >= 4
    assert any("JSON" in each.text for each in collected)
