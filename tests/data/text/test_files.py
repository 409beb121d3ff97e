"""Every format in every compression gives the same rows, and everything wrong with a file gives one sentence."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest
import zstandard

from mirrormask.core.errors import DataError, MissingExtra
from mirrormask.data.text.files import columns_of, open_text, records

PACK: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: zstandard.ZstdCompressor().compress(data),
}
ROWS = [
    {"left": "A tall ship, at sea", "right": "Ein Schiff"},
    {"left": 'She said "no"', "right": "她说不"},
    {"left": "plain", "right": ""},
]


def contents(kind: str) -> bytes:
    if kind == ".jsonl":
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS).encode()
    if kind == ".csv":
        return 'left,right\r\n"A tall ship, at sea",Ein Schiff\r\n"She said ""no""",她说不\r\nplain,\r\n'.encode()
    if kind == ".tsv":
        return 'left\tright\nA tall ship, at sea\tEin Schiff\nShe said "no"\t她说不\nplain\t\n'.encode()
    sink = io.BytesIO()
    parquet.write_table(arrow.Table.from_pylist(ROWS), sink)
    return sink.getvalue()


def put(folder: Path, name: str, data: bytes | str) -> Path:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


@pytest.mark.parametrize("pack", PACK)
@pytest.mark.parametrize("kind", [".jsonl", ".csv", ".tsv", ".parquet"])
def test_every_format_and_compression_gives_the_same_rows(tmp_path: Path, kind: str, pack: str) -> None:
    path = put(tmp_path, f"rows{kind}{pack}", PACK[pack](contents(kind)))
    assert list(records(path)) == ROWS
    assert columns_of(path) == ["left", "right"]
    assert list(records(path, ["right"])) == [{"right": row["right"]} for row in ROWS]
    assert list(next(records(path, ["right", "left"]))) == ["right", "left"]


@pytest.mark.parametrize("pack", PACK)
def test_text_lines_keep_blank_ones_and_lose_the_byte_order_mark(tmp_path: Path, pack: str) -> None:
    path = put(tmp_path, "lines.txt" + pack, PACK[pack](b"\xef\xbb\xbfone\r\n\n \xe5\xa5\xbd\n\nlast"))
    assert [row["text"] for row in records(path)] == ["one", "", " 好", "", "last"]
    with open_text(path) as lines:
        assert next(iter(lines)) == "one\r\n"


@pytest.mark.parametrize("pack", list(PACK)[1:])
def test_compression_is_recognized_without_its_suffix(tmp_path: Path, pack: str) -> None:
    assert list(records(put(tmp_path, "lines", PACK[pack](b"one\ntwo\n")))) == [{"text": "one"}, {"text": "two"}]


@pytest.mark.parametrize("pack", list(PACK)[1:])
def test_several_compressed_members_are_one_file(tmp_path: Path, pack: str) -> None:
    path = put(tmp_path, "lines.txt" + pack, PACK[pack](b"one\n") + PACK[pack](b"two\n"))
    assert [row["text"] for row in records(path)] == ["one", "two"]


@pytest.mark.parametrize("pack", list(PACK)[1:])
@pytest.mark.parametrize("kind", [".txt", ".jsonl", ".parquet"])
def test_truncated_or_garbled_compression_is_one_error(tmp_path: Path, pack: str, kind: str) -> None:
    data = b"".join(b'{"text": "number %d"}\n' % (i * 7919) for i in range(3000))
    whole = PACK[pack](data)
    with pytest.raises(DataError, match="truncated"):
        list(records(put(tmp_path, f"cut{kind}{pack}", whole[: len(whole) // 2])))
    with pytest.raises(DataError, match="compress it again"):
        list(records(put(tmp_path, f"bad{kind}{pack}", b"certainly not compressed" * 9)))


@pytest.mark.parametrize("data", [b"fine\nstill fine\n\x89PNG\r\n\x1a\n", b"fine\nstill fine\nab\0cd\n"])
def test_binary_content_names_line_and_byte(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(DataError, match=r"picture\.txt is not .* in line 3 \(byte \d+\)\. Give plain UTF-8"):
        list(records(put(tmp_path, "picture.txt", data)))


def test_utf16_is_told_how_to_convert(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="iconv"):
        list(records(put(tmp_path, "wide.txt", "hello\n".encode("utf-16"))))


def test_endless_line_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mirrormask.data.text.files._LONGEST_LINE", 1 << 20)
    with pytest.raises(DataError, match="more than 1 MB without a line break"):
        list(records(put(tmp_path, "long.txt", b"x" * (3 << 20))))


@pytest.mark.parametrize("kind", [".txt", ".csv", ".tsv", ".jsonl", ".parquet", ".txt.gz"])
def test_missing_and_empty_files(tmp_path: Path, kind: str) -> None:
    with pytest.raises(DataError, match=r"There is no file .*nowhere"):
        records(tmp_path / f"nowhere{kind}")
    with pytest.raises(DataError, match="is empty"):
        records(put(tmp_path, "nothing" + kind, b""))


def test_missing_file_offers_the_nearest(tmp_path: Path) -> None:
    put(tmp_path, "train.txt", "one\n")
    with pytest.raises(DataError, match=r"Did you mean 'train\.txt'\?"):
        records(tmp_path / "trian.txt")


@pytest.mark.parametrize(
    ("name", "data"), [("head.csv", b"a,b\n"), ("head.tsv", b"a\tb\n"), ("blank.jsonl", b"\n\n"), ("e.txt.gz", None)]
)
def test_files_without_a_row_are_empty(tmp_path: Path, name: str, data: bytes | None) -> None:
    with pytest.raises(DataError, match="is empty"):
        list(records(put(tmp_path, name, gzip.compress(b"") if data is None else data)))


def test_impossible_path_is_refused() -> None:
    with pytest.raises(DataError, match=r"cannot be opened: File name too long\. Check the path"):
        records("x" * 300 + ".txt")


def test_folder_is_refused_with_an_example(tmp_path: Path) -> None:
    put(tmp_path, "inside.txt", "one\n")
    with pytest.raises(DataError, match=r"is a folder.*for example .*inside\.txt"):
        records(tmp_path)


@pytest.mark.parametrize("kind", [".jsonl", ".csv", ".tsv", ".parquet"])
def test_wrong_column_lists_the_columns(tmp_path: Path, kind: str) -> None:
    with pytest.raises(DataError, match=r"no column 'rigth'.* Did you mean 'right'\? Its columns are: left, right\."):
        list(records(put(tmp_path, "rows" + kind, contents(kind)), ["rigth"]))


def test_text_has_only_the_text_column(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no column 'sentence'.* Its columns are: text\."):
        list(records(put(tmp_path, "lines.txt", "one\n"), ["sentence"]))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ('{"a": 1}\n\n{"a": \n', r"Line 3 of .*rows\.jsonl is not JSON"),
        ('{"a": 1}\n[1, 2]\n', r"Line 2 of .* is not a JSON object but list"),
        ('{"a": 1}\n{"b": 1}\n', r"no column 'a' in line 2\. Its columns are: b"),
    ],
)
def test_broken_json_lines_are_named(tmp_path: Path, data: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        list(records(put(tmp_path, "rows.jsonl", data), ["a"]))


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("t.csv", "a,b\n1,2\n3\n", r"Line 3 of .* has 1 columns, its header 2: a, b"),
        ("t.tsv", "a\tb\n1\t2\t3\n", r"Line 2 of .* has 3 columns, its header 2: a, b"),
        ("t.csv", 'a,b\n1,"2\n', r"Line 2 of .* is not CSV: .* quote"),
        ("t.csv", "a,a\n1,2\n", r"names the column 'a' twice"),
    ],
)
def test_broken_tables_are_named(tmp_path: Path, name: str, data: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        list(records(put(tmp_path, name, data)))


def test_tsv_takes_lone_quotes_and_whole_ones(tmp_path: Path) -> None:
    path = put(tmp_path, "t.tsv", 'a\tb\n"He left\tlone\n"said ""yes"" twice"\t"\n')
    assert [row["a"] for row in records(path)] == ['"He left', 'said "yes" twice']


def test_csv_cells_may_hold_line_breaks_and_be_long(tmp_path: Path) -> None:
    path = put(tmp_path, "t.csv", 'a,b\n"one\ntwo",3\n' + "x" * 200_000 + ",4\n")
    rows = list(records(path))
    assert rows[0] == {"a": "one\ntwo", "b": "3"}
    assert len(rows[1]["a"]) == 200_000


@pytest.mark.parametrize("data", [b"not parquet at all", b"PAR1" + b"x" * 30 + b"PAR1"])
def test_what_is_not_parquet(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(DataError, match="not a Parquet file"):
        list(records(put(tmp_path, "rows.parquet", data)))


@pytest.mark.parametrize("pack", PACK)
def test_stdin_is_read_as_lines(monkeypatch: pytest.MonkeyPatch, pack: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(PACK[pack](b"one\ntwo\n")))))  # type: ignore[arg-type]
    assert [row["text"] for row in records("-")] == ["one", "two"]
    assert not sys.stdin.buffer.closed
    with pytest.raises(DataError, match="stdin is empty"):
        list(records("-"))


def test_missing_zstandard_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingExtra, match=r'Reading a \.zst file needs .* pip install "mirrormask\[data\]"'):
        list(records(put(tmp_path, "lines.txt.zst", PACK[".zst"](b"one\n"))))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"text": ' + "[" * 100_000 + "]" * 100_000 + "}", r"Line 2 of .* is not JSON: it is nested too deeply\. Put"),
        ('{"text": "a", "n": ' + "9" * 6_000 + "}", r"Line 2 of .* a number of too many digits\. Put"),
        ("{}", r"Line 2 of .* is an object without keys\. Put"),
    ],
)
def test_json_lines_that_no_row_can_be_made_of(tmp_path: Path, line: str, says: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "a"}\n' + line + "\n")
    with pytest.raises(DataError, match=says):
        list(records(path))


def test_half_a_character_becomes_the_sign_for_one_that_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "a \\ud800 b", "\\uDFFF": [{"x": "\\udc00"}]}\n{"text": "\\ud83d\\ude00"}\n')
    assert list(records(path)) == [{"text": "a \ufffd b", "\ufffd": [{"x": "\ufffd"}]}, {"text": "😀"}]


def test_links_that_lead_nowhere_and_paths_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "one.txt").symlink_to(tmp_path / "two.txt")
    with pytest.raises(DataError, match=r"one\.txt cannot be opened: No such file or directory\. Check the path"):
        records(tmp_path / "one.txt")
    (tmp_path / "two.txt").symlink_to(tmp_path / "one.txt")
    with pytest.raises(DataError, match=r"one\.txt cannot be opened: Too many levels of symbolic links\."):
        records(tmp_path / "one.txt")


def test_parquet_whose_text_is_not_utf8(tmp_path: Path) -> None:
    cells = arrow.array([b"fine", b"\xff\xfe"], arrow.binary()).view(arrow.string())
    parquet.write_table(arrow.table({"text": cells}), tmp_path / "rows.parquet")
    with pytest.raises(DataError, match="is not a Parquet file that can be read: .*utf-8.*Write it again"):
        list(records(tmp_path / "rows.parquet"))
