"""Files of texts to a folder of shards, by whichever engine: cut, encoded, and every row seen to be there once."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core import blocks
from mirrormask.core.engines import Engine
from mirrormask.core.errors import DataError, ModelError
from mirrormask.core.similarity import unit_rows
from mirrormask.data.text.compression import STDIN, check_file, split_suffix
from mirrormask.data.text.origin import FORMATS
from mirrormask.models.fingerprint import fingerprint, model_folder
from mirrormask.runs.vector_shards import CutTexts, SourceFile, TextShard, VectorShards, write_shard


@dataclass(frozen=True)
class EncodeShards:
    """Makes what encodes shards, in a process that may run on another machine.

    Args:
        model: name or folder.
        fingerprint: of its files, where the command was given.
        precision: as for the bulk pass.
        normalize: scale every vector to length 1.
        folder: where shards are written.
    """

    model: str
    fingerprint: str
    precision: str
    normalize: bool
    folder: Path

    def __call__(self) -> Callable[[TextShard], TextShard]:
        """Load the encoder.

        Raises:
            ModelError: it is another one here.
        """
        from mirrormask.models.encoder import load

        encoder = load(self.model)
        if fingerprint(model_folder(self.model)) != self.fingerprint:
            raise ModelError(
                f"On {socket.gethostname()} {self.model} is another encoder than where the command was given. "
                "Put the same files on every machine."
            )

        def work(shard: TextShard) -> TextShard:
            if shard.texts:
                vectors = vectors_of(encoder, shard.texts, precision=self.precision, normalize=self.normalize)
                write_shard(self.folder, shard, vectors)
            return replace(shard, texts=[])

        return work


def encode_shards(
    source: str,
    out: Path,
    model: str,
    options: dict[str, Any],
    engine: Engine,
    *,
    resume: bool = False,
    progress: Callable[[int], None] | None = None,
) -> dict[str, Any]:
    """Encode every row of a file, or of every file of a folder, into the shards of the folder `out`.

    Args:
        source: a file or a folder.
        out: appears once it is complete.
        model: name or folder.
        options: `column`, `precision` and `normalize`, as for `encode_file`.
        engine: where it is done.
        resume: go on with the shards that a run that was killed left.
        progress: called with the number of texts just done, or found done.
    """
    files = text_files(source)
    model = str(Path(model).resolve()) if Path(model).is_dir() else model
    mark = fingerprint(_folder_of(model))
    plan = {"model": mark, **options, "list of files": [file.name for file in files]}
    notes: list[str] = []
    with VectorShards(out.absolute(), plan, resume=resume) as shards, engine:
        found = shards.found()
        files = [replace(file, found=found.get(file.number, frozenset())) for file in files]
        make = EncodeShards(model, mark, options["precision"], options["normalize"], shards.folder)
        for done in engine.run(files, CutTexts(options["column"], blocks.BLOCK), make, shards.folder):
            notes += done.notes
            if not done.rows:
                shards.ended(done)
            elif progress is not None:
                progress(done.rows)
        record = shards.finish(files, {"model": model})
    record.pop("plan")
    return {**record, "file": str(out), "notes": list(dict.fromkeys(notes))}


def vectors_of(encoder: Any, texts: Sequence[str], *, precision: str, normalize: bool) -> NDArray[np.float32]:
    """Return the vectors (n, d) of a block, as they are written."""
    from mirrormask.models.bulk import encode_texts

    vectors = encode_texts(encoder, texts, precision=precision)
    return unit_rows(vectors).astype(np.float32) if normalize else vectors


def text_files(source: str) -> list[SourceFile]:
    """Return the files that a source is made of, in order: itself, or what lies in the folder that it is.

    Raises:
        DataError: there is none.
    """
    root = Path(source)
    if source == STDIN or not root.is_dir():
        check_file(source)
        return [SourceFile(0, root.name, source if source == STDIN else str(root.resolve()))]
    names = sorted(
        path.relative_to(root).as_posix()
        for path in root.rglob("*")
        if split_suffix(path)[0] in FORMATS and path.is_file() and path.stat().st_size
    )
    names = [name for name in names if not any(part.startswith((".", "_")) for part in name.split("/"))]
    if not names:
        raise DataError(f"The folder {source} holds no file of texts ({', '.join(sorted(FORMATS))}). Give another one.")
    return [SourceFile(number, name, str(root.resolve() / name)) for number, name in enumerate(names)]


def _folder_of(model: str) -> Path:
    """Return where a model's files are; one that is not here yet is fetched."""
    try:
        return model_folder(model)
    except ModelError:
        from mirrormask.models.encoder import load

        load(model)
        return model_folder(model)
