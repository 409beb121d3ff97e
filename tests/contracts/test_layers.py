"""Imports point down only, as the design says, and parts of one layer that are split by | never import each other.

No modules import each other in a circle, and no two of them have one name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import mirrormask

PACKAGE = Path(mirrormask.__file__).parent
DESIGN = Path(__file__).parents[2] / "docs" / "design.md"

LAYERS = (
    ("core",),
    ("data", "models", "reporting"),
    ("objectives", "views", "negatives", "stabilizers", "exporting"),
    ("training",),
    ("methods", "isotropy", "heads", "pretraining", "search"),
    ("evaluation", "probing", "prompting", "attack", "exploring"),
    ("runs",),
    ("study",),
    ("service",),
    ("cli",),
)
VERBS = {
    *("quickstart", "train", "run", "compare", "study", "evaluate", "encode", "similarity", "probe", "pretrain"),
    *("info", "parts", "index", "search", "serve", "duplicates", "map", "classify"),
    *("lexicon", "multitask", "prompt", "attack", "whiten", "flow", "word_vectors", "export", "publish"),
    "back_translate",
}
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def imported(tree: ast.AST, package: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the full name of everything a module of `package` imports, wherever it stands in the file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = ".".join(package.split(".")[: len(package.split(".")) - node.level + 1]) if node.level else ""
            base = ".".join(part for part in (start, node.module or "") if part)
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


def violations(package: Path) -> list[str]:
    """Return a sentence with file and line for every import that does not point down."""
    found = []
    for file in sorted(package.rglob("*.py")):
        inside = file.relative_to(package).parts
        if len(inside) == 1:  # the package's own front: it may open any layer, and only lazily (tested elsewhere)
            continue
        own = inside[0]
        dotted = ".".join(("mirrormask", *inside[:-1]))
        for line, name in imported(ast.parse(file.read_text(encoding="utf-8")), dotted):
            parts = name.split(".")
            if parts[0] != "mirrormask" or len(parts) < 2 or parts[1] in (own, "__version__"):
                continue
            where = f"{file}:{line}"
            if parts[1] not in LEVEL:
                found.append(f"{where} imports {name}, which is in no layer")
            elif LEVEL[parts[1]] >= LEVEL[own]:
                kind = "its sibling" if LEVEL[parts[1]] == LEVEL[own] else "the layer above"
                found.append(f"{where}: {own} imports {kind} {parts[1]} ({name})")
    return found


def test_imports_point_down() -> None:
    assert violations(PACKAGE) == []


def test_every_folder_is_in_a_layer() -> None:
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert folders <= set(LEVEL)
    assert len(folders) >= 11


def test_the_layers_are_those_of_the_design() -> None:
    if not DESIGN.is_file():
        pytest.skip("docs/ is not here")
    lines = DESIGN.read_text(encoding="utf-8").splitlines()
    drawn = {line[:2]: line[4:] for line in lines if line[:1] == "L" and line[1:2].isdigit() and line[2:4] == "  "}
    assert [tuple(name.strip() for name in drawn[f"L{level}"].split("|")) for level in range(len(LAYERS))] == list(
        LAYERS
    )


def modules(package: Path) -> dict[str, Path]:
    """Return the file of every module of a package, by its full name."""
    names = {
        path: ".".join(("mirrormask", *path.relative_to(package).with_suffix("").parts))
        for path in package.rglob("*.py")
    }
    return {name.removesuffix(".__init__"): path for path, name in names.items()}


def circles(package: Path) -> list[list[str]]:
    """Return the groups of modules that import each other in a circle, at any depth of a file and for types alone too.

    The package's own front, which opens everything lazily, is no part of a circle.
    """
    files = modules(package)
    below: dict[str, set[str]] = {}
    for name, path in files.items():
        dotted = name if path.name == "__init__.py" else name.rpartition(".")[0]
        found = (target for _, target in imported(ast.parse(path.read_text(encoding="utf-8")), dotted))
        nearest = (target if target in files else target.rpartition(".")[0] for target in found)
        below[name] = {target for target in nearest if target in files and target not in (name, "mirrormask")}
    reached: dict[str, set[str]] = {}
    for name in below:
        seen, todo = set(), list(below[name])
        while todo:
            here = todo.pop()
            if here not in seen:
                seen.add(here)
                todo += below[here]
        reached[name] = seen
    groups = {
        tuple(sorted(other for other in seen if name in reached[other]))
        for name, seen in reached.items()
        if name in seen
    }
    return [list(group) for group in sorted(groups)]


def same_names(package: Path) -> list[str]:
    """Return the names that two modules or folders have; a verb may be named after the function that it calls."""
    places: dict[str, list[str]] = {}
    for path in sorted(package.rglob("*.py")):
        inside = path.relative_to(package)
        named = inside.parent if path.name == "__init__.py" else inside
        verb = inside.parts[0] == "cli" and path.stem in VERBS
        if named.name and not verb:
            places.setdefault(named.stem, []).append(str(named))
    return [f"{name}: {', '.join(found)}" for name, found in places.items() if len(found) > 1]


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert circles(PACKAGE) == []


def test_no_two_modules_have_one_name() -> None:
    assert same_names(PACKAGE) == []


@pytest.mark.parametrize(
    "second",
    [
        "from mirrormask.study.first import x\n",
        "def f():\n    from mirrormask.study import first\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .first import X\n",
    ],
)
def test_a_circle_is_found_however_it_is_closed(tmp_path: Path, second: str) -> None:
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "first.py").write_text("import mirrormask.study.middle\n")
    (folder / "middle.py").write_text("from mirrormask.study.second import y\n")
    (folder / "second.py").write_text("import json\n")
    (folder / "above.py").write_text("from mirrormask.study import first\n")
    assert circles(tmp_path) == []
    (folder / "second.py").write_text(second)
    assert circles(tmp_path) == [[f"mirrormask.study.{name}" for name in ("first", "middle", "second")]]


def test_one_name_for_two_things_is_found(tmp_path: Path) -> None:
    folders = {"models": ["masking"], "pretraining": ["masking"], "data/text": ["__init__"]}
    for folder, names in {**folders, "runs": ["text", "train", "tables"], "cli": ["tables", "train"]}.items():
        (tmp_path / folder).mkdir(parents=True)
        for name in names:
            (tmp_path / folder / f"{name}.py").write_text("")
    assert same_names(tmp_path) == [
        "tables: cli/tables.py, runs/tables.py",
        "text: data/text, runs/text.py",
        "masking: models/masking.py, pretraining/masking.py",
    ]


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        (
            "core/bad.py",
            "x = 1\nimport mirrormask.data.text.files\n",
            "core/bad.py:2: core imports the layer above data",
        ),
        (
            "data/bad.py",
            "def f():\n    from mirrormask import models\n",
            "data/bad.py:2: data imports its sibling models",
        ),
        ("views/bad.py", "from ..objectives import info_nce\n", "views/bad.py:1: views imports its sibling objectives"),
        ("data/pairs/bad.py", "from ...models.names import resolve\n", "bad.py:1: data imports its sibling models"),
        (
            "training/bad.py",
            "from mirrormask.utils import x\n",
            "training/bad.py:1 imports mirrormask.utils.x, which is in no layer",
        ),
    ],
)
def test_a_wrong_import_is_named_with_file_and_line(tmp_path: Path, file: str, text: str, says: str) -> None:
    bad = tmp_path / file
    bad.parent.mkdir(parents=True)
    bad.write_text(text, encoding="utf-8")
    (found,) = violations(tmp_path)
    assert says in found


def test_right_imports_pass(tmp_path: Path) -> None:
    good = tmp_path / "training" / "good.py"
    good.parent.mkdir()
    good.write_text(
        "import json\nfrom mirrormask import __version__\nfrom mirrormask.models.precision import Precision\n"
        "from .loop import fit\n",
        encoding="utf-8",
    )
    assert violations(tmp_path) == []
