from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirrormask.core.errors import DataError
from mirrormask.data.tasks.classified import Classified, read_classified

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def save(rows: list[dict[str, Any]], name: str = "rows.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    return save


def test_usual_columns_are_found_and_others_are_named(write: Write, tmp_path: Path) -> None:
    table = tmp_path / "rows.csv"
    table.write_text("Sentence,Class\na calm day,good\na lost key,bad\n", encoding="utf-8")
    found = read_classified(table)
    assert found.texts == ("a calm day", "a lost key") and found.labels == (("good",), ("bad",))
    path = write([{"body": "a calm day", "mood": "good"}, {"body": "a lost key", "mood": "bad"}])
    with pytest.raises(DataError, match=r"'body', 'mood'.* none of them is plainly the text\. Name it with --text-col"):
        read_classified(path)
    with pytest.raises(DataError, match="plainly the label. Name it with --label-column"):
        read_classified(path, text="body")
    with pytest.raises(DataError, match="no column 'moood'. Did you mean 'mood'"):
        read_classified(path, text="body", label="moood")
    assert read_classified(path, text="body", label="mood") == Classified(str(path), found.texts, found.labels)


def test_numbers_are_names_like_any_other(write: Write) -> None:
    rows = [{"text": "a", "label": label} for label in (10, 2, 2.0, "2")]
    found = read_classified(write(rows))
    assert found.labels == (("10",), ("2",), ("2",), ("2",))
    assert list(found.counts) == ["2", "10"], "in the order of their value"


def test_names_for_numbers(write: Write) -> None:
    path = write([{"text": "a", "label": 1}, {"text": "b", "label": 0}, {"text": "c", "label": "good"}])
    assert read_classified(path, names=("bad", "good")).labels == (("good",), ("bad",), ("good",))
    with pytest.raises(DataError, match="the label '1', and --names has names for 0 to 0"):
        read_classified(path, names=("good",))


@pytest.mark.parametrize("text", ["", "  ", None, 3])
def test_a_row_without_text_is_named(write: Write, text: object) -> None:
    path = write([{"text": "a", "label": "x"}, {"text": text, "label": "y"}])
    with pytest.raises(DataError, match="row 2: 'text' must be a text that is not empty"):
        read_classified(path)


@pytest.mark.parametrize("label", ["", " ", None, "nan", {"a": 1}])
def test_a_row_without_label_is_named(write: Write, label: object) -> None:
    path = write([{"text": "a", "label": "x"}, {"text": "b", "label": label}])
    with pytest.raises(DataError, match="row 2: 'label' must be a label that is not empty"):
        read_classified(path)


def test_a_row_that_lacks_a_column_is_named(write: Write) -> None:
    path = write([{"text": "a", "label": "x"}, {"text": "b"}])
    with pytest.raises(DataError, match="no column 'label' in row 2"):
        read_classified(path)


def test_scores_are_no_classes(write: Write) -> None:
    path = write([{"text": "a", "label": number / 7} for number in range(1, 9)])
    with pytest.raises(DataError, match="holds numbers such as .*, which are scores and no classes"):
        read_classified(path)


def test_several_labels(write: Write) -> None:
    path = write([{"text": "a", "label": "joy, love"}, {"text": "b", "label": ""}, {"text": "c", "label": "joy|joy"}])
    found = read_classified(path, several=True)
    assert found.labels == (("joy", "love"), (), ("joy",)) and found.several
    assert found.numbers(["joy", "love"]).tolist() == [[1, 1], [0, 0], [1, 0]]
    listed = read_classified(write([{"text": "a", "label": ["joy", "love"]}, {"text": "b", "label": "joy"}]))
    assert listed.several and listed.labels == (("joy", "love"), ("joy",)), "a list says so by itself"


def test_several_labels_are_not_taken_for_one(write: Write) -> None:
    rows = [{"text": "a", "label": label} for label in ("joy", "love", "joy,love")]
    with pytest.raises(DataError, match="holds 'joy,love' and its parts alone too.* --several"):
        read_classified(write(rows))
    assert len(read_classified(write([{"text": "a", "label": "joy, and more"}, {"text": "b", "label": "joy"}]))) == 2


def test_a_label_that_was_not_learned_is_named() -> None:
    data = Classified("rows.csv", ("a", "b"), (("joy",), ("angr",)))
    with pytest.raises(
        DataError, match=r"not learned: 'angr'\. Did you mean 'anger'\? It knows joy, anger\..*--skip-un"
    ):
        data.numbers(["joy", "anger"])
    assert data.numbers(["angr", "joy"]).tolist() == [1, 0]


def test_rows_that_repeat_are_left_out_and_contradictions_told() -> None:
    data = Classified("rows.csv", ("a", "b", "a", "b"), (("x",), ("x",), ("x",), ("y",)))
    kept, notes = data.once()
    assert kept.texts == ("a", "b", "b")
    assert notes == ["1 row that repeat another left out", "1 text that occur with another label too"]


def test_rows_of_some_classes() -> None:
    data = Classified("rows.csv", ("a", "b", "c"), (("x",), ("x", "y"), ("z",)), several=True)
    assert data.of_classes(["x", "y"]).texts == ("a", "b")
    assert np.array_equal(data.take([2, 0]).numbers(["x", "z"]), [[0, 1], [1, 0]])


def test_a_dataset_by_name(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "root" / "owner" / "set"
    folder.mkdir(parents=True)
    (folder / "test.jsonl").write_text('{"text": "a", "label": 1}\n', encoding="utf-8")
    monkeypatch.setenv("MIRRORMASK_DATA", str(tmp_path / "root"))
    assert read_classified("owner/set:test").texts == ("a",)
    with pytest.raises(DataError, match="nowhere.csv"):
        read_classified("some/nowhere.csv")
