"""Rows through the encoder in length shards: the batch stays random, its padding goes.

Each row's vector does not depend on its neighbors, so shards give the vectors, the loss and, with dropout off,
the gradients of the padded batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from mirrormask.core.batch import Tokens
from mirrormask.core.shards import length_shards
from mirrormask.core.transfer import at_least_float32, to_device
from mirrormask.models.embeddings import embedding_module, word_table

Embed = Callable[[Tensor, Tensor], Tensor]
Within = Callable[[], AbstractContextManager[Any]]

CPU_ROWS, CPU_WIDTHS = 32, 4
"""Rows of a shard on a CPU, and what its width is a multiple of.

So many rows keep activations in its cache, and few different shapes spare it from planning matrix products anew.
"""

_NOWHERE = np.zeros(0, dtype=np.int64)

GPU_TOKENS = 65_536
"""Padded tokens that a GPU takes in one pass whatever their lengths: it would spend longer on starting a second one."""


def shards_for(
    tokens: Tokens, device: torch.device, chunk: int | None, *, whole: bool = False
) -> list[NDArray[np.int64]]:
    """Return how to cut rows for a forward: small length shards for a CPU's cache, few large ones for a GPU.

    Args:
        tokens: the rows.
        device: where the forward runs.
        chunk: most rows at a time, where memory is short.
        whole: do not cut by length, so that compiled code sees the same number of rows each time.
    """
    if whole:
        return length_shards(tokens.lengths, 1 << 40, max_rows=chunk, tolerance=1e9)
    if device.type == "cuda":
        few = len(tokens) * int(tokens.lengths.max(initial=0)) <= GPU_TOKENS
        return length_shards(tokens.lengths, 131_072, max_rows=chunk, tolerance=1e9 if few else 1.0)
    order = np.argsort(-tokens.lengths, kind="stable").astype(np.int64)
    rows = min(CPU_ROWS, chunk or CPU_ROWS)
    return np.array_split(order, -(-len(order) // rows))


def encode(
    encoder: Any,
    tokens: Tokens,
    *,
    pad_id: int,
    chunk: int | None = None,
    pad_to: int = 1,
    words: Embed | None = None,
    embed: Embed | None = None,
    within: Within | None = None,
    eager: bool = False,
) -> Tensor:
    """Return sentence vectors (n, d) with gradients, in the order of the rows; arguments as in `encode_with_states`."""
    given = {"chunk": chunk, "pad_to": pad_to, "words": words, "embed": embed, "within": within, "eager": eager}
    return encode_with_states(encoder, tokens, None, pad_id=pad_id, **given)[0]  # type: ignore[arg-type]


def encode_with_states(
    encoder: Any,
    tokens: Tokens,
    positions: Sequence[NDArray[np.int64]] | None,
    *,
    pad_id: int,
    chunk: int | None = None,
    pad_to: int = 1,
    words: Embed | None = None,
    embed: Embed | None = None,
    within: Within | None = None,
    eager: bool = False,
) -> tuple[Tensor, Tensor]:
    """Return sentence vectors (n, d) and, of the same forward, token states (total, d), both with gradients.

    Args:
        encoder: a SentenceTransformer, in training mode or not.
        tokens: rows with their special tokens.
        positions: for each row, where its states are read, as the pooling gets them; None reads none.
        pad_id: what to pad with.
        chunk: rows per pass of the gradient cache: activations of only so many rows are held at a time and computed
            again, with the same dropout, for the backward pass (Gao et al. 2021, "Scaling deep contrastive
            learning batch size under memory limited setup").
        pad_to: widths are rounded up to a multiple of this, so that compiled code sees few shapes.
        words: changes the word embeddings, before positions are added; called once a shard, longest rows first.
        embed: changes the input embeddings, with positions, norm and dropout.
        within: returns the context a forward runs in; a forward that is computed again enters a new one.
        eager: do not use compiled code, which does not see hooks.
    """
    device = next(encoder.parameters()).device
    pad_to = max(pad_to, CPU_WIDTHS) if device.type == "cpu" else pad_to
    shards = shards_for(tokens, device, chunk, whole=pad_to > CPU_WIDTHS)
    table = word_table(encoder) if words is not None else None
    places = _Places(positions or [_NOWHERE] * len(tokens))

    def run(given: Tensor, mask: Tensor, *at: Tensor) -> Any:
        with within() if within is not None else nullcontext(), _hooked(encoder, embed, mask), _stance(eager or embed):
            name = "input_ids" if table is None else "inputs_embeds"
            out = encoder({name: given, "attention_mask": mask})
            return (out["sentence_embedding"], out["token_embeddings"][at]) if at else out["sentence_embedding"]

    found, states = [], []
    for shard in shards:
        given, mask = (
            to_device(t, device)
            for t in tokens.padded(pad_id, shard, multiple_of=pad_to, at_most=encoder.max_seq_length)
        )
        if words is not None and table is not None:
            given = words(table(given), mask)
        if positions is None:
            found.append(_held(run, chunk, given, mask))
            continue
        vectors, there = _held(run, chunk, given, mask, *(to_device(t, device) for t in places.of(shard)))
        found.append(vectors)
        states.append(there)
    vectors = _in_order(found, np.concatenate(shards))
    return vectors, _in_order(states, places.order(shards)) if states else vectors[:0]


def states_at(
    encoder: Any,
    tokens: Tokens,
    positions: Sequence[NDArray[np.int64]],
    *,
    pad_id: int,
    chunk: int | None = None,
    pad_to: int = 1,
    first: Tensor | None = None,
) -> Tensor:
    """Return token states of the last layer (total, d) with gradients, at the positions of each row, row after row.

    Args:
        encoder: a SentenceTransformer, in training mode or not.
        tokens: rows with their special tokens.
        positions: for each row, the positions to read.
        pad_id, chunk, pad_to: as for `encode`.
        first: vectors (n, d) that stand in place of the embedding of each row's first token.
    """
    device = next(encoder.parameters()).device
    pad_to = max(pad_to, CPU_WIDTHS) if device.type == "cpu" else pad_to
    at = _Places(positions)

    def run(ids: Tensor, mask: Tensor, rows: Tensor, places: Tensor, *given: Tensor) -> Tensor:
        embed = partial(_begun_with, given[0]) if given else None
        with _hooked(encoder, embed, mask), _stance(embed):
            states: Tensor = encoder[0].model(input_ids=ids, attention_mask=mask).last_hidden_state
        return states[rows, places]

    found = []
    shards = shards_for(tokens, device, chunk, whole=pad_to > CPU_WIDTHS)
    for shard in shards:
        given = tokens.padded(pad_id, shard, multiple_of=pad_to, at_most=encoder.max_seq_length)
        begun = () if first is None else (first[to_device(torch.from_numpy(shard), device)],)
        found.append(_held(run, chunk, *(to_device(t, device) for t in (*given, *at.of(shard))), *begun))
    return _in_order(found, at.order(shards))


class _Places:
    """Where states are read in each row.

    Args:
        positions: of each row.
    """

    def __init__(self, positions: Sequence[NDArray[np.int64]]) -> None:
        self.positions = positions
        self.counts = np.array([len(each) for each in positions])
        self.ends = np.cumsum(self.counts)

    def of(self, shard: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """Return row in the shard and position of each state to read there."""
        rows = np.repeat(np.arange(len(shard)), self.counts[shard])
        return torch.from_numpy(rows), torch.from_numpy(np.concatenate([self.positions[row] for row in shard]))

    def order(self, shards: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        """Return where each state that the shards gave belongs, row after row."""
        rows = np.concatenate(shards)
        return np.concatenate([np.arange(self.ends[row] - self.counts[row], self.ends[row]) for row in rows])


def _held(run: Callable[..., Any], chunk: int | None, *given: Tensor) -> Any:
    """Run, and hold the activations or, where they are cached in chunks, compute them again for the backward pass."""
    if chunk is None or not torch.is_grad_enabled():
        return run(*given)
    return checkpoint(run, *given, use_reentrant=False, preserve_rng_state=True)


def _in_order(found: list[Tensor], places: NDArray[np.int64]) -> Tensor:
    """Return what the shards gave as one tensor; `places` says where each item belongs."""
    every = at_least_float32(torch.cat(found))
    return every[to_device(torch.from_numpy(np.argsort(places)), every.device)]


def _begun_with(first: Tensor, x: Tensor, mask: Tensor) -> Tensor:
    """Return embeddings (n, length, d) with other vectors (n, d) in place of each row's first."""
    return torch.cat([first[:, None].to(x.dtype), x[:, 1:]], dim=1)


@contextmanager
def _hooked(encoder: Any, embed: Embed | None, mask: Tensor) -> Iterator[None]:
    if embed is None:
        yield
        return

    def changed(_module: Any, _inputs: Any, out: Tensor) -> Tensor:
        return embed(out, F.pad(mask, (0, out.shape[1] - mask.shape[1])))  # a pooling may pad further

    handle = embedding_module(encoder).register_forward_hook(changed)
    try:
        yield
    finally:
        handle.remove()


def _stance(eager: Any) -> AbstractContextManager[Any]:
    return torch.compiler.set_stance("force_eager") if eager else nullcontext()
