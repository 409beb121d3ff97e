"""An index on disk in generations: each is written whole beside the one in use, and one small file says which counts.

Whoever reads has the files of a generation open, so that none is blocked when the next one takes its place; whoever
writes holds the folder's lock. A kill or a full disk at any moment leaves the generation that was there.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mirrormask.core.errors import DataError
from mirrormask.core.locking import locked
from mirrormask.core.storage import atomic_folder, check_writable, write_json

FORMAT = 2  # the first knew no weights of tokens
ENCODED = ".encoded"
"""Where a writer keeps what it has encoded until the generation is whole."""

MANIFEST = "index.json"
_NAME = re.compile(r"g\d{6}")


def is_index(folder: Path) -> bool:
    """Say whether a folder holds an index."""
    return (folder / MANIFEST).is_file()


def stamp(folder: Path) -> tuple[int, ...]:
    """Return something that is another one after every change of an index."""
    try:
        facts = (folder / MANIFEST).stat()
    except OSError:
        return ()
    return facts.st_mtime_ns, facts.st_ino, facts.st_size


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return what an index says of itself, once every file that it names was seen to be there whole.

    Raises:
        DataError: there is no index, it is newer than this program, or a part of it is missing.
    """
    if not folder.is_dir():
        raise DataError(f"There is no index {folder}. Make one with: mirrormask index TEXTS --out {folder}")
    if not is_index(folder) and (folder / ENCODED).is_dir():
        raise DataError(f"The index {folder} is not finished. Repeat the command that made it, and it goes on.")
    if not is_index(folder):
        raise DataError(
            f"{folder} is no index: it has no {MANIFEST}. Give the folder that `mirrormask index` wrote, or make one "
            f"with: mirrormask index TEXTS --out {folder}-index"
        )
    try:
        found = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        version, name, files = int(found["format"]), str(found["generation"]), dict(found["files"])
    except (ValueError, KeyError, TypeError, UnicodeDecodeError) as error:
        raise DataError(f"{folder / MANIFEST} is damaged. Copy the index again, or index the texts again.") from error
    if version > FORMAT:
        raise DataError(
            f"{folder} was written by a newer version of mirrormask (format {version}; this one reads {FORMAT}). "
            "Upgrade mirrormask, or index the texts again."
        )
    for path, size in files.items():
        file = folder / name / path
        if not file.is_file() or file.stat().st_size != size:
            what = "is missing" if not file.is_file() else f"has {file.stat().st_size:,} of {size:,} bytes"
            raise DataError(f"{folder} was copied only in part: {name}/{path} {what}. Copy it again.")
    return dict(found)


@contextlib.contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Hold an index, or the place for one, for writing; what a killed writer left is removed, save what it encoded.

    Raises:
        MirrormaskError: another process is writing there.
        DataError: the folder holds something else.
    """
    check_writable(folder)
    with locked(folder):
        if not is_index(folder) and any(not _ours(path) for path in folder.iterdir()):
            raise DataError(f"{folder} holds something else than an index. Choose a folder that is empty or not there.")
        current = read_manifest(folder)["generation"] if is_index(folder) else ""
        _remove_others(folder, current, ENCODED)
        try:
            yield
        finally:
            if not is_index(folder) and all(path.name == ".lock" for path in folder.iterdir()):
                (folder / ".lock").unlink(missing_ok=True)
                folder.rmdir()


@contextlib.contextmanager
def next_generation(folder: Path, record: dict[str, Any]) -> Iterator[Path]:
    """Fill a folder that becomes the index's current generation when the block ends well; the old one is removed then.

    Args:
        folder: of the index, held by `writing`.
        record: what the manifest says besides; it may be filled in the block.
    """
    before = (
        json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["generation"] if is_index(folder) else "g000000"
    )
    name = f"g{int(before[1:]) + 1:06d}"
    with atomic_folder(folder / name) as unfinished:
        yield unfinished
        files = {
            str(path.relative_to(unfinished)): path.stat().st_size
            for path in sorted(unfinished.rglob("*"))
            if path.is_file()
        }
    write_json(folder / MANIFEST, {"format": FORMAT, "generation": name, **record, "files": files})
    _remove_others(folder, name)


def _ours(path: Path) -> bool:
    return (
        path.name in (".lock", ENCODED)
        or _NAME.fullmatch(path.name.strip(".")[:7]) is not None
        or MANIFEST in path.name
    )


def _remove_others(folder: Path, *kept: str) -> None:
    for path in folder.iterdir():
        if path.name not in (*kept, MANIFEST, ".lock") and _ours(path):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
