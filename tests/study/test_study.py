from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.study.compare import compare_rows
from mirrormask.study.gathering import Direction, Found, gather
from mirrormask.study.rows import find_rows
from mirrormask.study.study_file import read_study
from mirrormask.study.study_page import write_study

Write = Callable[..., Path]

DESCRIPTION = """
title = "A study"
text = "Why it was made."
baseline = "base"
recipes = "{recipes}"
source = "the paper"
[names]
base = "Base"
good = "Good | better"
[[tables]]
label = "Table 1"
title = "Both"
rows = ["good", "bad", "absent"]
[[tables]]
label = "Table 2"
title = "Order alone"
rows = ["base-order"]
[[tables]]
label = "Table 3"
title = "Nothing here"
rows = ["absent"]
[[tables]]
label = "Figure 1"
title = "Numbers"
rows = ["many"]
[geometry]
label = "Table 4"
title = "Shape"
rows = ["base", "absent"]
task = "stsb"
[cosines]
label = "Figure 2"
title = "Cosines"
rows = ["base"]
[negatives]
label = "Figure 1"
rows = ["base", "many"]
"""


@pytest.fixture
def found(tmp_path: Path, write_row: Write, write_run: Write) -> Found:
    recipes = tmp_path / "recipes"
    recipes.mkdir()
    for name, shift in (("base", 0.0), ("good", 5.0), ("bad", -0.5)):
        numbers = "".join(f"{task} = {70 + shift}\n" for task in ("sts12", "sts13", "sts16", "stsb", "average"))
        (recipes / f"{name}.toml").write_text(f"[expect]\n{numbers}average_std = 1.1\n")
    (tmp_path / "page.toml").write_text(DESCRIPTION.format(recipes=recipes))
    runs = tmp_path / "runs"
    write_row(runs, "base", [1, 2, 3], noise=2.0, pairs=200)
    write_row(runs, "good", [1, 2, 3], noise=0.5, pairs=200)
    write_row(runs, "bad", [1, 2, 3], noise=2.02, pairs=200)
    write_row(runs, "many", [1, 2, 3], noise=1.0, negatives={"type": "Gaussian", "multiple": 4.0})
    for seed in (1, 2):
        folder = write_run(runs / "base-order" / f"seed-{seed}", "base-order", seed, noise=2.0)
        record = json.loads((folder / "scores.json").read_text())
        record["seeds"] = {"data": seed, "dropout": 42, "initialization": 42}
        (folder / "scores.json").write_text(json.dumps(record))
    return gather(read_study(tmp_path / "page.toml"), [runs], resamples=300)


def test_the_page_is_what_the_folders_say(found: Found, tmp_path: Path) -> None:
    written = write_study(found, tmp_path / "out", command="mirrormask study page.toml runs")
    page = (tmp_path / "out" / "page.md").read_text()
    written_by = "# A study\n\n<!-- Written by: mirrormask study page.toml runs -->\n\n"
    assert page.startswith(f"{written_by}> **In the author's words.**\n>\n> Why it was made.\n\n## In short")
    assert "5 of 6 rows are here, with 2 to 3 seeds each." in page
    assert "**Missing, because no runs were found:** absent." in page
    assert "Shown by the seeds to be better than Base: none." in page, "three seeds can show nothing"
    assert "Not to be told from it with so many seeds: 3 rows." in page
    assert (
        "Of 2 rows with published numbers 0 agree with the paper, 0 contradict it, and for 2 it cannot be told." in page
    )
    values = compare_rows(find_rows([tmp_path / "runs" / "good"])).values(found.rows["good"], "stsb")
    assert f"| Good \\| better | 3 | " in page  # noqa: F541
    assert f"{values.mean():.2f} ± {values.std(ddof=1):.2f}" in page
    assert "## Table 3: Nothing here\n\n**Missing:** absent." in page
    assert "The rows have other seeds" not in page.split("## Table 1")[0]
    assert re.search(r"\| Base \| 1 \| 0\.300 \| −2\.\d\d \| \d\d\.\d\d \|", page), "the shape, seed by seed"
    assert "goes from 0.90 to 0.98" in page
    assert "## Where this agrees with the paper, and where not" in page
    assert "| Good \\| better | 75.00 | +5.00 | " in page
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", page)
    assert sorted(pictures) == sorted(f"page/{path.name}" for path in written[2:])
    assert {"page/table-1.png", "page/negatives.png", "page/cosines.png"} <= set(pictures)
    assert all((tmp_path / "out" / picture).is_file() for picture in pictures)
    record = json.loads((tmp_path / "out" / "page.json").read_text())
    assert list(record["tables"]["Table 1"]) == ["good", "bad"]
    assert len(record["rows"]["good"]["runs"]) == 3


def test_a_page_is_written_again_from_its_record(found: Found, tmp_path: Path) -> None:
    first = write_study(found, tmp_path / "out", command="x")
    record = (tmp_path / "out" / "page.json").read_bytes()
    again = gather(found.study, [tmp_path / "out" / "page.json"], resamples=300)
    assert again.comparisons["Table 1"].tests == found.comparisons["Table 1"].tests, "tests and recorded intervals"
    second = write_study(again, tmp_path / "again", command="x")
    assert (tmp_path / "again" / "page.md").read_bytes() == (tmp_path / "out" / "page.md").read_bytes()
    assert (tmp_path / "again" / "page.json").read_bytes() == record
    for one, two in zip(first, second, strict=True):
        assert one.read_bytes() == two.read_bytes(), "figures too"
    in_place = write_study(again, tmp_path / "out", command="x")
    assert tmp_path / "out" / "page.json" not in in_place, "what a page is written from is not written over"
    with pytest.raises(MirrormaskError, match="The row 'bad' is in a record and in another place too"):
        gather(found.study, [tmp_path / "runs", tmp_path / "out" / "page.json"], resamples=0)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "There is no record"),
        ("{", "cannot be read"),
        ("[]", "is not of the kind 'mirrormask.study/1'"),
        ('{"schema": "mirrormask.study/1", "rows": {"a": {"runs": [{"scores": {}}]}}, "tables": {}}', "is damaged"),
    ],
)
def test_records_that_are_none(tmp_path: Path, content: str | None, says: str) -> None:
    path = tmp_path / "page.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(DataError, match=says):
        gather(None, [path])


def test_without_a_description_the_page_is_plain(tmp_path: Path, write_row: Write) -> None:
    write_row(tmp_path, "one", [1, 2], noise=2.0)
    write_row(tmp_path, "two", [1, 2], noise=1.0)
    found = gather(None, [tmp_path / "two", tmp_path / "one"], resamples=0)
    write_study(found, tmp_path, command="mirrormask study runs")
    page = (tmp_path / "study.md").read_text()
    assert "# Runs over seeds" in page
    assert "## All rows: against two" in page
    assert "author" not in page
    assert "recipe in" not in page


def test_rows_that_kept_their_start_are_named_on_the_page(tmp_path: Path, write_row: Write) -> None:
    write_row(tmp_path, "base", [1, 2], noise=2.0)
    write_row(tmp_path, "stuck", [1, 2], noise=1.0)
    for seed in (1, 2):
        file = tmp_path / "stuck" / f"seed-{seed}" / "scores.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), "best_step": 0}))
    write_study(gather(None, [tmp_path], resamples=0), tmp_path, command="x")
    page = (tmp_path / "study.md").read_text()
    assert "- Training did not help, every seed kept its start: stuck." in page
    assert "| training did not help: this is your start; " in page


def test_rows_of_other_seeds_are_described_and_not_tested(found: Found) -> None:
    comparison = found.comparisons["Table 2"]
    assert comparison.tests == {}
    assert "described and not tested" in " ".join(comparison.notes())


@pytest.mark.parametrize(
    ("theirs", "ours", "there", "here", "words"),
    [
        (5.0, 2.0, True, True, "agrees"),
        (5.0, -2.0, True, True, "contradicts"),
        (0.1, -0.2, False, False, "cannot be told: clear in neither, other sign"),
        (5.0, 0.1, True, False, "cannot be told: clear in the paper only, same sign"),
        (0.1, -4.0, False, True, "cannot be told: clear here only, other sign"),
    ],
)
def test_directions_in_words(theirs: float, ours: float, there: bool, here: bool, words: str) -> None:
    assert Direction(theirs, ours, there, here).words("the paper") == words


def test_a_study_needs_its_baseline(found: Found, tmp_path: Path) -> None:
    with pytest.raises(MirrormaskError, match="The baseline 'base' of the study has no runs there. Make them with"):
        gather(found.study, [tmp_path / "runs" / "good"])


def test_bad_descriptions(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    with pytest.raises(MirrormaskError, match="There is no study"):
        read_study(path)
    for text, message in (
        ("= 1", "is not TOML"),
        ('titel = "x"', "has no key 'titel'. Did you mean 'title'?"),
        ('title = "x"\nrecipes = "r"', "needs a 'baseline', as a text"),
        ('title = "x"\nbaseline = 3', "needs its 'baseline' as a text. Got 3"),
        ('title = "x"\nbaseline = "b"\nnames = 1', r"\[names\] of the study .* each row a text"),
        ('title = "x"\nbaseline = "b"\ntables = 1', r"are written as \[\[tables\]\]"),
        ('title = "x"\nbaseline = "b"\n[[tables]]\nlabel = "l"\nrows = "b"', "must be a list of names"),
        ('title = "x"\nrecipes = "r"\nbaseline = "b"\n[[tables]]\nrow = []', r"\[tables\] of the study .* key 'row'"),
        ('title = "x"\nrecipes = "r"\nbaseline = "b"\n[cosines]\nrows = []', r"\[cosines\] of the study .* a 'label'"),
        ('title = "x"\nrecipes = "r"\nbaseline = "b"\ncosines = 1', r"\[cosines\] of the study .* must be a table"),
    ):
        path.write_text(text)
        with pytest.raises(MirrormaskError, match=message):
            read_study(path)
