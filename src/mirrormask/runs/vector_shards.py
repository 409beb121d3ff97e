"""A folder of vectors in shards: Parquet files that many workers write at once, each named by the rows it holds.

The shards grow in a folder beside their place. One that is there is whole, and its name says of which file and rows
and of which texts it is: so a run that was killed goes on with what is missing, nothing is there twice, and what a
worker writes a second time replaces the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.blocks import in_blocks
from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.core.locking import locked
from mirrormask.core.storage import atomic_file, explained, read_json, write_json
from mirrormask.data.text.origin import every_text
from mirrormask.runs.vector_file import check_plan, parquet, unfinished

RECORD = "_encoded.json"
"""What says how the shards of a folder were made; readers of Parquet folders pass over such a name."""

_PLAN = "plan.json"


@dataclass(frozen=True)
class SourceFile:
    """A file to be cut into shards.

    Args:
        number: its place among the files.
        name: how the shards call it.
        path: where it is.
        found: names of its shards that are there.
    """

    number: int
    name: str
    path: str
    found: frozenset[str] = frozenset()


@dataclass(frozen=True)
class TextShard:
    """Rows of a file that follow each other; or its end, where no row is left.

    Args:
        number: of their file.
        file: its name.
        first: number of the first row, from 0.
        rows: how many.
        name: of the shard.
        texts: none where their vectors are there.
        notes: at the end, what the user should know about the columns.
    """

    number: int
    file: str
    first: int
    rows: int
    name: str
    texts: list[str]
    notes: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """Return which rows they are, in words."""
        return f"rows {self.first:,} to {self.first + self.rows:,} of {self.file}"


@dataclass(frozen=True)
class CutTexts:
    """Cuts a file into shards; the same file always into the same.

    Args:
        column: as for `every_text`.
        rows: of a shard at most.
    """

    column: str | None
    rows: int

    def __call__(self, file: SourceFile) -> Iterator[TextShard]:
        """Yield the shards of a file, and its end.

        Raises:
            DataError: a shard is there that was made of other texts.
        """
        first, notes, seen = 0, list[str](), set[str]()
        begun = {_rows(name): name for name in file.found}
        for texts in in_blocks(every_text(file.path, self.column, notes), self.rows):
            name = _name(file.number, first, texts)
            if begun.get(_rows(name), name) != name:
                raise _changed(file)
            yield TextShard(file.number, file.name, first, len(texts), name, [] if name in file.found else texts)
            seen.add(name)
            first += len(texts)
        if file.found - seen:
            raise _changed(file)
        yield TextShard(file.number, file.name, first, 0, f"{file.number:05d}-end", [], tuple(notes))


class VectorShards:
    """Shards on their way to the folder `out`, in a `with` block.

    Args:
        out: the folder; it appears once it is whole.
        plan: what decides the vectors: another plan does not go on with these.
        resume: keep what is there.

    Raises:
        MirrormaskError: what is there was made by another plan, or another process is at it, or `out` holds something
            else than shards.
    """

    def __init__(self, out: Path, plan: Mapping[str, Any], *, resume: bool) -> None:
        parquet()  # or say that it is missing, before the work
        if out.exists() and not (out / RECORD).is_file() and not (out.is_dir() and not any(out.iterdir())):
            raise MirrormaskError(f"{out} holds something else than vectors. Choose a folder that is not there.")
        self.out, self._plan, self._rows = out, dict(plan), dict[int, int]()
        self._place = unfinished(out)
        self._place.mkdir(exist_ok=True)
        # a worker that was not killed with its run writes to the folder of its own plan
        self.folder = (
            self._place / hashlib.blake2b(json.dumps(self._plan, sort_keys=True).encode(), digest_size=8).hexdigest()
        )
        with contextlib.ExitStack() as stack:
            stack.enter_context(locked(self._place))
            self._begin(resume)
            self._held = stack.pop_all()

    def found(self) -> dict[int, frozenset[str]]:
        """Return the names of the shards that are there, by the number of their file."""
        names = defaultdict[int, list[str]](list)
        for path in self.folder.glob("[0-9]*.parquet"):
            names[int(path.name.split("-")[0])].append(path.name)
        return {number: frozenset(each) for number, each in names.items()}

    def ended(self, shard: TextShard) -> None:
        """Take down how many rows a file has."""
        self._rows[shard.number] = shard.first

    def finish(self, files: Sequence[SourceFile], record: dict[str, Any]) -> dict[str, Any]:
        """Put the shards into their place once every row of every file was seen to be there once.

        Args:
            files: that were cut.
            record: what to keep with the shards; returned with what was counted.

        Raises:
            DataError: a row is missing, or there twice; the shards so far are kept.
        """
        there = self.found()
        shards, rows = 0, 0
        for file in files:
            names = sorted(there.get(file.number, ()))
            if file.number not in self._rows:
                raise DataError(f"Not all of {file.name} was read. Go on with --resume.")
            _check_rows(file, self._rows[file.number], [self.folder / name for name in names])
            shards, rows = shards + len(names), rows + self._rows[file.number]
        for path in self.folder.glob(".*"):  # what a killed worker began
            path.unlink(missing_ok=True)
        some = next(self.folder.glob("[0-9]*.parquet"))
        width = parquet()[1].read_schema(some).field("vector").type.list_size
        done = {"rows": rows, "dimension": width, **record, "shards": shards, "plan": self._plan}
        write_json(self.folder / RECORD, done)
        old = self.out.with_name(f".{self.out.name}.old")
        shutil.rmtree(old, ignore_errors=True)
        if self.out.exists():
            self.out.rename(old)
        self.folder.rename(self.out)
        shutil.rmtree(old, ignore_errors=True)
        return done

    def __enter__(self) -> VectorShards:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._held.close()
        if error is None or not self.found():
            shutil.rmtree(self._place, ignore_errors=True)
        if error is not None and (told := explained(error, self.out)) is not error:
            raise told from error

    def _begin(self, resume: bool) -> None:
        if resume:
            with contextlib.suppress(OSError, ValueError):  # killed before it was written: nothing is there
                check_plan(self._place, read_json(self._place / _PLAN), self._plan)
        else:
            for path in self._place.iterdir():
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
        write_json(self._place / _PLAN, self._plan)
        self.folder.mkdir(exist_ok=True)


def write_shard(folder: Path, shard: TextShard, vectors: NDArray[np.float32]) -> None:
    """Write the vectors (n, d) of a shard, whole or not at all."""
    pa, pq = parquet()
    flat = pa.array(np.ascontiguousarray(vectors, dtype=np.float32).ravel())
    columns = {
        "file": pa.array([shard.file] * shard.rows, pa.string()),
        "row": pa.array(np.arange(shard.first, shard.first + shard.rows), pa.int64()),
        "text": pa.array(shard.texts, pa.string()),
        "vector": pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1]),
    }
    with atomic_file(folder / shard.name, "wb") as stream:
        pq.write_table(pa.table(columns), stream)


def _check_rows(file: SourceFile, rows: int, shards: Sequence[Path]) -> None:
    """Raise a DataError unless the shards of a file hold each of its rows once, by the numbers that they hold."""
    _, pq = parquet()
    next_row = 0
    for path in shards:  # by the first row, which is in the name
        held = pq.read_table(path, columns=["row"])["row"].to_numpy()
        if len(held) == 0 or not np.array_equal(held, np.arange(next_row, next_row + len(held))):
            raise DataError(f"The rows of {file.name} after {next_row:,} are missing or there twice ({path}).")
        next_row += len(held)
    if next_row != rows:
        raise DataError(f"Of {file.name} {next_row:,} rows are there, not {rows:,}. Go on with --resume.")


def _changed(file: SourceFile) -> DataError:
    return DataError(f"{file.name} has changed since its vectors were begun. Leave out --resume to begin anew.")


def _rows(name: str) -> str:
    """Return the part of a shard's name that says where its rows begin."""
    return name.rsplit("-", 2)[0]


def _name(number: int, first: int, texts: Sequence[str]) -> str:
    whole = hashlib.blake2b(digest_size=8)
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        whole.update(len(data).to_bytes(8, "little") + data)
    return f"{number:05d}-{first:012d}-{len(texts):06d}-{whole.hexdigest()}.parquet"
