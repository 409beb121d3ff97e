from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.data.tasks.sts_tasks import STS_SUITE, STS_TASKS, load_sts
from mirrormask.data.text import sources
from mirrormask.data.text.sources import DatasetMissing, dataset_roots

PAIR = {"sentence1": "A cat sleeps.", "sentence2": "A cat is asleep.", "score": 4.5}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MIRRORMASK_DATA", str(tmp_path))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.delenv("HF_DATASETS_OFFLINE", raising=False)
    return tmp_path


def write(root: Path, name: str, rows: list[dict[str, Any]]) -> Path:
    source = STS_TASKS[name]
    path = root / source.dataset / f"{source.split}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_task_is_read_with_its_subsets(root: Path) -> None:
    path = write(root, "sts12", [{**PAIR, "subset": "a"}, {**PAIR, "score": "0.5", "subset": "b"}])
    task = load_sts("sts12")
    assert (task.name, task.split, task.source, task.subsets) == ("sts12", "test", str(path), ("a", "b"))
    assert task.sentence1 == ("A cat sleeps.",) * 2
    np.testing.assert_array_equal(task.scores, [4.5, 0.5])
    assert len(task) == 2
    assert not task.single
    assert task.note == ""


def test_without_subset_labels_a_task_of_subsets_says_what_is_lost(root: Path) -> None:
    write(root, "sts13", [PAIR, PAIR])
    task = load_sts("sts13")
    assert task.subsets is None
    assert "only 'all'" in task.note


def test_a_single_set_has_no_subsets(root: Path) -> None:
    write(root, "stsb-dev", [{**PAIR, "genre": "main-news"}, PAIR])
    task = load_sts("stsb-dev")
    assert task.single
    assert task.subsets is None
    assert task.note == ""


def test_the_sickr_of_mteb_is_told_apart_from_the_papers(root: Path) -> None:
    write(root, "sickr", [PAIR] * 9927)
    assert "4,927" in load_sts("sickr").note


@pytest.mark.parametrize("score", [None, float("nan"), float("inf"), "n/a", True])
def test_a_score_that_is_no_number_names_file_and_row(root: Path, score: Any) -> None:
    path = write(root, "stsb", [PAIR, {**PAIR, "score": score}])
    with pytest.raises(DataError, match=r"row 2: 'score' must be a number. Got ") as caught:
        load_sts("stsb")
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("text", [None, "  ", 3])
def test_a_text_that_is_missing_names_file_and_row(root: Path, text: Any) -> None:
    write(root, "stsb", [PAIR, PAIR, {**PAIR, "sentence2": text}])
    with pytest.raises(DataError, match=r"row 3: 'sentence2' must be a text"):
        load_sts("stsb")


def test_subset_labels_on_some_rows_only_are_refused(root: Path) -> None:
    write(root, "sts14", [{**PAIR, "subset": "a"}, PAIR])
    with pytest.raises(DataError, match="1 of 2 rows have no 'subset'"):
        load_sts("sts14")


def test_an_unknown_task_gets_a_suggestion(root: Path) -> None:
    with pytest.raises(MirrormaskError, match="Did you mean 'stsb"):
        load_sts("sts-b")


def test_missing_data_is_its_own_error(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_silent_until", [float("inf")])
    with pytest.raises(DatasetMissing, match=r"mteb/sts16-sts/test.jsonl.gz"):
        load_sts("sts16")


def test_the_suite_is_the_papers_seven_tasks() -> None:
    assert len(STS_SUITE) == 7
    assert set(STS_SUITE) <= set(STS_TASKS)


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "size", "subsets"),
    [
        ("sts12", 3108, 5),
        ("sts13", 1500, 3),
        ("sts14", 3750, 6),
        ("sts15", 3000, 5),
        ("stsb", 1379, 0),
        ("stsb-dev", 1500, 0),
    ],
)
def test_the_real_tasks_have_their_published_sizes(name: str, size: int, subsets: int) -> None:
    if not dataset_roots():
        pytest.skip("MIRRORMASK_DATA is not set")
    task = load_sts(name)
    assert len(task) == size
    assert len(set(task.subsets or ())) == subsets
