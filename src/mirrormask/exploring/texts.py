"""The texts to look at, each with an id, and their vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import DataError
from mirrormask.core.wording import counted
from mirrormask.search.documents import Reading, read_documents

Progress = Callable[[str, int, int], None]
"""Called with what is done, how much of it was just done, and how much there is in all."""


@dataclass(frozen=True)
class Texts:
    """Texts in the order of their sources.

    Args:
        name: of the sources.
        texts: none of them empty.
        ids: of each: that of its row where there is one, else file and row.
        notes: what was left out or chosen.
        vectors: of each (n, d), where they are known already.
    """

    name: str
    texts: list[str] = field(repr=False)
    ids: list[str] = field(repr=False)
    notes: tuple[str, ...] = ()
    vectors: NDArray[np.float32] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.texts)


def read_texts(sources: Sequence[str | Path], *, column: str | None = None, least: int = 2) -> Texts:
    """Read the texts of files and folders, as `index` does; rows without a text are left out and counted.

    Args:
        sources: files and folders, or `-`.
        column: that holds the text; by default the one that plainly does.
        least: texts that are needed.

    Raises:
        DataError: a source cannot be read, or there are fewer texts.
    """
    reading = Reading(column)
    documents = list(read_documents([Path(source) for source in sources], reading))
    name = str(sources[0]) if len(sources) == 1 else counted(len(sources), "source")
    if len(documents) < least:
        raise DataError(f"{name} has {counted(len(documents), 'text')}, and at least {least} are needed. Give more.")
    texts, ids = [each.text.strip() for each in documents], [each.id for each in documents]
    return Texts(name, texts, ids, tuple(reading.sentences()))


def encode(
    texts: Sequence[str], model: Any, *, max_length: int, progress: Progress | None = None
) -> NDArray[np.float32]:
    """Return the vectors of the texts (n, d).

    Args:
        texts: what to encode.
        model: a name or folder for `mirrormask.load`, or an encoder.
        max_length: tokens to read of a text, where the encoder would read more.
        progress: called as texts are encoded.
    """
    from mirrormask.models.bulk import encode_texts
    from mirrormask.models.encoder import load

    encoder = load(model) if isinstance(model, (str, Path)) else model
    tick = None if progress is None else lambda done: progress("encoding", done, len(texts))
    return encode_texts(encoder, list(texts), max_length=max_length, progress=tick)
