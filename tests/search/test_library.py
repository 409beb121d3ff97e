from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mirrormask.core.errors import DataError
from mirrormask.search.documents import Document
from mirrormask.search.library import Library, LibraryWriter
from mirrormask.search.passages import Cutting, cut
from mirrormask.search.run_files import read_queries

DOCUMENTS = [
    Document("één", "Plain words. And more of them, to fill it up with some. Good.", {"n": 1, "tags": ["ä"]}),
    Document("二", "今天下雨。我们在家看书，猫在厨房睡觉。" * 3, {}),
    Document("half", "a lone \ud800 half", {"odd": "\ud800"}),
]


def test_documents_come_back_as_they_were(tmp_path: Path) -> None:
    writer = LibraryWriter(tmp_path)
    places = [cut(document.text, Cutting(words=8)) for document in DOCUMENTS]
    for document, own in zip(DOCUMENTS, places, strict=True):
        writer.add(document, own)
    writer.finish()
    library = Library(tmp_path)
    texts = [document.text.replace("\ud800", "?") for document in DOCUMENTS]
    assert [library.text(n) for n in range(3)] == texts
    assert library.ids([2, 0]) == ["half", "één"]
    assert library.metadata(0) == {"n": 1, "tags": ["ä"]}
    wanted = [text[a:b] for text, own in zip(texts, places, strict=True) for a, b in own]
    assert [library.passage(row) for row in range(len(wanted))] == wanted and len(wanted) > 5
    row = int(library.passages_of(1)[-1])
    begin, end = library.place(row)
    assert texts[1][begin:end] == library.passage(row)
    assert [each[1] for each in library.each(lambda number: True)] == places
    assert library.find("二", np.ones(3, dtype=bool)) == 1
    assert library.find("二", np.array([True, False, True])) is None
    assert library.columns == ["n", "tags", "odd"]


def test_queries_are_read_from_lines_and_tables(tmp_path: Path) -> None:
    lines = tmp_path / "q.txt"
    lines.write_text("first\n\nthird\n", encoding="utf-8")
    assert read_queries(lines) == [("1", "first"), ("3", "third")]
    table = tmp_path / "q.tsv"
    table.write_text("qid\tquery\nx\tone\ny\ttwo\n", encoding="utf-8")
    assert read_queries(table) == [("x", "one"), ("y", "two")]
    table.write_text("qid\tquery\nx\tone\nx\ttwo\n", encoding="utf-8")
    with pytest.raises(DataError, match="gives 1 of its queries an id that another has"):
        read_queries(table)
    table.write_text("qid\tquery\nx\t \n", encoding="utf-8")
    with pytest.raises(DataError, match="The query in row 1 of .* is empty"):
        read_queries(table)
    table.write_text("a\tb\nx\ty\n", encoding="utf-8")
    with pytest.raises(DataError, match="has no column of queries. Name one of its columns query: a, b."):
        read_queries(table)


def test_a_later_passage_is_searched_with_its_title(tmp_path: Path) -> None:
    title = "Moving a piano"
    documents = [
        Document("row", title + "\nLift with your knees. Never with your back. Ask for help.", {"title": title}),
        Document("page", "Lift with your knees.", {"title": title}),
        Document("bare", "Lift with your knees.", {"title": ["no", "text"]}),
    ]
    writer = LibraryWriter(tmp_path)
    for document in documents:
        writer.add(document, cut(document.text, Cutting(words=8)))
    library = writer.finish()
    first, *later = (library.titled(int(row)) for row in library.passages_of(0))
    assert first.startswith(title) and first.count(title) == 1
    assert later and all(text.startswith(title + "\n") for text in later)
    assert [library.titled(int(library.passages_of(number)[0])) for number in (1, 2)] == [
        f"{title}\nLift with your knees.",
        "Lift with your knees.",
    ]
