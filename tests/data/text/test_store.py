"""Ragged rows on disk come back as they were put, from threads and forks too, without memory growing."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
import pytest

from mirrormask.core.errors import DataError
from mirrormask.data.text.store import ArrayReader, ArrayWriter, RaggedReader, RaggedWriter


def rows_of(count: int, seed: int = 0, top: int = 60_000) -> list[np.ndarray]:
    chance = np.random.default_rng(seed)
    return [chance.integers(0, top, size=chance.integers(0, 9)) for _ in range(count)]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
def test_rows_come_back(tmp_path: Path, dtype: type) -> None:
    rows: list[np.ndarray] = [row.astype(dtype) for row in rows_of(20_000, top=250)]
    writer = RaggedWriter(tmp_path / "rows", dtype)
    for row in rows[:9000]:
        writer.append(row.tobytes())
    writer.extend(np.concatenate(rows[9000:15_000]), np.array([len(row) for row in rows[9000:15_000]]))
    for row in rows[15_000:]:
        writer.append(row.tobytes())
    assert len(writer) == 20_000
    reader = writer.finish()
    assert len(reader) == 20_000
    for i in [0, 1, 8191, 8192, 8999, 9000, 14_999, 15_000, 19_999]:
        assert reader[i].dtype == dtype
        assert reader[i].tolist() == rows[i].tolist()
    values, offsets = reader.block(8000, 16_000)
    pieces = np.split(values, offsets[1:-1])
    assert all(np.array_equal(piece, row) for piece, row in zip(pieces, rows[8000:16_000], strict=True))


def test_files_are_plain_numpy(tmp_path: Path) -> None:
    writer = ArrayWriter(tmp_path / "a.npy", np.int64)
    writer.extend([])
    writer.extend(range(100_000))
    writer.finish()
    assert np.array_equal(np.load(tmp_path / "a.npy"), np.arange(100_000))
    assert [path.name for path in tmp_path.iterdir()] == ["a.npy"]


def test_a_block_may_be_empty(tmp_path: Path) -> None:
    writer = RaggedWriter(tmp_path / "rows", np.uint8)
    reader = writer.finish()
    assert len(reader) == 0
    values, offsets = reader.block(0, 0)
    assert len(values) == 0
    assert offsets.tolist() == [0]
    with pytest.raises(IndexError):
        reader[0]


def test_many_rows_are_taken_at_once(tmp_path: Path) -> None:
    rows = rows_of(500)
    writer = RaggedWriter(tmp_path / "rows", np.uint16)
    for row in rows:
        writer.append(row.astype(np.uint16).tobytes())
    reader = writer.finish()
    wanted = [499, 3, 3, 0, 250]
    assert [row.tolist() for row in reader.take(wanted)] == [rows[i].tolist() for i in wanted]
    assert reader.take([0])[0].dtype == np.uint16
    assert reader.take([]) == []
    for wrong in ([3, 500], [-1]):
        with pytest.raises(IndexError, match="has 500 rows"):
            reader.take(wrong)
    with (tmp_path / "rows.values.npy").open("r+b") as file:
        file.truncate(200)
    with pytest.raises(DataError, match="ends too early"):
        reader.take([499])


def test_nothing_appears_before_the_end(tmp_path: Path) -> None:
    writer = RaggedWriter(tmp_path / "rows", np.uint8)
    writer.append(b"abc")
    with pytest.raises(DataError, match=r"cannot be opened: No such file .* Build the corpus again"):
        RaggedReader(tmp_path / "rows")
    writer.abandon()
    assert list(tmp_path.iterdir()) == []


def test_half_written_files_are_refused(tmp_path: Path) -> None:
    writer = RaggedWriter(tmp_path / "rows", np.uint8)
    writer.append(b"some text")
    writer.finish()
    values = tmp_path / "rows.values.npy"
    whole = values.read_bytes()
    values.write_bytes(whole[:-2])
    with pytest.raises(DataError, match="half-written"):
        RaggedReader(tmp_path / "rows")
    np.save(values, np.zeros(5, np.uint8))
    with pytest.raises(DataError, match="do not fit"):
        RaggedReader(tmp_path / "rows")
    values.write_bytes(b"something else")
    with pytest.raises(DataError, match="not an array file"):
        ArrayReader(values)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_threads_and_forks_share_a_reader(tmp_path: Path) -> None:
    rows = [row.astype(np.uint16) for row in rows_of(3000)]
    writer = RaggedWriter(tmp_path / "rows", np.uint16)
    for row in rows:
        writer.append(row.tobytes())
    reader = writer.finish()
    wrong: list[int] = []

    def look(seed: int) -> None:
        order = np.random.default_rng(seed).permutation(3000).tolist()
        wrong.extend(i for i in order if not np.array_equal(reader[i], rows[i]))

    threads = [threading.Thread(target=look, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    child = os.fork()
    if child == 0:
        os._exit(0 if all(np.array_equal(reader[i], rows[i]) for i in range(0, 3000, 7)) else 1)
    look(5)
    assert os.waitpid(child, 0)[1] == 0
    assert not wrong
