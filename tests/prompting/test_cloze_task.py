from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.prompting.benchmark_rows import ROWS
from mirrormask.prompting.cloze_rows import examples_of, read_examples
from mirrormask.prompting.cloze_task import built_in, open_task, task_of

SUPERGLUE = ("boolq", "cb", "copa", "multirc", "record", "rte", "wic", "wsc")

TOML = """
label = "stars"
patterns = ["{text} It was [MASK].", { template = "Just [MASK]! {text}", words = { "1" = "nice", "0" = ["dull"] } }]
[words]
1 = ["good", "great"]
0 = ["bad"]
[columns]
text = ["title", "review"]
[same]
yes = "1"
"""


def test_the_tasks_that_are_built_in() -> None:
    assert set(built_in()) >= {*SUPERGLUE, "ag-news", "yelp", "imdb", "mr", "mnli", "snli", "sentiment-zh", "news-zh"}
    for name in built_in():
        task = open_task(name)
        assert task.questions
        assert bool(task.labels) == (name not in ("copa", "record"))
    assert len(open_task("sentiment-zh").questions) == 5
    assert len(open_task("ag-news").questions) == 6


def test_a_task_of_one_s_own(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(TOML)
    task = open_task(str(tmp_path / "mine.toml"))
    assert task.labels == ("1", "0")
    assert task.verbalizer(task.questions[1]).words == {"1": ("nice",), "0": ("dull",)}
    file = tmp_path / "reviews.csv"
    file.write_text("title,review,stars\nA walk,calm and long,1\nA run,too hot,0\nA swim,cold,yes\n")
    examples = read_examples(file, task)
    assert examples.fields[0] == {"text": "A walk calm and long"}
    assert examples.labels == ["1", "0", "1"]
    assert examples.numbers(task.labels).tolist() == [0, 1, 0]
    other = open_task(str(tmp_path / "mine.toml"), {"1": ["fine"], "0": ["poor"]})
    assert {other.verbalizer(each).words["1"] for each in other.questions} == {("fine",)}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"pattern": []}, "'pattern', which is nothing that a task has. Did you mean 'patterns'"),
        ({"patterns": []}, "has no patterns"),
        ({"patterns": "{text} [MASK]"}, "must be a list"),
        ({"patterns": [7]}, "must be a template, or a table"),
        ({"patterns": ["{text} good"]}, r"no \[MASK\]"),
        ({"words": {"1": ["good"], "0": []}}, "label '0' has no word"),
        ({"words": {"1": [3], "0": ["bad"]}}, "must be texts"),
        ({"columns": {"text": []}}, "must be names"),
        ({"same": {"yes": "2"}}, "'yes' is to be the same as '2', which is no label"),
        ({"reader": "tabel"}, "Did you mean 'table'"),
        ({"patterns": [{"template": "{text} [MASK]", "words": {"1": "x"}}]}, "At least two labels"),
    ],
)
def test_what_is_wrong_with_a_task_is_said(change: dict[str, Any], says: str) -> None:
    table = {"patterns": ["{text} It was [MASK]."], "words": {"1": ["good"], "0": ["bad"]}}
    with pytest.raises(MirrormaskError, match=says):
        task_of("mine", {**table, **change})


def test_names_that_are_no_task_are_said(tmp_path: Path) -> None:
    with pytest.raises(
        MirrormaskError, match=r"no template, since it has no \[MASK\], and no task. Did you mean 'imdb'"
    ):
        open_task("imbd")
    with pytest.raises(MirrormaskError, match="cannot be read"):
        open_task(str(tmp_path / "none.toml"))
    (tmp_path / "bad.toml").write_text("patterns = [")
    with pytest.raises(MirrormaskError, match="is not TOML"):
        open_task(str(tmp_path / "bad.toml"))


def test_rows_that_are_not_as_they_should_be_are_named(tmp_path: Path) -> None:
    task = open_task("It was [MASK].", {"good": ["good"], "bad": ["bad"]})
    file = tmp_path / "few.csv"
    file.write_text("text,label\na calm walk,good\na hot run,ugly\n")
    with pytest.raises(DataError, match=r"row 2: the label 'ugly' in 'label' is none of good, bad"):
        read_examples(file, task)
    assert read_examples(file, task, labels="known").labels == []
    assert len(read_examples(file, task, labels="none", limit=1)) == 1
    file.write_text("text,label\na calm walk,good\n,bad\n")
    with pytest.raises(DataError, match="row 2: 'text' must be a text that is not empty"):
        read_examples(file, task)
    file.write_text("text,lable\na calm walk,good\n")
    with pytest.raises(DataError, match="no column 'label' with labels. Did you mean 'lable'.*--label-column"):
        read_examples(file, task)
    assert read_examples(file, task, column="lable").labels == ["good"]
    two = open_task("{a} or {b}? [MASK]", {"good": ["good"], "bad": ["bad"]})
    with pytest.raises(DataError, match="no column 'a' for the field {a}"):
        read_examples(file, two, labels="none")


def test_the_column_that_plainly_holds_text_is_read(tmp_path: Path) -> None:
    task = open_task("It was [MASK].", {"good": ["good"], "bad": ["bad"]})
    (tmp_path / "few.csv").write_text("id,review,label\n1,a calm and long walk by the sea,good\n")
    assert read_examples(tmp_path / "few.csv", task).fields == [{"text": "a calm and long walk by the sea"}]


def test_benchmarks_in_their_own_layouts() -> None:
    copa = {
        "premise": "The lamp fell.",
        "choice1": "It broke.",
        "choice2": "It sang.",
        "question": "effect",
        "label": 0,
    }
    found = examples_of([copa], open_task("copa"), "here")
    assert found.choices == [("it broke", "it sang")]
    assert found.fields[0]["joint"] == "so"
    assert found.numbers(()).tolist() == [0]
    answers = [{"text": "A cat.", "label": 1}, {"text": "A dog.", "label": 0}]
    passage = {"text": "A cat slept.", "questions": [{"question": "Who slept?", "answers": answers, "idx": 4}]}
    found = examples_of([{"passage": passage}], open_task("multirc"), "here")
    assert found.labels == ["1", "0"]
    assert len(set(found.groups)) == 1
    text = "Ann met Bob.\n@highlight\nBob smiled"
    query = {"query": "Then @placeholder left.", "answers": [{"text": "Bob"}], "idx": 1}
    spans = [{"start": 0, "end": 2}, {"start": 8, "end": 10}]
    found = examples_of([{"passage": {"text": text, "entities": spans}, "qas": [query]}], open_task("record"), "here")
    assert found.choices == [("Ann", "Bob")]
    assert found.labels == ["1"]
    assert found.fields[0]["before"] == "Then"
    target = {"span1_text": "Ann", "span2_text": "she", "span1_index": 0, "span2_index": 4}
    found = examples_of(
        [{"text": "Ann slept because so she dreamed.", "target": target, "label": True}], open_task("wsc"), "here"
    )
    assert found.fields[0]["text"] == "Ann slept because so *she* dreamed."
    assert found.labels == ["True"]
    with pytest.raises(DataError, match="not laid out as the task's files are"):
        list(ROWS["record"](json.loads('{"text": "a"}')))
