"""Text as one long stream of token ids, cut into rows of one length: nothing is padded and no token is lost.

Rows of an epoch follow each other without a gap; the last one goes on at the beginning of the stream. Every epoch cuts
at other places, so a token meets other neighbors each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mirrormask.core.batch import Frame
from mirrormask.core.encoding import Encoder
from mirrormask.core.errors import DataError, at_least
from mirrormask.core.seeding import derive
from mirrormask.core.storage import atomic_folder, write_json
from mirrormask.data.batching import prefetch
from mirrormask.data.order import ShuffledOrder
from mirrormask.data.text.corpus_folder import Corpus
from mirrormask.data.text.store import ArrayWriter

Stream = NDArray[np.integer[Any]]
Progress = Callable[[int], None]

TRAIN, ASIDE = "train.npy", "held-out.npy"


def pack(
    corpus: Corpus,
    tokenizer: Any,
    folder: Path | str,
    *,
    one_in: int = 0,
    progress: Progress | None = None,
) -> tuple[Stream, Stream]:
    """Write the ids of all texts end to end, each followed by the separator, and return the two streams.

    Args:
        corpus: the texts.
        tokenizer: whose ids to write.
        folder: where the streams go; it appears there only once it is complete.
        one_in: one text in so many goes into the second stream, which is held out; 0 holds out nothing.
        progress: is called with the number of texts done so far.
    """
    folder = Path(folder)
    encode = Encoder(tokenizer)
    end = np.array([tokenizer.sep_token_id], dtype=encode.dtype).tobytes()
    with atomic_folder(folder) as unfinished:
        writers = [ArrayWriter(unfinished / name, encode.dtype) for name in (TRAIN, ASIDE)]
        try:
            for start, stop in corpus.blocks(4096, 1 << 20):
                rows = [row + end for row in encode(corpus.column(0, start, stop))]
                held = range(-start % one_in, stop - start, one_in) if one_in else range(0)
                writers[1].extend_bytes(b"".join(rows[i] for i in held))
                for i in held:
                    rows[i] = b""
                writers[0].extend_bytes(b"".join(rows))
                if progress is not None:
                    progress(stop)
        except BaseException:
            for writer in writers:
                writer.abandon()
            raise
        if encode.count.tokens and encode.count.unknown == encode.count.tokens:
            for writer in writers:
                writer.abandon()
            raise DataError(
                "Every token of the text is unknown to the tokenizer, so there is nothing to learn. Name a model that "
                "reads this text, or none, and a tokenizer is learned from it."
            )
        counts = [len(writer) for writer in writers]
        for writer in writers:
            writer.finish().close()
        write_json(unfinished / "packed.json", {"train": counts[0], "held_out": counts[1], "texts": len(corpus)})
    return open_packed(folder)


def open_packed(folder: Path | str) -> tuple[Stream, Stream]:
    """Open the two streams that `pack` wrote, memory-mapped."""
    try:
        found = [np.load(Path(folder) / name, mmap_mode="r", allow_pickle=False) for name in (TRAIN, ASIDE)]
    except (OSError, ValueError) as error:
        raise DataError(f"{folder} holds no finished token stream ({error}). Remove it and start again.") from error
    return found[0], found[1]


class PackedRows:
    """Batches of framed rows (n, length) cut from a stream, shuffled anew in every epoch.

    Args:
        ids: the stream.
        frame: the special tokens around every row.
        length: tokens of a row, the frame included.
        batch_size: rows of the joint batch of all processes.
        seed: of the order and of where each epoch cuts.
        together: rows that follow each other in the stream and stay side by side in the batch: 2 makes neighbors.
    """

    def __init__(
        self, ids: Stream, frame: Frame, *, length: int, batch_size: int, seed: int, together: int = 1
    ) -> None:
        self.ids = ids
        self.frame = frame
        self.length = at_least("length", length, len(frame) + 2, of="packed rows")
        self.batch_size = at_least("batch_size", batch_size, together, of="packed rows")
        self.seed = seed
        self.together = together
        self.content = length - len(frame)
        if len(ids) < self.content * together:
            raise DataError(
                f"The text has {len(ids):,} tokens, and one row takes {self.content * together:,}. "
                "Give more text, or lower --length."
            )
        self.units = -(-len(ids) // (self.content * together))
        self._units_a_batch = batch_size // together

    def __len__(self) -> int:
        """Return the number of batches in which every token is seen once."""
        return -(-self.units // self._units_a_batch)

    def at(self, step: int, *, rank: int = 0, world: int = 1) -> Tensor:
        """Return the rows (n, length) of a step counted from the beginning of the run, or one process's share."""
        size = self._units_a_batch
        first = step * size
        numbers = np.arange(first + size * rank // world, first + size * (rank + 1) // world)
        starts = np.empty(len(numbers), dtype=np.int64)
        for epoch in np.unique(numbers // self.units):
            here = numbers // self.units == epoch
            order = ShuffledOrder(self.units, derive(self.seed, "epoch", int(epoch)))
            shift = derive(self.seed, "cut", int(epoch)) % len(self.ids)
            starts[here] = order.at(numbers[here] % self.units) * self.content * self.together + shift
        return self._rows(starts)

    def stream(self, start: int, stop: int, rank: int = 0, world: int = 1) -> Iterator[Tensor]:
        """Yield the batches of steps `start` to `stop`, made ahead in a thread; close it when leaving early."""
        return prefetch(self, start, stop, rank, world)

    def _rows(self, starts: NDArray[np.int64]) -> Tensor:
        places = (starts[:, None] + np.arange(self.content * self.together)) % len(self.ids)
        ids = self.ids[places].astype(np.int64).reshape(-1, self.content)
        before = np.broadcast_to(self.frame.prefix, (len(ids), len(self.frame.prefix)))
        after = np.broadcast_to(self.frame.suffix, (len(ids), len(self.frame.suffix)))
        return torch.from_numpy(np.concatenate([before, ids, after], axis=1).astype(np.int64))
