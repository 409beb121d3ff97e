"""Where a dataset name leads: the folders named in MIRRORMASK_DATA, which mirror hub names, then the hub."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mirrormask.core.errors import DataError
from mirrormask.data.text.files import records

FORMATS = (".jsonl", ".csv", ".tsv", ".parquet", ".txt", ".ndjson", ".json")
COMPRESSIONS = ("", ".gz", ".bz2", ".xz", ".zst")
ENDINGS = tuple("".join(pair) for pair in itertools.product(FORMATS, COMPRESSIONS))

_HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)*")
_HUB_TIMEOUT = 10.0  # seconds for the one question whether the hub has the dataset
_SILENCE = 60.0  # seconds in which a hub that did not answer is taken to be unreachable, so that seven tasks wait once
_silent_until = [0.0]


class DatasetMissing(DataError):
    """A dataset that is under no local root and cannot be had from the hub."""


def dataset_roots() -> list[Path]:
    """Return the folders named in MIRRORMASK_DATA, in order."""
    value = os.environ.get("MIRRORMASK_DATA", "")
    return [Path(part).expanduser() for part in value.split(os.pathsep) if part]


def find_split(name: str, split: str) -> Path | None:
    """Return the local file of one split of a dataset, such as ROOT/mteb/stsbenchmark-sts/test.jsonl.gz, or None."""
    if not _is_hub_name(name):
        return None
    return _first_file(root / name / f"{split}{ending}" for root in dataset_roots() for ending in ENDINGS)


def find_corpus(name: str) -> Path | None:
    """Return the local file of a corpus by its name, endings optional, in a root or its folder `corpus`, or None."""
    if not _is_hub_name(name):
        return None
    folders = [folder for root in dataset_roots() for folder in (root, root / "corpus")]
    return _first_file(folder / f"{name}{ending}" for folder in folders for ending in ("", *ENDINGS))


def load_rows(name: str, split: str) -> Iterator[dict[str, Any]]:
    """Return the rows of one split of a dataset, streamed from a local root or else from the hub.

    Raises:
        DatasetMissing: neither has it; the message names the roots searched and both ways out.
    """
    path = find_split(name, split)
    return records(path) if path is not None else _hub_rows(name, split)


def describe_source(name: str, split: str) -> str:
    """Return where the rows of a split come from, for messages and reports: the file's path, or the hub name."""
    path = find_split(name, split)
    return str(path) if path is not None else f"{name} ({split})"


def _is_hub_name(name: str) -> bool:
    return _HUB_NAME.fullmatch(name) is not None and ".." not in name.split("/")


def _first_file(candidates: Iterator[Path]) -> Path | None:
    with contextlib.suppress(OSError):  # a name that is too long for a path is none
        return next((path for path in candidates if path.is_file()), None)
    return None


def _hub_rows(name: str, split: str) -> Iterator[dict[str, Any]]:
    """Ask the hub once, quickly, then stream; the library's own retries would hold an offline user for minutes."""
    if not _is_hub_name(name):
        raise DataError(f"{name!r} is no dataset name. Give a name such as mteb/stsbenchmark-sts, without '..'.")
    if not _offline():
        _ask_hub(name, split)
    try:
        import datasets
    except ImportError:
        why = "the package 'datasets', which reads the hub, is not installed"
        raise _missing(name, split, why, 'install it with: pip install "mirrormask[data]"') from None
    if _offline():
        try:
            if not datasets.config.HF_HUB_OFFLINE:  # set after the library was imported, which then would try and wait
                raise ConnectionError("The cache is only read when HF_HUB_OFFLINE is set before the start.")
            return iter(datasets.load_dataset(name, split=split))  # what the library holds in its cache
        except Exception as error:  # of many kinds: no cache, no such split in it, a damaged one
            why = "the hub was not asked because HF_HUB_OFFLINE is set"
            raise _missing(name, split, why, "unset HF_HUB_OFFLINE and connect to the internet") from error
    try:
        rows = datasets.load_dataset(name, split=split, streaming=True)
    except ValueError as error:
        why = f"the hub's copy has no such split ({_first_line(error)})"
        raise _missing(name, split, why, "check the split") from None
    return _streamed(name, iter(rows))


def _ask_hub(name: str, split: str) -> None:
    """Raise DatasetMissing unless the hub says it has the dataset; a silent hub is not asked again for a while."""
    if time.monotonic() < _silent_until[0]:
        raise _missing(name, split, "the hub cannot be reached", "connect to the internet")
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RepositoryNotFoundError

    try:
        HfApi().dataset_info(name, timeout=_HUB_TIMEOUT)
    except RepositoryNotFoundError:
        raise _missing(name, split, "the hub has no such dataset", "check the name") from None
    except Exception as error:  # each version of the hub's client has its own errors for a network that is not there
        _silent_until[0] = time.monotonic() + _SILENCE
        raise _missing(name, split, "the hub cannot be reached", "connect to the internet") from error


def _offline() -> bool:
    values = (os.environ.get(key, "") for key in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"))
    return any(value.strip().lower() in ("1", "on", "yes", "true") for value in values)


def _streamed(name: str, rows: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    try:
        yield from rows
    except OSError as error:
        raise DataError(
            f"The dataset {name!r} stopped coming from the hub ({_first_line(error)}). Repeat the command."
        ) from error


def _missing(name: str, split: str, why: str, way: str) -> DatasetMissing:
    roots = dataset_roots()
    if roots:
        searched = f"under {', '.join(map(str, roots))}"
        splits = sorted({file.name.split(".")[0] for root in roots for file in _files(root / name)})
        there = f" (only {', '.join(splits)})" if splits else ""
    else:
        searched, there = "in a local folder (MIRRORMASK_DATA is not set)", ""
    return DatasetMissing(
        f"The split {split!r} of the dataset {name!r} is not {searched}{there}, and {why}. Set MIRRORMASK_DATA to a "
        f"folder that holds {name}/{split}.jsonl.gz, or {way}."
    )


def _files(folder: Path) -> list[Path]:
    return [file for file in folder.iterdir() if file.is_file()] if folder.is_dir() else []


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:160]
