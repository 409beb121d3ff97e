from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.evaluation.own.labelled import LabelledTexts
from mirrormask.evaluation.own.pairs_task import PairsTask
from mirrormask.evaluation.own.queries import QueryDocuments
from mirrormask.evaluation.own.reading import KINDS, find_columns, read_own


def jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(
    ("there", "kind", "columns"),
    [
        (["sentence1", "sentence2", "score"], "pairs", ["sentence1", "sentence2", "score"]),
        (
            ["id", "Sentence_A", "sentence_B", "relatedness_score"],
            "pairs",
            ["Sentence_A", "sentence_B", "relatedness_score"],
        ),
        (["question1", "question2", "label"], "pairs", ["question1", "question2", "label"]),
        (["query", "document"], "retrieval", ["query", "document"]),
        (["anchor", "positive", "negative"], "retrieval", ["anchor", "positive"]),
        (["text", "label"], "labels", ["text", "label"]),
        (["review", "sentiment", "id"], "labels", ["review", "sentiment"]),
    ],
)
def test_the_kind_is_told_from_the_columns(there: list[str], kind: str, columns: list[str]) -> None:
    found, chosen = find_columns(there, source="x.csv")
    assert (found, list(chosen.values())) == (kind, columns)
    assert list(chosen) == list(KINDS[kind])


def test_columns_can_be_named() -> None:
    there = ["headline", "story", "topic"]
    found = find_columns(there, source="x.csv", columns={"query": "headline", "document": "story"})
    assert found == ("retrieval", {"query": "headline", "document": "story"})
    assert find_columns(there, source="x.csv", columns={"text": "story"}) == (
        "labels",
        {"text": "story", "label": "topic"},
    )


def test_several_kinds_need_a_word() -> None:
    there = ["query", "document", "text", "label"]
    with pytest.raises(DataError, match=r"fit several kinds of data: retrieval, labels. Say which with --kind"):
        find_columns(there, source="x.csv")
    assert find_columns(there, source="x.csv", kind="labels")[0] == "labels"


def test_columns_that_say_nothing_list_what_is_needed() -> None:
    with pytest.raises(DataError) as caught:
        find_columns(["a", "b"], source="x.csv")
    assert str(caught.value) == (
        "The columns of x.csv are 'a', 'b', and none of these sets is among them: pairs: sentence1, sentence2, score; "
        "retrieval: query, document; labels: text, label. "
        "Name them with --column sentence1=NAME --column sentence2=NAME --column score=NAME."
    )
    with pytest.raises(
        DataError, match=r"retrieval: query, document. Name them with --column query=NAME --column document=NAME"
    ):
        find_columns(["a", "b"], source="x.csv", kind="retrieval")


@pytest.mark.parametrize(
    ("columns", "kind", "message"),
    [
        (
            {"query": "headlin"},
            None,
            r"x.csv has no column 'headlin'. Did you mean 'headline'. Its columns are: headline",
        ),
        ({"querry": "headline"}, None, "Did you mean 'query'"),
        ({"query": "headline"}, "labels", "must be one of text, label. Got 'query'"),
        ({"query": "headline", "label": "headline"}, None, "belong to different kinds of data"),
    ],
)
def test_wrong_names_are_told(columns: dict[str, str], kind: str | None, message: str) -> None:
    with pytest.raises(MirrormaskError, match=message):
        find_columns(["headline", "story"], source="x.csv", kind=kind, columns=columns)


def test_an_unknown_kind_gets_a_suggestion() -> None:
    with pytest.raises(MirrormaskError, match="Did you mean 'labels'"):
        find_columns(["text", "label"], source="x.csv", kind="label")


def test_each_kind_is_read(tmp_path: Path) -> None:
    texts = [f"text number {row}" for row in range(12)]
    pairs = [{"sentence1": text, "sentence2": text + "!", "score": row} for row, text in enumerate(texts)]
    assert isinstance(read_own(jsonl(tmp_path / "p.jsonl", pairs)), PairsTask)
    asked = [{"query": text, "document": text + "!", "other": 1} for text in texts]
    assert isinstance(read_own(jsonl(tmp_path / "q.jsonl", asked)), QueryDocuments)
    labelled = [{"text": text, "label": row % 2} for row, text in enumerate(texts)]
    task = read_own(jsonl(tmp_path / "l.jsonl", labelled))
    assert isinstance(task, LabelledTexts)
    assert task.classes == ["0", "1"]


def test_a_csv_is_read_with_its_numbers_as_text(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("sentence1,sentence2,score\n" + "".join(f"a {row},b {row},{row / 2}\n" for row in range(12)))
    task = read_own(path)
    assert isinstance(task, PairsTask)
    assert task.pairs.scores[3] == 1.5


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"text": "x", "label": None}, "row 3: 'label' must be a label that is not empty. Got None."),
        ({"text": "x", "label": float("nan")}, "row 3: 'label' must be a label that is not empty. Got nan."),
        ({"text": "x", "label": "  "}, "row 3: 'label' must be a label that is not empty. Got '  '."),
        ({"text": "", "label": "a"}, "row 3: 'text' must be a text that is not empty. Got ''."),
        ({"text": None, "label": "a"}, "row 3: 'text' must be a text that is not empty. Got None."),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    good = {"text": "fine", "label": "a"}
    path = jsonl(tmp_path / "l.jsonl", [good, good, row])
    with pytest.raises(DataError) as caught:
        read_own(path)
    assert str(caught.value) == f"{path}, {message}"


@pytest.mark.parametrize("score", ["high", "", None, float("nan")])
def test_a_score_that_is_no_number_is_named(tmp_path: Path, score: Any) -> None:
    path = jsonl(tmp_path / "p.jsonl", [{"sentence1": "a", "sentence2": "b", "score": score}])
    with pytest.raises(DataError, match=r"row 1: 'score' must be a number. Got "):
        read_own(path)


def test_a_missing_file_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="There is no file"):
        read_own(tmp_path / "absent.csv")
