"""The documentation says what the code does: the catalogue is current and the worked example of a part works."""

from __future__ import annotations

import json
import re
import runpy
import tomllib
from pathlib import Path

import pytest
from tests.integration.forked import CLI, Forked

from mirrormask.runs.recipe import TABLES
from mirrormask.training.settings import Settings
from mirrormask.views import views

DOCS = Path(__file__).parents[2] / "docs"
PYTHON, TOML = (re.compile(rf"^```{kind}\n(.*?)^```$", re.MULTILINE | re.DOTALL) for kind in ("python", "toml"))


def test_the_catalogue_is_current() -> None:
    page = runpy.run_path(str(DOCS / "generate_catalogue.py"))["page"]()
    assert (DOCS / "catalogue.md").read_text(encoding="utf-8") == page, "run python docs/generate_catalogue.py"


def test_the_worked_example_of_a_part_works(tmp_path: Path) -> None:
    """One file and its test, installed as its own package: pip leaves a folder of facts beside the module."""
    text = (DOCS / "adding-a-part.md").read_text(encoding="utf-8")
    part, test, method = PYTHON.findall(text)
    (project,) = (tomllib.loads(block) for block in TOML.findall(text))
    (tmp_path / "word_swap.py").write_text(part + method, encoding="utf-8")
    (tmp_path / "test_word_swap.py").write_text(test, encoding="utf-8")
    facts = tmp_path / "my_parts-0.1.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: my-parts\nVersion: 0.1\n")
    ((group, points),) = project["project"]["entry-points"].items()
    lines = [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (facts / "entry_points.txt").write_text("\n".join(lines) + "\n")

    def run(*arguments: str, code: str = CLI) -> tuple[int, str, str]:
        return Forked(tmp_path, *arguments, code=code, cwd=tmp_path, paths=(str(tmp_path),)).ended()

    _, said, complained = run(
        "pytest", "-q", "-p", "no:cacheprovider", ".", code="import pytest; pytest.console_main()"
    )
    assert "4 passed" in said, said + complained
    _, listed, _ = run("mirrormask", "list", "--json")
    found = json.loads(listed)
    assert "word-swap" in [each["name"] for each in found["view"]]
    assert "simcse-swap" in [each["name"] for each in found["method"]]
    assert "word-swap" not in views.names(), "and mirrormask itself is as it was"
    (tmp_path / "word_swap.py").write_text("import nothing_of_that_name\n", encoding="utf-8")
    code, listed, complained = run("mirrormask", "list", "method")
    assert code == 0
    assert "keyword-passages" in listed
    (warning,) = [line for line in complained.splitlines() if line.strip()]
    assert warning.startswith("Warning: The plug-in 'word-swap' of my-parts was left out, because word_swap could not")


def test_the_guide_names_every_key_of_a_recipe() -> None:
    text = (DOCS / "guide" / "run.md").read_text(encoding="utf-8")
    assert all(f"`[{table}]`" in text for table in TABLES)
    assert all(f"`{key}`" in text for key in Settings.__dataclass_fields__ if key != "seeds")


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.relative_to(DOCS).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
