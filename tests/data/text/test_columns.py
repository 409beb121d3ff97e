from __future__ import annotations

from pathlib import Path

import pytest

from mirrormask.core.errors import DataError
from mirrormask.data.text.columns import choose_column, warn_of_numbers
from mirrormask.data.text.corpus import build_corpus

REVIEWS = [
    {"id": f"8f14e45f-{i:04d}-4c1b", "when": f"2024-03-{i + 1:02d}", "stars": str(i % 5), "by": f"Ada {i} Guest"}
    | {"review": f"the {i} rooms were calm and the breakfast came late but warm"}
    for i in range(20)
]


def test_the_column_of_long_and_varied_texts_is_taken_and_said(tmp_path: Path) -> None:
    path = tmp_path / "reviews.csv"
    lines = [",".join(REVIEWS[0])] + [",".join(row.values()) for row in REVIEWS]
    path.write_text("\n".join(lines))
    corpus = build_corpus(path, tmp_path / "corpus")
    assert corpus[3] == REVIEWS[3]["review"]
    assert "the texts in 'review' are the longest, so it is read. 20 texts kept" in str(corpus.report)
    assert str(build_corpus(path, tmp_path / "corpus").report) == str(corpus.report), "said again when it is there"


def test_a_repeated_text_weighs_little() -> None:
    rows = [{"note": f"room {i} by the sea", "footer": "sent from the desk of the old hotel"} for i in range(30)]
    assert choose_column("x", rows, []) == ["note"]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([{"a": "x", "b": "y"}], r"several columns \(a, b\), and a, b may hold the text\..*--column a"),
        ([{"id": "1", "left": "so it is", "right": "it was so"}], r"and left, right may hold.*--column left"),
        ([{"id": "1", "stars": "5"}], r"and id, stars may hold"),
    ],
)
def test_what_cannot_be_told_lists_the_likely_ones(rows: list[dict[str, str]], says: str) -> None:
    with pytest.raises(DataError, match=says):
        choose_column("x.csv", rows, [])


def test_a_column_of_numbers_is_read_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    path.write_text("price\n" + "\n".join(f'"${i},100.50"' for i in range(9)))
    report = build_corpus(path, tmp_path / "corpus").report
    assert report.notes == (f"Warning: the column 'price' of {path} holds numbers, not texts",)
    notes: list[str] = []
    warn_of_numbers("x", ["a"], [{"a": "12 angry men"}, {"a": None}, {"a": "7"}], notes)
    assert notes == []
