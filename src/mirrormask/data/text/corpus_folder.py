"""A corpus on disk: rows of text opened at any row, without memory growing with their number."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import DataError
from mirrormask.core.storage import read_json
from mirrormask.core.wording import counted
from mirrormask.data.text.store import ArrayReader, RaggedReader

FORMAT = 1
"""Number of the folder's layout; a folder of another layout is built again."""

_RECORD = "corpus.json"


@dataclass(frozen=True)
class CorpusReport:
    """What was read, what was left out and why.

    Args:
        lines: rows of the source, blank ones too.
        empty: of these, rows without text (in any column).
        documents: texts, or runs of rows between blank ones where text is not split into sentences.
        sentences: rows offered to the filters.
        too_short: sentences below `min_words`.
        too_long: sentences above `max_words`.
        duplicates: sentences that repeat an earlier one.
        kept: rows of the corpus.
        notes: what the user should know about the columns that were read.
    """

    lines: int
    empty: int
    documents: int
    sentences: int
    too_short: int
    too_long: int
    duplicates: int
    kept: int
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the counts in one line.

        Example:
            >>> print(CorpusReport(1200, 10, 3, 1190, 4, 0, 86, 1100))
            1,100 texts kept of 1,190 from 1,200 lines (86 duplicates, 4 too short, 10 empty lines left out)
        """
        why = [
            what
            for count, what in [
                (self.duplicates, counted(self.duplicates, "duplicate")),
                (self.too_short, f"{self.too_short:,} too short"),
                (self.too_long, f"{self.too_long:,} too long"),
                (self.empty, counted(self.empty, "empty line")),
            ]
            if count
        ]
        left_out = f" ({', '.join(why)} left out)" if why else ""
        split = self.sentences > self.lines  # what was not split into sentences may be anything
        rows = counted(self.kept, "sentence" if split else "text")
        counts = f"{rows} kept of {self.sentences:,} from {counted(self.lines, 'line')}{left_out}"
        return ". ".join([*self.notes, counts])


class Corpus:
    """Rows of text on disk, opened by `open_corpus` or made by `build_corpus`.

    Args:
        folder: a finished corpus folder.
        record: what its `corpus.json` says.
    """

    def __init__(self, folder: Path, record: dict[str, Any]) -> None:
        self.folder = folder
        self.record = record
        self.report = CorpusReport(**{**record["report"], "notes": tuple(record["report"].get("notes", ()))})
        self.fingerprint: str = record["fingerprint"]
        self._columns = [RaggedReader(column_path(folder, number)) for number in range(record["width"])]
        self._starts = ArrayReader(folder / "starts.npy")
        if any(len(column) != len(self._starts) for column in self._columns):
            raise DataError(f"The corpus in {folder} is half-written. Remove the folder and build it again.")

    @property
    def width(self) -> int:
        """Return the number of columns: 1 for plain sentences."""
        return len(self._columns)

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, index: int) -> str | tuple[str, ...]:
        cells = tuple(column[index].tobytes().decode() for column in self._columns)
        return cells[0] if self.width == 1 else cells

    def starts_document(self, index: int) -> bool:
        """Say whether the row before this one is not the one it followed in its document."""
        return bool(self._starts[index])

    def starts(self, start: int, stop: int) -> NDArray[np.bool_]:
        """Return `starts_document` of rows `start` to `stop`."""
        return self._starts.slice(start, min(stop, len(self))).astype(np.bool_)

    def column(self, number: int, start: int, stop: int) -> list[str]:
        """Return one column of rows `start` to `stop`, read in one piece."""
        values, offsets = self._columns[number].block(start, min(stop, len(self)))
        data, places = values.tobytes(), offsets.tolist()
        return [data[begin:end].decode() for begin, end in itertools.pairwise(places)]

    def texts(self, start: int, stop: int) -> list[str] | list[tuple[str, ...]]:
        """Return rows `start` to `stop`, read in one piece."""
        columns = [self.column(number, start, stop) for number in range(self.width)]
        return columns[0] if self.width == 1 else list(zip(*columns, strict=True))

    def blocks(self, rows: int, size: int) -> Iterator[tuple[int, int]]:
        """Yield (start, stop) of consecutive blocks of at most `rows` rows and about `size` bytes of text."""
        return blocks(self._columns, rows, size)


def open_corpus(folder: Path | str) -> Corpus:
    """Open a corpus that was built into `folder`.

    Raises:
        DataError: the folder holds no finished corpus.
    """
    folder = Path(folder)
    record = read_record(folder)
    if record is None:
        raise DataError(f"{folder} holds no finished corpus. Build it again from its source.")
    return Corpus(folder, record)


def read_record(folder: Path) -> dict[str, Any] | None:
    """Return what `corpus.json` says, or None where there is no corpus of this layout."""
    try:
        record = read_json(folder / _RECORD)
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) and record.get("format") == FORMAT else None


def column_path(folder: Path, number: int) -> Path:
    """Return where a column's rows are, without suffix."""
    return folder / f"column-{number}"


def blocks(columns: list[RaggedReader], rows: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of consecutive blocks of at most `rows` rows and about `size` items over all columns."""
    start, count = 0, len(columns[0])
    while start < count:
        stop = min(start + rows, count)
        ends = np.sum([column.offsets.slice(start, stop + 1) for column in columns], axis=0)
        stop = start + max(1, int(np.searchsorted(ends - ends[0], size, side="right")) - 1)
        yield start, min(stop, count)
        start = stop


def content_fingerprint(folder: Path) -> str:
    """Return a hash over all the arrays of a corpus folder, in the order of their names."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(folder.glob("*.npy")):
        with path.open("rb") as stream:
            while piece := stream.read(1 << 20):
                digest.update(piece)
    return digest.hexdigest()


def as_record(report: CorpusReport, **more: Any) -> dict[str, Any]:
    """Return what goes into `corpus.json`."""
    return {"format": FORMAT, "report": dataclasses.asdict(report), **more}
