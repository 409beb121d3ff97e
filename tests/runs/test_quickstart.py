from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mirrormask.cli.similarity import similarity
from mirrormask.core.errors import MirrormaskError
from mirrormask.models.encoder import load
from mirrormask.runs.quickstart import QUESTIONS, Quickstart, quickstart
from mirrormask.search.index import Index

VERBS = ["paint", "repair", "watch", "carry", "find"]
THINGS = ["boat", "clock", "letter", "street", "garden", "river", "storm", "bread", "cat", "child", "pilot", "baker"]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package of documented functions, written for this test, no two of them alike."""
    folder = tmp_path_factory.mktemp("site") / "handicraft"
    folder.mkdir()
    chance = random.Random(0)
    words = ["".join(chance.choices("aeioubdglmnrst", k=chance.randint(3, 8))) for _ in range(2_000)]

    def sentence(*first: str) -> str:
        return " ".join([*first, *chance.choices(words, k=9)]).capitalize() + "."

    for verb, thing in itertools.product(VERBS, THINGS):
        functions = [
            f'def {verb}_{thing}_{other}(value):\n    """{sentence(verb, "the", thing, "and", other)}\n\n'
            f'    {sentence()} {sentence()}\n    """\n    return value'
            for other in chance.sample(THINGS, 5)
        ]
        (folder / f"{verb}_{thing}.py").write_text("\n\n\n".join(functions))
    return folder.parent


@pytest.fixture(scope="module")
def done(package: Path, tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Quickstart:
    out = tmp_path_factory.mktemp("quick") / "start"
    return quickstart(out, model=str(tiny_folder), steps=6, functions=40, searched=30, paths=[package])


def test_it_leaves_an_encoder_a_report_and_answers(done: Quickstart) -> None:
    assert load(done.model, device="cpu").encode(["a boat"]).shape == (1, 32)
    page = done.page.read_text(encoding="utf-8")
    assert page.lower().startswith("<!doctype html")
    assert "held-out functions" in page
    assert set(done.answers) == set(QUESTIONS)
    for before, after in done.answers.values():
        assert before.function.startswith("handicraft.")
        assert after.summary
    assert all(0 <= score <= 1 for score in done.gain())
    told = done.to_dict()
    assert json.loads(json.dumps(told))["sentences"] == done.sentences > 100
    result = told["run"]["result"]
    assert result["steps"] == 6 and len(result["history"]) <= 2, "looked at before and after"


def test_it_ends_with_an_index_searched_in_all_modes(done: Quickstart) -> None:
    index = Index.open(done.index)
    assert len(index) == 40 + 30, "the held-out functions and as many others as were asked for"
    for question in QUESTIONS:
        assert list(done.found[question]) == ["words", "vectors", "both"]
        for mode, hit in done.found[question].items():
            assert (hit.id if hit else None) == next((each.id for each in index.search(question, mode=mode)), None)
    assert all(done.found[question]["vectors"] for question in QUESTIONS)
    assert "The same, searched" in done.page.read_text(encoding="utf-8")
    assert done.to_dict()["found"][QUESTIONS[0]]["both"]["id"].startswith("handicraft.")


def test_held_out_functions_are_not_learned_from(
    package: Path, tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mirrormask.data.docstrings.collecting import collect
    from mirrormask.data.docstrings.retrieval import hold_out
    from mirrormask.runs import quickstart as module

    learned: list[str] = []

    class Enough(Exception):
        pass

    def run(recipe: Any, out: Path, *, source: list[str], **_: Any) -> None:
        learned.extend(source)
        raise Enough

    monkeypatch.setattr(module, "run_recipe", run)
    with pytest.raises(Enough):
        quickstart(tmp_path / "q", model=str(tiny_folder), functions=40, paths=[package])
    held = hold_out(collect([package]), 40, 42)
    assert len(held.functions) == 40
    assert len(learned) > 50
    for function in held.functions:
        assert not [text for text in learned if function.summary in text], function.summary


def test_a_folder_in_the_way_is_said_before_any_work(
    package: Path, tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mirrormask.runs import quickstart as module

    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("no work before the folder is known to be free")

    monkeypatch.setattr(module, "load", never)
    monkeypatch.setattr(module, "collect", never)
    (tmp_path / "file").touch()
    with pytest.raises(MirrormaskError, match="a folder is needed"):
        quickstart(tmp_path / "file", model=str(tiny_folder), paths=[package])
    (tmp_path / "half" / "checkpoint").mkdir(parents=True)
    with pytest.raises(MirrormaskError, match="unfinished run"):
        quickstart(tmp_path / "half", model=str(tiny_folder), paths=[package])


def test_progress_is_told(package: Path, tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mirrormask.runs import quickstart as module

    seen: list[tuple[int, int]] = []

    class Enough(Exception):
        pass

    def stop(*_: Any, **__: Any) -> None:
        raise Enough

    monkeypatch.setattr(module, "hold_out", stop)
    watch: Callable[[int, int], None] = lambda done, total: seen.append((done, total))  # noqa: E731
    with pytest.raises(Enough):
        quickstart(tmp_path / "q", model=str(tiny_folder), paths=[package], progress=watch)
    assert seen[-1][0] == seen[-1][1] == len(list(package.rglob("*.py")))


def test_it_ends_with_the_next_command(
    package: Path,
    tiny_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from mirrormask.cli.quickstart import quickstart as command

    monkeypatch.setattr("mirrormask.data.docstrings.collecting.installed_roots", lambda: [package])
    command(
        tmp_path / "start",
        str(tiny_folder),
        steps=1,
        functions=40,
        searched=40,
        read=[],
        seed=42,
        resume=False,
        as_json=False,
        quiet=False,
    )
    said = capsys.readouterr()
    out = tmp_path / "start"
    assert f'Next: mirrormask similarity "read a csv file" "load a table from disk" --model {out}\n' in said.out
    assert f'Search: mirrormask search {out}/index "how do I read a csv file"\n' in said.out
    assert "The same functions, searched:" in said.out and "  both    " in said.out
    assert "Your own text: mirrormask train my.txt --out my-encoder" in said.out
    assert "Read 300 docstrings in 60 files in " in said.err and "40 functions held out" in said.err
    assert "docstrings left to learn from" in said.err and "texts kept of" in said.err
    similarity(["read a csv file", "load a table from disk"], str(out), as_json=False, quiet=False)
    assert -1 <= float(capsys.readouterr().out) <= 1
