"""From any source to a corpus on disk: one pass, every filter counted, a second pass only to drop duplicates.

Memory does not grow with the number of rows.
"""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import DataError, at_least, one_of
from mirrormask.core.storage import atomic_folder, write_json
from mirrormask.data.text.corpus_folder import (
    Corpus,
    CorpusReport,
    as_record,
    blocks,
    column_path,
    content_fingerprint,
    open_corpus,
    read_record,
)
from mirrormask.data.text.dedup import Deduplicator
from mirrormask.data.text.origin import Cells, Origin, Source, find_origin
from mirrormask.data.text.sentences import count_words, split_sentences
from mirrormask.data.text.store import ArrayReader, ArrayWriter, RaggedReader, RaggedWriter

__all__ = ["SPLITS", "Corpus", "CorpusReport", "build_corpus", "open_corpus"]

SPLITS = ("none", "auto", "en", "zh")
Progress = Callable[[int], None]

_REPORT_EVERY = 8192  # lines between two calls of `progress`


def build_corpus(
    source: Source,
    folder: Path | str,
    *,
    columns: Sequence[str] | None = None,
    where: Sequence[str] = (),
    split: str = "none",
    deduplicate: bool = True,
    min_words: int = 1,
    max_words: int | None = None,
    limit: int | None = None,
    progress: Progress | None = None,
    in_memory: int = 200_000,
) -> Corpus:
    """Read a source into a corpus on disk, or open what was built there from the same files with the same settings.

    Args:
        source: a file or several, `-` for stdin, the name of a corpus or dataset, or texts; see `find_origin`.
        folder: where the corpus goes; it appears there only once it is complete.
        columns: the columns to read; several make rows of several texts.
        where: read only rows with such values, as `column=value`.
        split: how texts are split into sentences: `none`, `auto`, `en` or `zh`. A text that is split is a document;
            without splitting, blank rows separate documents.
        deduplicate: keep only the first of rows that differ only in case and white space.
        min_words, max_words: leave out rows of which a column has fewer or more words. In Chinese and Japanese a
            character counts as a word.
        limit: read only this many rows of the source.
        progress: is called with the number of rows read so far, now and then.
        in_memory: how many rows are compared in memory before the disk is used; the result is the same.

    Raises:
        DataError: the source cannot be read, or fewer than two rows are left.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     texts = ["A cat sat. It slept.", "A dog ran.", "a DOG ran."]
        ...     corpus = build_corpus(texts, Path(folder) / "corpus", split="en")
        ...     corpus[1], [corpus.starts_document(i) for i in range(3)], corpus.report.duplicates
        ('It slept.', [True, False, True], 1)
    """
    folder = Path(folder)
    one_of("split", split, SPLITS, of="a corpus")
    at_least("min_words", min_words, 0, of="a corpus")
    if max_words is not None:
        at_least("max_words", max_words, max(1, min_words), of="a corpus")
    if limit is not None:
        at_least("limit", limit, 1, of="a corpus")
    origin = find_origin(source, columns, where)
    settings = {
        "columns": None if columns is None else list(columns),
        "split": split,
        "deduplicate": deduplicate,
        "min_words": min_words,
        "max_words": max_words,
        "limit": limit,
        **({"where": list(where)} if where else {}),
    }
    made = read_record(folder)
    if made and origin.stamp is not None and made["stamp"] == origin.stamp and made["settings"] == settings:
        return open_corpus(folder)
    if made is None and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DataError(f"{folder} holds something else than a corpus. Choose a folder that is empty or not there.")
    with atomic_folder(folder) as unfinished:
        writing = _Writing(unfinished, split, min_words, max_words, deduplicate, in_memory)
        try:
            for row in _counted(origin, limit, writing, progress):
                writing.add(row)
            report = dataclasses.replace(writing.finish(), notes=tuple(dict.fromkeys(origin.notes)))
        except BaseException:
            writing.abandon()
            raise
        if report.kept < 2:
            raise _too_small(origin, report, min_words, max_words)
        record = as_record(
            report,
            width=writing.width,
            source=origin.name,
            stamp=origin.stamp,
            settings=settings,
            fingerprint=content_fingerprint(unfinished),
        )
        write_json(unfinished / "corpus.json", record)
    return open_corpus(folder)


def _counted(origin: Origin, limit: int | None, writing: _Writing, progress: Progress | None) -> Iterator[Cells | None]:
    for row in origin.rows():
        if writing.lines == limit:
            break
        yield row
        if progress is not None and writing.lines % _REPORT_EVERY == 0:
            progress(writing.lines)
    if progress is not None:
        progress(writing.lines)


def _too_small(origin: Origin, report: CorpusReport, min_words: int, max_words: int | None) -> DataError:
    removed = [
        f"{count:,} {what}"
        for count, what in [
            (report.empty, "lines were empty"),
            (report.too_short, f"were shorter than {min_words} words"),
            (report.too_long, f"were longer than {max_words} words"),
            (report.duplicates, "were duplicates"),
        ]
        if count
    ]
    why = f" ({', '.join(removed)})" if removed else ""
    left = "one text" if report.kept == 1 else "no text"
    return DataError(
        f"{origin.name} leaves {left} to train on, and at least 2 are needed: lines read: {report.lines:,}{why}. "
        "Give more text, or loosen the filters."
    )


class _Writing:
    """The state of one build: open files and counts."""

    def __init__(
        self, folder: Path, split: str, min_words: int, max_words: int | None, deduplicate: bool, in_memory: int
    ) -> None:
        self.width = 0
        self.lines = self.empty = self.documents = self.sentences = self.too_short = self.too_long = self.repeated = 0
        self._folder = folder
        self._split = split
        self._min_words = min_words if min_words > 1 else 0  # what is not empty has a word
        self._max_words = max_words
        self._columns: list[RaggedWriter] = []
        self._starts = ArrayWriter(folder / "starts.npy", np.uint8)
        self._scratch = folder / "scratch"
        self._scratch.mkdir()
        self._duplicates = Deduplicator(self._scratch, in_memory=in_memory) if deduplicate else None
        self._new_document = True  # whether the next sentence begins a document
        self._broken = True  # whether the sentence before the next one is missing

    def add(self, row: Cells | None) -> None:
        """Take one row of the source; None only ends the document."""
        if row is None:
            self._new_document = True
            return
        self.lines += 1
        cells = tuple([cell.strip() for cell in row])
        if not all(cells):
            self.empty += 1
            self._new_document = True
            return
        if self._split == "none":
            self._sentence(cells)
            return
        if len(cells) > 1:
            raise DataError(f"Splitting into sentences takes one column. Got {len(cells)}; use split='none'.")
        self._new_document = True
        for sentence in split_sentences(cells[0], self._split):
            self._sentence((sentence,))

    def _sentence(self, cells: Cells) -> None:
        self.sentences += 1
        if self._new_document:
            self.documents += 1
            self._new_document = False
            self._broken = True
        if self._min_words or self._max_words is not None:
            counts = [count_words(cell) for cell in cells]
            if min(counts) < self._min_words:
                self.too_short += 1
                self._broken = True
                return
            if self._max_words is not None and max(counts) > self._max_words:
                self.too_long += 1
                self._broken = True
                return
        if self._duplicates is not None and not self._duplicates.is_new(cells):
            self.repeated += 1
            self._broken = True
            return
        if not self._columns:
            self.width = len(cells)
            self._columns = [RaggedWriter(column_path(self._folder, i), np.uint8) for i in range(self.width)]
        for column, cell in zip(self._columns, cells, strict=True):
            column.append(cell.encode("utf-8", "replace"))
        self._starts.extend_bytes(b"\1" if self._broken else b"\0")
        self._broken = False

    def finish(self) -> CorpusReport:
        """Close the files, drop the duplicates that memory did not show, and return the counts."""
        if not self._columns:  # nothing was kept: leave a corpus of no rows for the message that follows
            self._columns = [RaggedWriter(column_path(self._folder, 0), np.uint8)]
        columns = [column.finish() for column in self._columns]
        starts = self._starts.finish()
        kept = len(starts)
        removed = None if self._duplicates is None else self._duplicates.removed()
        if removed is not None:
            dropped = int(np.unpackbits(removed).sum())
            self.repeated += dropped
            kept -= dropped
            _drop(self._folder, self._scratch, columns, starts, removed)
        for column in columns:
            column.close()
        starts.close()
        shutil.rmtree(self._scratch)
        return CorpusReport(
            lines=self.lines,
            empty=self.empty,
            documents=self.documents,
            sentences=self.sentences,
            too_short=self.too_short,
            too_long=self.too_long,
            duplicates=self.repeated,
            kept=kept,
        )

    def abandon(self) -> None:
        """Close every open file."""
        for column in self._columns:
            column.abandon()
        self._starts.abandon()
        if self._duplicates is not None:
            self._duplicates.abandon()


def _drop(
    folder: Path, scratch: Path, columns: list[RaggedReader], starts: ArrayReader, removed: NDArray[np.uint8]
) -> None:
    """Write the files again without the removed rows; the row after a removed one begins a document."""
    writers: list[Any] = [RaggedWriter(column_path(scratch, i), np.uint8) for i in range(len(columns))]
    begins = ArrayWriter(scratch / "starts.npy", np.uint8)
    before = True
    try:
        for start, stop in blocks(columns, 1 << 16, 1 << 22):
            bits = np.unpackbits(removed[start // 8 : -(-stop // 8)], bitorder="little")
            gone = bits[start % 8 : start % 8 + stop - start].astype(np.bool_)
            for column, writer in zip(columns, writers, strict=True):
                values, offsets = column.block(start, stop)
                lengths = np.diff(offsets)
                writer.extend(values[np.repeat(~gone, lengths)], lengths[~gone])
            after_gone = np.concatenate([[before], gone[:-1]])
            begins.extend((starts.slice(start, stop) | after_gone)[~gone])
            before = bool(gone[-1])
    except BaseException:
        for writer in (*writers, begins):
            writer.abandon()
        raise
    for writer in (*writers, begins):
        writer.finish().close()
    for path in scratch.glob("*.npy"):
        path.replace(folder / path.name)
