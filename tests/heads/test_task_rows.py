from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.heads.task_rows import read_rows, split_rows
from mirrormask.heads.task_specs import Plan, Task, read_plan

MOODS = "".join(f"{i},the soup was {'fine' if i % 2 else 'cold'} on day {i},{i % 2}.0\n" for i in range(40))
SENTIMENT = Task("mood", "classification", text=("sentence",), label="mood")
PARAPHRASE = Task("same", "paraphrase", label="same")
SIMILARITY = Task("near", "similarity", label="near")


def put(folder: Path, text: str) -> str:
    file = folder / "rows.csv"
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_rows_of_every_kind(tmp_path: Path) -> None:
    rows = read_rows(SENTIMENT, put(tmp_path, f"id,sentence,mood\n{MOODS}"))
    assert rows.classes == ("0", "1")
    assert rows.labels.tolist() == [0, 1] * 20
    rows = read_rows(PARAPHRASE, put(tmp_path, "sentence1,sentence2,same\na,b,1.0\nc,d,0\ne,f,True\ng,h,-1\n"))
    assert rows.labels.tolist() == [1, 0, 1, 0]
    assert rows.columns == (("a", "c", "e", "g"), ("b", "d", "f", "h"))
    rows = read_rows(SIMILARITY, put(tmp_path, "sentence1,sentence2,near\na,b,0\nc,d,4.75\n"))
    assert rows.labels.tolist() == [0, 4.75]


def test_a_share_is_set_aside_with_the_same_part_of_every_class(tmp_path: Path) -> None:
    source = put(tmp_path, f"id,sentence,mood\n{MOODS}")
    task = Task("mood", "classification", train=source, dev=0.2, text=("sentence",), label="mood")
    train, dev = split_rows(task, seed=1)
    assert (len(train), len(dev)) == (32, 8)
    assert dev.labels.mean() == 0.5
    assert not set(train.columns[0]) & set(dev.columns[0])
    again = split_rows(task, seed=1)[1]
    assert again.columns == dev.columns
    with pytest.raises(DataError, match=r"A share of 0.01 sets 0 of the 40 rows .* aside, and at least 2"):
        split_rows(Task("m", "classification", train=source, dev=0.01, text=("sentence",), label="mood"), seed=1)


@pytest.mark.parametrize(
    ("task", "text", "message"),
    [
        (
            PARAPHRASE,
            "sentence1,sentence2,same\na,b,2\n",
            r"row 1: 'same' must be 1 \(.*\) or 0. Got '2'",
        ),
        (PARAPHRASE, "sentence1,sentence2,same\na,b,\n", r"row 1: 'same' must be 1 .* Got "),
        (
            SIMILARITY,
            "sentence1,sentence2,near\na,b,3\nc,d,5.1\n",
            "row 2: 'near' .* number from 0 to 5. Got '5.1'",
        ),
        (SIMILARITY, "sentence1,sentence2,near\na,b,nan\n", "row 1: 'near' must be a number from 0 to 5. Got 'nan'"),
        (SIMILARITY, "sentence1,sentence2,near\na,b,many\n", "row 1: 'near' must be a number from 0 to 5. Got 'many'"),
        (SIMILARITY, "sentence1,sentence2,score\na,b,1\n", "'near'.*score"),
        (SIMILARITY, "sentence1,sentence2,near\na, ,1\n", "row 1: 'sentence2' must be a text that is not empty"),
        (SENTIMENT, "sentence,mood\na,\nb,1\n", "row 1: 'mood' must be the name or number of a class"),
        (SENTIMENT, "sentence,mood\na,NaN\nb,1\n", "row 1: 'mood' must be the name or number of a class"),
        (SENTIMENT, "sentence,mood\na,1\nb,1\n", "All rows of .* have the mood '1'"),
    ],
)
def test_a_label_outside_its_range_is_named(tmp_path: Path, task: Task, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_rows(task, put(tmp_path, text))


def test_rows_without_a_label_are_left_out_where_it_is_asked_for(tmp_path: Path) -> None:
    source = put(tmp_path, "sentence1,sentence2,same\na,b,1\nc,d,\n,f,0\ng,h,0\n")
    rows = read_rows(Task("same", "paraphrase", label="same", skip_empty=True), source)
    assert (rows.labels.tolist(), rows.skipped) == ([1, 0], 2)
    with pytest.raises(DataError, match="row 2: 'same' must be 1"):
        read_rows(PARAPHRASE, source)


def test_a_class_that_was_not_learned(tmp_path: Path) -> None:
    source = put(tmp_path, "sentence,mood\na,good\nb,bad\nc,god\n")
    with pytest.raises(DataError, match=r"row 3: 'mood' must be one of bad, good. Got 'god'. Did you mean 'good'"):
        read_rows(SENTIMENT, source, classes=("bad", "good"))
    named = Task("m", "classification", text=("sentence",), label="mood", classes=("bad", "good"))
    assert read_rows(named, put(tmp_path, "sentence,mood\na,1\nb,bad\n")).labels.tolist() == [1, 0]
    with pytest.raises(DataError, match="row 2: 'mood' must be one of bad, good. Got '2'"):
        read_rows(named, put(tmp_path, "sentence,mood\na,1\nb,2\n"))


TOML = """
[model]
name = "mini"
[training]
steps = 30
sampling = "annealed"
seed = 7
[tasks.near]
kind = "similarity"
train = "pairs.csv"
label = "near"
dev = 0.2
"""


def plan(folder: Path, text: str) -> Plan:
    (folder / "tasks.toml").write_text(text, encoding="utf-8")
    return read_plan(folder / "tasks.toml")


def test_a_plan_is_read(tmp_path: Path) -> None:
    found = plan(tmp_path, TOML)
    assert (found.model, found.sampling, found.seed, dict(found.training)) == ("mini", "annealed", 7, {"steps": 30})
    assert found.tasks["near"].columns == ("sentence1", "sentence2")
    assert (found.tasks["near"].dev, found.tasks["near"].measure) == (0.2, "Pearson")
    assert list(found.only(["near"]).tasks) == ["near"]
    with pytest.raises(MirrormaskError, match="The 'task' of the plan must be one of near. Got 'nar'. Did you mean"):
        found.only(["nar"])


def test_every_problem_of_a_plan_is_in_one_error(tmp_path: Path) -> None:
    broken = TOML.replace("steps = 30", "steps = -1\nlearning = 1").replace('kind = "similarity"', 'kind = "closeness"')
    with pytest.raises(MirrormaskError) as caught:
        plan(tmp_path, f'{broken}\n[task.x]\nkind = "paraphrase"')
    assert "There is no table [task]. Did you mean 'tasks'?" in str(caught.value)
    with pytest.raises(MirrormaskError) as caught:
        plan(tmp_path, f'{broken}\nweight = "much"\n[tasks.two]\ntrain = "x.csv"')
    said = str(caught.value)
    assert "has 4 problems" in said
    for part in ("no key 'learning'", "'steps' of training must be at least 0", "[tasks.two] needs a kind"):
        assert part in said
    assert "weight must be a number. Got 'much'" in said
    with pytest.raises(MirrormaskError, match="There is no task"):
        plan(tmp_path, "[model]\nname = 'mini'")
    with pytest.raises(MirrormaskError, match="cannot be read as TOML"):
        plan(tmp_path, "tasks = ")
    with pytest.raises(MirrormaskError, match="There is no file"):
        read_plan(tmp_path / "none.toml")
    with pytest.raises(MirrormaskError, match=r"must name two columns. Got \['text'\]"):
        plan(tmp_path, TOML.replace('label = "near"', 'label = "near"\ntext = "text"'))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": "a/b"}, "The name of a task is a file name too: without slashes, not empty. Got 'a/b'"),
        ({"scale": (0.0, float("inf"))}, "The 'scale' of the task near must rise and be finite"),
        ({"scale": (5.0, 0.0)}, "The 'scale' of the task near must rise"),
        ({"weight": float("nan")}, "The 'weight' of the task near must be above 0. Got nan"),
        ({"hinge": 1.0}, "The 'hinge' of the task near must be at least -1 and below 1. Got 1.0"),
        ({"dev": 1.0}, "The 'dev' of the task near must be at least 0 and below 1. Got 1.0"),
        ({"batch_size": 0}, "The 'batch_size' of the task near must be at least 1. Got 0"),
    ],
)
def test_values_that_no_task_can_have(given: dict[str, Any], message: str) -> None:
    with pytest.raises(MirrormaskError, match=message):
        Task(**{"name": "near", "kind": "similarity", **given})


def test_real_tasks_are_read(shared_data: Path) -> None:
    rows = read_rows(Task("s", "similarity", label="similarity"), "cs224n/sts:validation")
    assert len(rows) == 863
    assert 0 <= rows.labels.min() < rows.labels.max() <= 5
    quora = read_rows(Task("q", "paraphrase", label="is_duplicate", skip_empty=True), "cs224n/quora:validation")
    assert np.unique(quora.labels).tolist() == [0, 1]
    assert quora.skipped == 2
