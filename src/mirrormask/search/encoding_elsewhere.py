"""Passages of an index encoded by workers, who keep the vectors of a shard where whoever builds the index looks."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.engines import Engine
from mirrormask.core.errors import ModelError
from mirrormask.models.fingerprint import fingerprint
from mirrormask.search.encoded import STEP, Encoded, keep
from mirrormask.search.library import Library
from mirrormask.search.text_encoder import EncoderFacts, TextEncoder

Rows = NDArray[np.int64]

_TOGETHER = 64  # shards that one task reads


@dataclass(frozen=True)
class PassageShard:
    """Passages that are encoded together.

    Args:
        name: says which rows they are and what they say.
        place: the same in words.
        texts: theirs.
    """

    name: str
    place: str
    texts: list[str]


@dataclass(frozen=True)
class ReadPassages:
    """Reads rows of a library in shards.

    Args:
        library: its folder.
    """

    library: Path

    def __call__(self, rows: Rows) -> Iterator[PassageShard]:
        """Yield the shards of some rows."""
        library = Library(self.library)
        for start in range(0, len(rows), STEP):
            some = rows[start : start + STEP].tolist()
            texts = [library.titled(row) for row in some]
            mark = hashlib.blake2b("\0".join(texts).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
            name = f"r{some[0]:012d}-{some[-1]:012d}-{mark}"
            yield PassageShard(name, f"passages {some[0]:,} to {some[-1]:,}", texts)


@dataclass(frozen=True)
class EncodePassages:
    """Makes what encodes shards of passages, in a process that may run on another machine.

    Args:
        facts: of the encoder.
        model: its folder.
        weights: of its tokens, where they are not equal.
        out: where vectors are kept.
    """

    facts: EncoderFacts
    model: Path
    weights: NDArray[np.float32] | None
    out: Path

    def __call__(self) -> Callable[[PassageShard], int]:
        """Return a function that encodes a shard and says how many passages it had.

        Raises:
            ModelError: the encoder is another one here.
        """
        if fingerprint(self.model) != self.facts.fingerprint:
            raise ModelError(
                f"On {socket.gethostname()} {self.model} is another encoder than where the command was given. "
                "Put the same files on every machine."
            )
        encoder = TextEncoder(self.facts, self.model, weights=self.weights)

        def work(shard: PassageShard) -> int:
            keep(self.out, shard.name, shard.texts, encoder.documents(shard.texts))
            return len(shard.texts)

        return work


def encode_elsewhere(
    engine: Engine,
    kept: Encoded,
    library: Library,
    first: int,
    encoder: TextEncoder,
    report: Callable[[int], None],
) -> tuple[Encoded, int]:
    """Let workers encode what is not kept yet; return what is kept then, and how many passages were encoded.

    Args:
        engine: that has the workers.
        kept: what a run that was stopped left.
        library: of the index, on a disk that every worker sees.
        first: row of the first passage that is new.
        encoder: of the index.
        report: told how many passages were encoded, or found.
    """
    rows = np.arange(first, len(library.owners))
    if len(kept):
        starts = range(0, len(rows), STEP)
        there = [kept.has([library.titled(row) for row in rows[at : at + STEP].tolist()]) for at in starts]
        rows = rows[~np.concatenate(there)]
        report(len(library.owners) - first - len(rows))
    if not len(rows):
        return kept, 0
    pieces = [rows[at : at + STEP * _TOGETHER] for at in range(0, len(rows), STEP * _TOGETHER)]
    out = kept.folder.resolve()
    make = EncodePassages(encoder.facts, encoder.folder.resolve(), encoder.weights, out)
    with engine:
        for done in engine.run(pieces, ReadPassages(library.folder.resolve()), make, out):
            report(done)
    return Encoded(kept.folder, encoder.decisive()), len(rows)
