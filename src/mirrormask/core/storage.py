"""Files that are either whole or absent: written beside, synced, then renamed."""

from __future__ import annotations

import contextlib
import errno
import glob
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mirrormask.core.errors import MirrormaskError, TrainingError


@contextlib.contextmanager
def atomic_file(path: Path | str, mode: str = "w") -> Iterator[Any]:
    """Open a file that replaces `path` only once it has been written whole."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _beside(path)
    try:
        with temporary.open(mode.replace("w", "x"), **_encoding(mode)) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        raise explained(error, path) from error


@contextlib.contextmanager
def atomic_folder(path: Path | str) -> Iterator[Path]:
    """Fill a folder that replaces `path` only once it is complete; the old one survives any failure.

    Its files may be read by whoever the user's umask lets read it, whatever a library made of them.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _beside(path)
    temporary.mkdir()
    old = path.with_name(f".{path.name}.old")
    try:
        yield temporary
        for file in temporary.rglob("*"):
            if file.is_file() and not file.is_symlink():
                file.chmod(temporary.stat().st_mode & 0o666)
                with file.open("rb") as stream:
                    os.fsync(stream.fileno())
        shutil.rmtree(old, ignore_errors=True)
        if path.exists():
            path.rename(old)
        temporary.rename(path)
        shutil.rmtree(old, ignore_errors=True)
    except BaseException as error:
        shutil.rmtree(temporary, ignore_errors=True)
        if not path.exists() and old.exists():
            old.rename(path)
        raise explained(error, path) from error


def check_writable(folder: Path | str) -> None:
    """Make a folder and write into it, so that a path that cannot be written is said before the work, not after.

    Raises:
        MirrormaskError: it is a file, or may not be written.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (FileExistsError, NotADirectoryError):
        raise MirrormaskError(
            f"{folder} is, or lies under, a file, and a folder is needed. Give another path."
        ) from None
    except OSError as error:
        raise MirrormaskError(
            f"The folder {folder} cannot be written ({error.strerror}). Give another path."
        ) from error


def recovered(path: Path | str) -> Path:
    """Return `path`, put back first where a kill struck between the two renames of `atomic_folder`.

    What such a kill left unfinished beside it is removed.
    """
    path = Path(path)
    old = path.with_name(f".{path.name}.old")
    if old.is_dir() and not path.exists():
        with contextlib.suppress(OSError):  # another process of the run was quicker
            old.rename(path)
    if path.parent.is_dir():
        _removed(old, *path.parent.glob(f".{glob.escape(path.name)}.*.partial"))
    return path


def remove_folder(path: Path | str) -> None:
    """Remove a folder so that a kill leaves it whole or gone, never half of it under its name."""
    path = Path(path)
    aside = _beside(path)
    with contextlib.suppress(FileNotFoundError):
        path.rename(aside)
        _removed(aside)


def _beside(path: Path) -> Path:
    """Return a new name beside a path, for what is not finished."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")


def _removed(*paths: Path) -> None:
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def write_json(path: Path | str, content: Any) -> None:
    """Write JSON atomically, with sorted-free stable layout and a final newline."""
    with atomic_file(path) as stream:
        json.dump(content, stream, indent=2, ensure_ascii=False, default=str)
        stream.write("\n")


def read_json(path: Path | str) -> Any:
    """Read JSON written by `write_json`."""
    return json.loads(Path(path).read_text(encoding="utf-8"))


def append_json(path: Path | str, rows: Sequence[dict[str, Any]]) -> None:
    """Append a line of JSON for each row."""
    with Path(path).open("a", **_encoding("a")) as stream:
        stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _encoding(mode: str) -> dict[str, Any]:
    """Return how text is written; a path that is not UTF-8 is written as escapes, which JSON reads back."""
    return {} if "b" in mode else {"encoding": "utf-8", "errors": "backslashreplace"}


def explained(error: BaseException, path: Path) -> BaseException:
    """Return the sentence for a full disk where that is what the error is about, else the error."""
    text = str(error)
    full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    if full or "No space left" in text or "os error 28" in text:
        return TrainingError(
            f"The disk is full: {path} could not be written and what was there before is untouched. "
            "Free some space, then repeat the command, a training with --resume."
        )
    return error
