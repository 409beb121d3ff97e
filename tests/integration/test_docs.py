"""The documentation says what the code does: the catalogue is current and the worked example of a part works."""

from __future__ import annotations

import importlib.util
import re
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from mirrormask.methods import methods
from mirrormask.runs.recipe import TABLES
from mirrormask.training.settings import Settings
from mirrormask.views import views

DOCS = Path(__file__).parents[2] / "docs"
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_catalogue_is_current() -> None:
    page = runpy.run_path(str(DOCS / "generate_catalogue.py"))["page"]()
    assert (DOCS / "catalogue.md").read_text(encoding="utf-8") == page, "run python docs/generate_catalogue.py"


def load(name: str, code: str, folder: Path) -> ModuleType:
    path = folder / f"{name.replace('.', '_')}.py"
    path.write_text(code, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def clean_registries() -> Iterator[None]:
    """Take the parts of the example out again, so that no other test meets them."""
    kept = [(registry, dict(registry._parts)) for registry in (views, methods) if registry.names()]
    yield
    for registry, parts in kept:
        registry._parts.clear()
        registry._parts.update(parts)  # type: ignore[arg-type]
    for name in [name for name in sys.modules if "word_swap" in name or "simcse_swap" in name]:
        del sys.modules[name]


@pytest.mark.usefixtures("clean_registries")
def test_the_worked_example_of_a_part_works(tmp_path: Path) -> None:
    part, test, method = PYTHON.findall((DOCS / "adding-a-part.md").read_text(encoding="utf-8"))
    load("mirrormask.views.word_swap", part, tmp_path)
    tests = vars(load("test_word_swap", test, tmp_path))
    load("mirrormask.methods.simcse_swap", method, tmp_path)
    ran = [run() for name, run in tests.items() if name.startswith("test_")]
    assert len(ran) == 4
    record = methods.build("simcse-swap", rate=0.2).record()
    assert record["views"][1] == {"type": "WordSwap", "rate": 0.2}


def test_the_guide_names_every_key_of_a_recipe() -> None:
    text = (DOCS / "guide" / "run.md").read_text(encoding="utf-8")
    assert all(f"`[{table}]`" in text for table in TABLES)
    assert all(f"`{key}`" in text for key in Settings.__dataclass_fields__ if key != "seeds")


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.relative_to(DOCS).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
