"""Impact matrices on disk: written in shards as they come, read back one at a time, continued after a kill."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from mirrormask.core.errors import DataError
from mirrormask.core.storage import atomic_file, check_writable, read_json, write_json
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.models.precision import best_precision
from mirrormask.probing.impact import DEFAULT, Impact, Matrix, impact_matrices

INDEX = "index.json"
_FORMAT = 1
_SHARD = 256  # sentences; what a kill costs at most


class ImpactStore:
    """The matrices of a folder, in the order of their sentences; a shard is in memory at a time.

    Args:
        folder: what `write_impacts` filled.

    Raises:
        DataError: the folder holds no matrices.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self.index = _index(self.folder)
        if self.index is None:
            raise DataError(f"{folder} holds no impact matrices ({INDEX} is missing). Write them first.")
        self._counts = [int(shard["sentences"]) for shard in self.index["shards"]]

    def __len__(self) -> int:
        return sum(self._counts)

    def __iter__(self) -> Iterator[Matrix]:
        for number in range(len(self._counts)):
            yield from self._shard(number)

    def __getitem__(self, place: int) -> Matrix:
        if not 0 <= place < len(self):
            raise IndexError(place)
        ends = np.cumsum(self._counts)
        number = int(np.searchsorted(ends, place, side="right"))
        before = int(ends[number]) - self._counts[number]
        return next(itertools.islice(self._shard(number), place - before, None))

    def _shard(self, number: int) -> Iterator[Matrix]:
        from safetensors.numpy import load_file

        file = self.folder / str(self.index["shards"][number]["file"])  # type: ignore[index]
        try:
            found = load_file(file)
        except Exception as error:
            raise DataError(f"{file} cannot be read ({error}). Delete the folder and write it again.") from error
        start = 0
        for shape in found["shapes"]:
            size = int(np.prod(shape))
            yield found["values"][start : start + size].reshape(shape)
            start += size


def write_impacts(
    folder: Path | str,
    model: Any,
    sentences: Iterable[Sequence[str]],
    impact: Impact = DEFAULT,
    *,
    precision: str = "auto",
    token_budget: int | None = None,
    label: str = "Sentence",
    progress: Callable[[int], None] | None = None,
) -> ImpactStore:
    """Write the impact matrix of each sentence into a folder and return them as a store.

    Each shard is written whole or not at all, so a run that was killed goes on where its last whole shard ended. The
    folder remembers model, settings and sentences: with others it is refused. More sentences than before are added.

    Args:
        folder: where the matrices go, or already are.
        model: as for `impact_matrices`.
        sentences: likewise; those of finished shards are read only to see that they are the same.
        impact: likewise.
        precision: likewise.
        token_budget: likewise.
        label: likewise.
        progress: called with the number of sentences just done or found done.

    Raises:
        DataError: the folder was begun with another model, other settings or other sentences.
    """
    folder = Path(folder)
    check_writable(folder)
    made_of = {
        "impact": json.loads(json.dumps(asdict(impact))),
        "precision": best_precision(next(model.parameters()).device, precision).name,
        "model": _fingerprint(model),
    }
    index: dict[str, Any] = _index(folder) or {"format": _FORMAT, **made_of, "shards": []}
    for key, value in made_of.items():
        if index[key] != value:
            raise DataError(
                f"{folder} was begun with another {key} ({_short(index[key])}, now {_short(value)}). "
                "Give another folder, or delete this one."
            )
    stream = iter(sentences)
    done = 0
    for shard in index["shards"]:
        some = list(itertools.islice(stream, shard["sentences"]))
        if _digest([_one(sentence) for sentence in some]) != shard["digest"]:
            raise DataError(
                f"{folder} was begun with other sentences: they differ from {label.lower()} {done + 1} on. "
                "Give another folder, or delete this one."
            )
        done += len(some)
        if progress is not None:
            progress(len(some))
    seen: list[bytes] = []
    matrices = impact_matrices(
        model,
        _noted(stream, seen),
        impact,
        precision=precision,
        token_budget=token_budget,
        label=label,
        first=done + 1,
    )
    while chunk := list(itertools.islice(matrices, _SHARD)):
        file = f"{len(index['shards']):06d}.safetensors"
        _write_shard(folder / file, chunk)
        index["shards"].append({"file": file, "sentences": len(chunk), "digest": _digest(seen[: len(chunk)])})
        del seen[: len(chunk)]
        write_json(folder / INDEX, index)
        if progress is not None:
            progress(len(chunk))
    write_json(folder / INDEX, index)
    return ImpactStore(folder)


def _write_shard(file: Path, matrices: Sequence[Matrix]) -> None:
    from safetensors.numpy import save

    shapes = np.array([matrix.shape for matrix in matrices], dtype=np.int64)
    values = np.concatenate([matrix.ravel() for matrix in matrices])
    with atomic_file(file, "wb") as stream:
        stream.write(save({"shapes": shapes, "values": values}))


def _index(folder: Path) -> dict[str, Any] | None:
    if not (folder / INDEX).is_file():
        return None
    try:
        found = read_json(folder / INDEX)
    except ValueError:
        found = {}
    if not isinstance(found, dict) or found.get("format") != _FORMAT:
        raise DataError(f"{folder / INDEX} is no index of impact matrices. Give another folder.")
    return found


def _noted(sentences: Iterable[Sequence[str]], seen: list[bytes]) -> Iterator[Sequence[str]]:
    for sentence in sentences:
        seen.append(_one(sentence))
        yield sentence


def _one(sentence: Sequence[str]) -> bytes:
    return hashlib.blake2b(json.dumps(list(sentence)).encode(), digest_size=16).digest()


def _digest(seen: Sequence[bytes]) -> str:
    return hashlib.blake2b(b"".join(seen), digest_size=16).hexdigest()


def _fingerprint(model: Any) -> str:
    """Return a digest of all weights."""
    whole = hashlib.blake2b(digest_size=16)
    module = model.model if isinstance(model, MaskedLM) else model
    for name, weight in module.named_parameters():
        whole.update(name.encode())
        whole.update(weight.detach().cpu().contiguous().view(-1).float().numpy().data)
    return whole.hexdigest()


def _short(value: Any) -> str:
    return str(value)[:12] if isinstance(value, str) else ", ".join(f"{k}={v}" for k, v in value.items())
