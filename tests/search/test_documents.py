from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from mirrormask.core.errors import DataError
from mirrormask.search.documents import Document, Reading, check_sources, read_documents


def read(source: Any, **options: Any) -> tuple[list[Document], Reading]:
    reading = Reading(**options)
    return list(read_documents(source, reading)), reading


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "pile"
    (place / "inside").mkdir(parents=True)
    (place / "note.txt").write_text("One line.\nAnd another.\n", encoding="utf-8")
    (place / "inside" / "page.html").write_text("<title>Tea</title><p>Boil water.</p>", encoding="utf-8")
    (place / "read.md").write_text("# Boats\n\nThey float.\n", encoding="utf-8")
    (place / "rows.jsonl.gz").write_bytes(
        gzip.compress(b'{"id": 7, "text": "a row", "year": 2020}\n{"id": 8, "text": ""}\n')
    )
    (place / "picture.png").write_bytes(b"\x89PNG\0\0")
    (place / "binary.txt").write_bytes(b"text\0\0text" * 50)
    (place / "latin.txt").write_bytes("déjà vu".encode("latin-1") * 50)
    (place / "empty.txt").write_bytes(b"")
    (place / "cut.txt.gz").write_bytes(b"\x1f\x8b\x08\0\0")
    (place / ".hidden.txt").write_text("not this", encoding="utf-8")
    return place


def test_a_folder_is_read_and_the_rest_is_counted(folder: Path) -> None:
    found, reading = read(folder)
    assert [(each.id, each.text) for each in found] == [
        ("note.txt", "One line.\nAnd another.\n"),
        ("read.md", "# Boats\n\nThey float.\n"),
        ("7", "a row"),
        ("inside/page.html", "Boil water."),
    ]
    assert [each.metadata for each in found][1:] == [
        {"file": "read.md", "title": "Boats"},
        {"year": 2020},
        {"file": "inside/page.html", "title": "Tea"},
    ]
    assert dict(reading.skipped) == {"ending in .png": 1, "not text": 2, "empty": 1, "damaged": 1}
    assert reading.sentences()[0].startswith("5 files skipped: 2 not text")
    assert reading.sentences()[1] == "1 row without text left out"


def test_a_text_file_is_lines_where_it_is_named_and_one_document_in_a_folder(folder: Path) -> None:
    named, _ = read(folder / "note.txt")
    assert [each.text for each in named] == ["One line.", "And another."]
    assert [each.id for each in named] == [f"{folder / 'note.txt'}:1", f"{folder / 'note.txt'}:2"]
    whole, _ = read(folder / "note.txt", each="file")
    assert [each.text for each in whole] == ["One line.\nAnd another.\n"]
    lines, _ = read(folder, each="line")
    assert [each.id for each in lines][:2] == ["note.txt:1", "note.txt:2"]


def test_ids_that_repeat_are_numbered_and_nothing_is_lost() -> None:
    rows = [{"id": "a", "text": "one"}, {"id": "a", "text": "two"}, {"id": "b", "text": "three"}]
    found, reading = read([*rows, {"id": "a", "text": "four"}])
    assert [(each.id, each.text) for each in found] == [("a", "one"), ("a#2", "two"), ("b", "three"), ("a#3", "four")]
    assert reading.sentences() == [
        "2 documents came with an id that was there before, such as 'a', and nothing is dropped: "
        "the second is named 'a#2'"
    ]


def test_columns_are_chosen_or_named() -> None:
    rows = [{"_id": "x", "title": "Boats", "text": "They float.", "year": 1999, "when": None}]
    (one,), _ = read(rows)
    assert one == Document("x", "Boats\nThey float.", {"title": "Boats", "year": 1999, "when": None})
    (other,), _ = read(rows, column="title", id_column="year")
    assert other == Document("1999", "Boats", {"_id": "x", "text": "They float.", "when": None})
    with pytest.raises(DataError, match=r"no column 'txt'\. Did you mean 'text'\?"):
        read(rows, column="txt")
    with pytest.raises(DataError, match="holds no text but int"):
        read([{"id": 1, "text": 5, "body": "x"}], column="text")


def test_texts_in_python_are_numbered() -> None:
    found, _ = read(["one", "two"])
    assert [(each.id, each.text) for each in found] == [("0", "one"), ("1", "two")]
    with pytest.raises(DataError, match="Row 1 of the given texts is 5"):
        read(["one", 5])


def test_a_folder_without_text_is_said(tmp_path: Path) -> None:
    (tmp_path / "x.png").write_bytes(b"\0")
    with pytest.raises(DataError, match="holds no text: no file ending in .txt, .md"):
        check_sources([tmp_path])
    with pytest.raises(DataError, match="There is no file"):
        check_sources([tmp_path / "nothing.txt"])


def test_a_document_of_many_megabytes_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    path.write_text(json.dumps({"text": "many words " * 500_000}), encoding="utf-8")
    (found,), _ = read(path)
    assert len(found.text) == 5_500_000
