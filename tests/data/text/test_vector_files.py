from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from mirrormask.core.errors import DataError
from mirrormask.data.text.vector_files import read_vectors

WORDS = ["the", "boat", "naïve", "été"]
ROWS = np.array([[0.5, -1, 2], [1, 0, 0], [0.25, 0.5, 0.75], [-1, -2, -3]], dtype=np.float32)
LINES = [f"{word} {' '.join(map(str, row))}" for word, row in zip(WORDS, ROWS.tolist(), strict=True)]


def binary(newlines: bool) -> bytes:
    end = b"\n" if newlines else b""
    rows = (word.encode() + b" " + row.astype("<f4").tobytes() + end for word, row in zip(WORDS, ROWS, strict=True))
    return b"4 3\n" + b"".join(rows)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("glove.txt", "\n".join(LINES).encode()),
        ("word2vec.txt", "\n".join(["4 3", *LINES]).encode()),
        ("fasttext.vec", "\n".join(["4 3", *(line + " " for line in LINES)]).encode()),
        ("glove.txt.gz", gzip.compress("\n".join(LINES).encode(), mtime=0)),
        ("word2vec.bin", binary(newlines=True)),
        ("google.bin", binary(newlines=False)),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_all_formats_are_one(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    words, rows = read_vectors(tmp_path / name)
    assert words == WORDS
    np.testing.assert_array_equal(rows, ROWS)
    words, rows = read_vectors(tmp_path / name, limit=2)
    assert (words, rows.shape) == (WORDS[:2], (2, 3))


def test_a_word_may_have_spaces(tmp_path: Path) -> None:
    (tmp_path / "glove.txt").write_text("boat 1 2 3\n. . . 4 5 6\n", encoding="utf-8")
    assert read_vectors(tmp_path / "glove.txt")[0] == ["boat", ". . ."]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b"4 3\n", "has no word vectors"),
        (b"the 1 2 3\nboat 1 2\n", "line 2, is no word vector"),
        (b"a text of some words\nand another\n", "line 1, is no word vector"),
        (b"the 1 nan 3\n", "line 1, is no word vector"),
        (binary(newlines=True)[:-9], "ends at word 4 of 4: it is cut short"),
    ],
)
def test_what_is_no_such_file_is_said(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(DataError, match=says):
        read_vectors(tmp_path / "file")
    with pytest.raises(DataError, match="cannot be read"):
        read_vectors(tmp_path / "nowhere")
