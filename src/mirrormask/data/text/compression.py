"""Open a file as bytes, whatever it is compressed with; damage becomes one clear sentence."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, cast

from mirrormask.core.errors import DataError, MissingExtra, did_you_mean

STDIN = "-"
_MAGIC = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ\x00": ".xz", b"\x28\xb5\x2f\xfd": ".zst"}
_OPENERS: dict[str, Callable[[Any], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": lambda source: _ZstdStream(source),
}
_BUFFER = 1 << 17

READ_ERRORS: tuple[type[Exception], ...] = (OSError, EOFError, zlib.error, lzma.LZMAError)
"""What reading a damaged or truncated file can raise, whatever its compression."""


def split_suffix(path: Path | str) -> tuple[str, str]:
    """Return the format and the compression a file's name says, both lower case.

    Example:
        >>> split_suffix("corpus/wiki.txt.bz2"), split_suffix("pairs.TSV")
        (('.txt', '.bz2'), ('.tsv', ''))
    """
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    compression = suffixes.pop() if suffixes and suffixes[-1] in _OPENERS else ""
    return (suffixes[-1] if suffixes else ""), compression


def named(path: Path | str) -> str:
    """Return how a message names the file: its path, or stdin for `-`."""
    return "stdin" if str(path) == STDIN else str(path)


def check_file(path: Path | str) -> None:
    """Raise a DataError unless `path` is a file that is there and holds something; `-` (stdin) always passes."""
    if str(path) == STDIN:
        return
    path = Path(path)
    try:
        _check_there(path)
    except OSError as error:
        raise DataError(f"{path!s:.200} cannot be opened: {error.strerror}. Check the path and its rights.") from error
    except ValueError as error:
        raise DataError(f"{path!s:.200} cannot be a path: {error}. Check the path.") from error


def _check_there(path: Path) -> None:
    if path.is_dir():
        inside = sorted(child.name for child in path.iterdir() if child.is_file())
        example = f", for example {path / inside[0]}" if inside else ""
        raise DataError(f"{path} is a folder, and a file is needed. Name a file in it{example}.")
    if not path.exists():
        if path.is_symlink():
            path.stat()  # fails, and so says why: the link leads to nothing, or to itself
        near = [child.name for child in path.parent.iterdir()] if path.parent.is_dir() else []
        raise DataError(f"There is no file {path}.{did_you_mean(path.name, near)} Check the path.")
    if path.is_file() and path.stat().st_size == 0:
        raise DataError(f"The file {path} is empty. Give a file with at least one row.")


def open_bytes(path: Path | str) -> BinaryIO:
    """Open a file, or stdin for `-`, as decompressed bytes.

    The compression is the one the name says (`.gz`, `.bz2`, `.xz`, `.zst`), else the one the first bytes show.
    """
    check_file(path)
    source: Any = sys.stdin.buffer if str(path) == STDIN else Path(path)
    compression = split_suffix(path)[1]
    try:
        if not compression:
            plain = source.open("rb", buffering=_BUFFER) if isinstance(source, Path) else source
            start = plain.peek(6)[:6] if hasattr(plain, "peek") else b""
            compression = next((name for magic, name in _MAGIC.items() if start.startswith(magic)), "")
            if not compression:
                return cast(BinaryIO, plain)
            if isinstance(source, Path) and source.is_file():
                plain.close()  # opened again by its path, so that closing the reader closes the file
            else:
                source = plain  # a pipe can be opened only once
        # A buffer of our own: the readers of gzip, bz2 and lzma find lines in Python, this one in C.
        return cast(BinaryIO, io.BufferedReader(_OPENERS[compression](source), _BUFFER))
    except OSError as error:
        raise damaged(path, error) from error


def damaged(path: Path | str, error: Exception) -> DataError:
    """Return the DataError that explains what stopped the reading of `path`."""
    compression = split_suffix(path)[1]
    if isinstance(error, EOFError):
        return DataError(f"{named(path)} is truncated: its compressed data ends too early. Fetch or compress it again.")
    if isinstance(error, OSError) and error.errno is not None:
        return DataError(f"{named(path)} cannot be read: {error.strerror}. Check the file and the disk it is on.")
    kind = f"as {compression} data" if compression else "as compressed data"
    return DataError(f"{named(path)} cannot be read {kind}: {error}. Fetch or compress it again.")


class _ZstdStream(io.RawIOBase):
    """Zstandard frames as one stream of bytes that, unlike the package's reader, notices a missing end."""

    def __init__(self, source: Path | BinaryIO) -> None:
        try:
            import zstandard
        except ImportError:
            raise MissingExtra("zstandard", "data", "Reading a .zst file") from None
        self._owned = isinstance(source, Path)
        self._raw: BinaryIO = source.open("rb") if isinstance(source, Path) else source
        self._package = zstandard
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._fed = False
        self._ready = b""

    def readable(self) -> bool:
        """Return True: bytes can be read."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill `buffer` with the next decompressed bytes and return how many; 0 is the end."""
        while not self._ready:
            piece = self._raw.read(1 << 16)
            if not piece:
                if self._fed:
                    raise EOFError("the last frame has no end")
                return 0
            self._decompress(piece)
        taken = self._ready[: len(buffer)]
        self._ready = self._ready[len(taken) :]
        buffer[: len(taken)] = taken
        return len(taken)

    def _decompress(self, piece: bytes) -> None:
        found = []
        while piece:
            try:
                found.append(self._frame.decompress(piece))
            except self._package.ZstdError as error:
                raise zlib.error(str(error)) from error
            self._fed = not self._frame.eof
            piece = b""
            if self._frame.eof:
                piece = self._frame.unused_data
                self._frame = self._package.ZstdDecompressor().decompressobj()
        self._ready = b"".join(found)

    def close(self) -> None:
        """Close the file below too, where it was opened here."""
        if self._owned:
            self._raw.close()
        super().close()
