from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from mirrormask.core.errors import MirrormaskError
from mirrormask.study.compare import compare_rows
from mirrormask.study.description import Direction, Found, gather, read_study
from mirrormask.study.rows import find_rows
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
    assert page.startswith("# A study\n\n<!-- Written by: mirrormask study page.toml runs -->\n\nWhy it was made.")
    assert "5 of 6 rows were run, with 2 to 3 seeds each." in page
    assert "**Missing, because no runs were found:** absent." in page
    assert "Clearly better than Base, by the seeds or by the bootstrap: Good | better; many." in page
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
    numbers = json.loads((tmp_path / "out" / "page.json").read_text())
    assert [row["name"] for row in numbers["Table 1"]["rows"]] == ["base", "good", "bad"]


def test_rows_of_other_seeds_are_described_and_not_tested(found: Found) -> None:
    comparison = found.comparisons["Table 2"]
    assert comparison.tests == {}
    assert "described and not tested" in " ".join(comparison.notes())


@pytest.mark.parametrize(
    ("theirs", "ours", "there", "here", "words"),
    [
        (5.0, 2.0, True, True, "agrees"),
        (5.0, -2.0, True, True, "contradicts"),
        (0.1, -0.2, False, False, "agrees: no clear difference in either"),
        (5.0, 0.1, True, False, "clear in the paper only, same sign"),
        (0.1, -4.0, False, True, "clear here only, other sign"),
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
        ('title = "x"\nrecipes = "r"\nbaseline = "b"\n[[tables]]\nrow = []', r"\[tables\] of the study .* key 'row'"),
        ('title = "x"\nrecipes = "r"\nbaseline = "b"\n[cosines]\nrows = []', r"\[cosines\] of the study .* a 'label'"),
        ('title = "x"\nrecipes = "r"\nbaseline = "b"\ncosines = 1', r"\[cosines\] of the study .* must be a table"),
    ):
        path.write_text(text)
        with pytest.raises(MirrormaskError, match=message):
            read_study(path)
