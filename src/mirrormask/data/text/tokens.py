"""The token ids of a corpus, without special tokens: all on disk, or made when they are asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.batch import Ids
from mirrormask.core.encoding import Encoder, plain_copy
from mirrormask.core.errors import DataError, at_least
from mirrormask.core.storage import atomic_folder, read_json, write_json
from mirrormask.data.text.corpus_folder import Corpus, column_path
from mirrormask.data.text.store import RaggedReader, RaggedWriter
from mirrormask.data.text.vocabulary import word_starts

__all__ = ["LazyTokens", "TokenStore", "Tokenized", "build_tokens", "open_tokens", "word_starts"]

_FORMAT = 1
_ROWS, _BYTES = 4096, 1 << 20  # what is tokenized at once, to bound memory
_JUDGED = 10_000  # tokens drawn one row at a time before they tell whether the tokenizer fits the text

Progress = Callable[[int], None]


class Tokenized(Protocol):
    """Rows of token ids: a `TokenStore` or `LazyTokens`."""

    max_tokens: int
    truncated: int
    tokenizer: Any
    """What made the ids; None where a folder was opened without it."""

    starts: NDArray[np.bool_]
    """For every id, whether it begins a word; see `word_starts`."""

    def __len__(self) -> int: ...

    @property
    def width(self) -> int:
        """Return the number of columns."""
        ...

    def take(self, rows: Sequence[int], column: int = 0) -> list[Ids]:
        """Return the ids of one column of the given rows."""
        ...


class TokenStore:
    """Token ids on disk, opened by `open_tokens` or made by `build_tokens`.

    Args:
        folder: a finished folder of tokens.
        record: what its `tokens.json` says.
        tokenizer: what made the ids, where it is at hand.
    """

    def __init__(self, folder: Path, record: dict[str, Any], tokenizer: Any = None) -> None:
        self.folder = folder
        self.record = record
        self.tokenizer = tokenizer
        self.max_tokens: int = record["max_tokens"]
        self.truncated: int = record["truncated"]
        self.starts: NDArray[np.bool_] = np.load(folder / "word-starts.npy")
        self._columns = [RaggedReader(column_path(folder, number)) for number in range(record["width"])]

    @property
    def width(self) -> int:
        """Return the number of columns."""
        return len(self._columns)

    def __len__(self) -> int:
        return len(self._columns[0])

    def __getitem__(self, index: int) -> Ids | tuple[Ids, ...]:
        cells = tuple(column[index] for column in self._columns)
        return cells[0] if self.width == 1 else cells

    def take(self, rows: Sequence[int], column: int = 0) -> list[Ids]:
        """Return the ids of one column of the given rows."""
        return self._columns[column].take(rows)


class LazyTokens:
    """Token ids made from the corpus when they are asked for: nothing to wait for, each row paid when it is drawn.

    `truncated` counts the cuts so far.

    Args:
        corpus: the rows of text.
        tokenizer: a Hugging Face tokenizer; a fast one is copied, so that threads do not share its settings.
        max_tokens: where longer rows are cut.
    """

    def __init__(self, corpus: Corpus, tokenizer: Any, *, max_tokens: int) -> None:
        self.max_tokens = at_least("max_tokens", max_tokens, 1, of="the tokens")
        self.truncated = 0
        self.tokenizer = tokenizer
        self.starts = word_starts(tokenizer)
        self._corpus = corpus
        self._encode = Encoder(tokenizer, enough=_JUDGED)

    @property
    def width(self) -> int:
        """Return the number of columns."""
        return self._corpus.width

    def __len__(self) -> int:
        return len(self._corpus)

    def __getitem__(self, index: int) -> Ids | tuple[Ids, ...]:
        cells = tuple(self.take([index], column)[0] for column in range(self.width))
        return cells[0] if self.width == 1 else cells

    def take(self, rows: Sequence[int], column: int = 0) -> list[Ids]:
        """Return the ids of one column of the given rows."""
        encoded = self._encode([self._corpus.column(column, row, row + 1)[0] for row in rows])
        found = [np.frombuffer(row, dtype=self._encode.dtype) for row in encoded]
        self.truncated += sum(len(ids) > self.max_tokens for ids in found)
        return [ids[: self.max_tokens] for ids in found]


def build_tokens(
    corpus: Corpus, tokenizer: Any, folder: Path | str, *, max_tokens: int, progress: Progress | None = None
) -> TokenStore:
    """Tokenize a whole corpus to disk, or open what was made there from the same corpus and tokenizer.

    Args:
        corpus: the rows of text.
        tokenizer: a Hugging Face tokenizer.
        folder: where the ids go; it appears there only once it is complete.
        max_tokens: where longer rows are cut; the store counts them.
        progress: is called with the number of rows done so far.
    """
    folder = Path(folder)
    at_least("max_tokens", max_tokens, 1, of="the tokens")
    wanted = {
        "format": _FORMAT,
        "corpus": corpus.fingerprint,
        "tokenizer": _fingerprint(tokenizer),
        "max_tokens": max_tokens,
        "width": corpus.width,
    }
    made = _read_record(folder)
    if made is not None and {key: made.get(key) for key in wanted} == wanted:
        return TokenStore(folder, made, tokenizer)
    if made is None and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DataError(f"{folder} holds something else than tokens. Choose a folder that is empty or not there.")
    encode = Encoder(tokenizer)
    longest = max_tokens * encode.dtype.itemsize
    truncated = 0
    with atomic_folder(folder) as unfinished:
        np.save(unfinished / "word-starts.npy", word_starts(tokenizer))
        columns = [RaggedWriter(column_path(unfinished, number), encode.dtype) for number in range(corpus.width)]
        try:
            for start, stop in corpus.blocks(_ROWS, _BYTES):
                cut = np.zeros(stop - start, dtype=np.bool_)
                for number, column in enumerate(columns):
                    for place, row in enumerate(encode(corpus.column(number, start, stop))):
                        cut[place] |= len(row) > longest
                        column.append(row[:longest])
                truncated += int(cut.sum())
                if progress is not None:
                    progress(stop)
        except BaseException:
            for column in columns:
                column.abandon()
            raise
        for column in columns:
            column.finish().close()
        write_json(unfinished / "tokens.json", {**wanted, "truncated": truncated})
    return open_tokens(folder, tokenizer)


def open_tokens(folder: Path | str, tokenizer: Any = None) -> TokenStore:
    """Open tokens that were built into `folder`, by this tokenizer where it is at hand.

    Raises:
        DataError: the folder holds no finished tokens.
    """
    folder = Path(folder)
    record = _read_record(folder)
    if record is None:
        raise DataError(f"{folder} holds no finished tokens. Build them again from their corpus.")
    return TokenStore(folder, record, tokenizer)


def _read_record(folder: Path) -> dict[str, Any] | None:
    try:
        record = read_json(folder / "tokens.json")
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) and record.get("format") == _FORMAT else None


def _fingerprint(tokenizer: Any) -> str:
    fast = plain_copy(tokenizer)
    if fast is None:
        content = "\n".join(f"{token}\t{number}" for token, number in sorted(tokenizer.get_vocab().items()))
    else:
        content = fast.to_str()
    return hashlib.blake2b(content.encode("utf-8", "replace"), digest_size=16).hexdigest()
