from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mirrormask.core.errors import DataError
from mirrormask.data.tasks.qrels import read_qrels
from mirrormask.data.tasks.retrieval_collection import find_collection, read_collection

Rows = list[dict[str, Any]]

DOCS: Rows = [{"id": "d1", "text": "a river bends"}, {"id": "d2", "text": ""}, {"id": "d3", "text": "snow on stones"}]
ASKED: Rows = [
    {"id": "q1", "text": "where does it bend"},
    {"id": "q2", "text": "what is white"},
    {"id": 3, "text": "x"},
]
QRELS = "q1\td1\t2\nq1\td3\t0\nq2\td3\t1\nq2\td9\t1\n3\td1\t0\nq8\td1\t1\n"


def lines(rows: Rows) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def folder(where: Path, files: Mapping[str, str]) -> Path:
    for name, content in files.items():
        path = where / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(content.encode()) if name.endswith(".gz") else content.encode())
    return where


def plain(where: Path, **changed: str) -> Path:
    files = {"docs.jsonl": lines(DOCS), "queries.jsonl": lines(ASKED), "qrels.tsv": QRELS}
    return folder(where, {**files, **{name.replace("_", "."): content for name, content in changed.items()}})


def test_a_folder_is_read_and_what_is_left_out_is_said(tmp_path: Path) -> None:
    found = read_collection(plain(tmp_path / "small"))
    assert found.name == "small"
    assert found.documents == ("d1", "d2", "d3")
    assert list(found.texts()) == ["a river bends", "", "snow on stones"]
    assert found.texts_of(["d3", "d9"]) == {"d3": "snow on stones"}
    assert found.query_ids == ("q1", "q2"), "the third has no relevant document: a gain of 0 is judged not relevant"
    assert found.queries == ("where does it bend", "what is white")
    assert found.relevant == ({"d1": 2.0}, {"d3": 1.0, "d9": 1.0})
    assert found.notes == (
        "2 queries among 3 documents",
        "1 query without a relevant document left out",
        "judgements of 1 that are not among the queries left out",
        "1 relevant document not in the collection count as not found",
    )


def test_beirs_layout_compressed_with_titles_and_splits(tmp_path: Path) -> None:
    corpus: Rows = [{"_id": "a", "title": "Rivers", "text": "bend."}, {"_id": "b", "title": "", "text": "Snow."}]
    header = "query-id\tcorpus-id\tscore\n"
    files = {
        "corpus.jsonl.gz": lines(corpus),
        "queries.jsonl.gz": lines([{"_id": "1", "text": "what bends"}, {"_id": "2", "text": "what is white"}]),
        "qrels/dev.tsv": f"{header}1\ta\t1\n",
        "qrels/test.tsv": f"{header}2\tb\t1\n",
    }
    where = folder(tmp_path / "beir", files)
    found = read_collection(where)
    assert list(found.texts()) == ["Rivers bend.", "Snow."]
    assert found.query_ids == ("2",)
    assert read_collection(where, split="dev").query_ids == ("1",)
    with pytest.raises(DataError, match=r"has no judgements 'train' \(it holds dev, test\).*--split"):
        read_collection(where, split="train")


def test_a_name_leads_under_the_data_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain(tmp_path / "retrieval" / "small")
    monkeypatch.setenv("MIRRORMASK_DATA", str(tmp_path))
    assert read_collection("retrieval/small").documents == ("d1", "d2", "d3")
    assert find_collection("retrieval/absent") is None
    with pytest.raises(DataError, match=r"There is no folder retrieval/absent. Give a folder with docs.jsonl"):
        read_collection("retrieval/absent")


def test_a_row_that_repeats_counts_once_and_one_id_with_two_texts_is_refused(tmp_path: Path) -> None:
    found = read_collection(plain(tmp_path / "a", docs_jsonl=lines([*DOCS, DOCS[0]])))
    assert len(found.documents) == len(list(found.texts())) == 3
    twice = lines([*DOCS, {"id": "d1", "text": "another"}])
    with pytest.raises(DataError, match=r"The id 'd1' has two different texts in .*docs.jsonl"):
        read_collection(plain(tmp_path / "b", docs_jsonl=twice))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"qrels_tsv": "q1\td1\n"}, r"Line 1 of .*qrels.tsv must be a query id, a document id and a gain"),
        ({"qrels_tsv": "q1\td1\t1\nq2\td1\thigh\n"}, r"Line 2 of .*qrels.tsv must be"),
        ({"qrels_tsv": "x\td1\t1\n"}, r"No query has a relevant document in .*qrels.tsv"),
        ({"qrels_tsv": "q1\tz\t1\n"}, r"None of the documents that .*qrels.tsv judges is among the documents"),
        ({"docs_jsonl": '{"id": "d1"}\n'}, r"Row 1 of .*docs.jsonl has no 'text'"),
        ({"docs_jsonl": '{"name": "d1", "text": "x"}\n'}, r"Row 1 of .*docs.jsonl has no 'id'"),
        ({"docs_jsonl": '{"id": "d1", "text": 4.5}\n'}, r"Row 1 of .*docs.jsonl: 'text' must be a text. Got 4.5"),
        ({"queries_jsonl": "not json\n"}, r"Line 1 of .*queries.jsonl is not JSON"),
        ({"docs_jsonl": ""}, r"docs.jsonl is empty"),
    ],
)
def test_what_is_damaged_is_one_sentence(tmp_path: Path, changed: dict[str, str], said: str) -> None:
    with pytest.raises(DataError, match=said):
        read_collection(plain(tmp_path / "bad", **changed))


def test_a_missing_file_is_named_with_what_is_there(tmp_path: Path) -> None:
    where = plain(tmp_path / "small")
    (where / "docs.jsonl").unlink()
    with pytest.raises(DataError, match=r"it has no docs or documents or corpus \(it holds qrels.tsv, queries.jsonl\)"):
        read_collection(where)


def test_qrels_of_trec_with_spaces_and_later_lines_count(tmp_path: Path) -> None:
    path = tmp_path / "qrels"
    path.write_text("q1 0 d1 -1\nq1 0 d2 1\nq1 0 d2 3\n\n")
    assert read_qrels(path) == {"q1": {"d1": 0.0, "d2": 3.0}}
