"""Word vectors from counting alone: which tokens stand near which in a text.

Levy and Goldberg 2014, "Neural Word Embedding as Implicit Matrix Factorization"; the details that matter are from Levy,
Goldberg and Dagan 2015, "Improving Distributional Similarity with Lessons Learned from Word Embeddings":

    ppmi(w, c) = max(0, log( #(w, c) T / (#(w) #(c)^s) )),  T the sum of all #(c)^s, s = 0.75

over pairs of tokens at most `window` apart in one text, and a token's vector is its row of U in ppmi = U S V', scaled
to length one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mirrormask.core.batch import Ids

SMOOTHING = 0.75
"""The power of a context's count, which keeps rare contexts from counting too much."""

MOST = 16_384
"""Tokens that get a vector, the most frequent ones: the table of their pairs must fit into memory."""

_BLOCK, _MORE, _ROUNDS = 2_000_000, 32, 3  # tokens counted at once; extra directions and rounds of the factorization


def count_pairs(rows: Iterable[Ids], place: NDArray[np.int64], window: int) -> NDArray[np.float32]:
    """Return how often each two tokens stand at most `window` apart, (m, m), symmetric.

    Args:
        rows: token ids of each text.
        place: for every id of the vocabulary, its row in the table; -1 for a token that has none.
        window: the largest distance.
    """
    size = int(place.max(initial=-1)) + 1
    table = np.zeros(size * size, dtype=np.float32)
    for tokens, text in _blocks(rows):
        at = place[tokens]
        for distance in range(1, window + 1):
            first, second = at[:-distance], at[distance:]
            near = (text[:-distance] == text[distance:]) & (first >= 0) & (second >= 0)
            pairs, counts = np.unique(first[near] * size + second[near], return_counts=True)
            table[pairs] += counts
    square = table.reshape(size, size)
    return square + square.T


def _blocks(rows: Iterable[Ids]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield many texts in one piece: their ids, and for each the number of its text."""
    held: list[Ids] = []
    length = 0
    for ids in rows:
        held.append(ids)
        length += len(ids)
        if length >= _BLOCK:
            yield _joined(held)
            held, length = [], 0
    if length:
        yield _joined(held)


def _joined(rows: Sequence[Ids]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return np.concatenate(rows).astype(np.int64), np.repeat(np.arange(len(rows)), [len(ids) for ids in rows])


def positive_information(counts: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the positive pointwise mutual information of a table of counts, made in its place."""
    words = counts.sum(axis=1, dtype=np.float64)
    contexts = words**SMOOTHING
    with np.errstate(divide="ignore"):
        shift = -np.log(words)[:, None], np.log(contexts.sum()) - np.log(contexts)
        for start in range(0, len(counts), 1024):
            rows = counts[start : start + 1024]
            known = rows > 0
            value = np.log(rows, where=known, out=np.zeros_like(rows))
            value += np.where(known, shift[0][start : start + 1024] + shift[1], 0)
            np.maximum(value, 0, out=rows)
    return counts


def leading_directions(matrix: Tensor, dimensions: int) -> Tensor:
    """Return the left singular vectors (m, dimensions) of the largest singular values, the same at every call."""
    with torch.random.fork_rng([matrix.device] if matrix.device.type == "cuda" else []):
        torch.manual_seed(0)
        found: Tensor = torch.svd_lowrank(matrix, q=min(dimensions + _MORE, *matrix.shape), niter=_ROUNDS)[0]
    return found[:, :dimensions]


def cooccurrence_vectors(
    rows: Sequence[Ids],
    vocabulary: int,
    *,
    dimensions: int,
    window: int,
    device: torch.device | str = "cpu",
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return a vector of length one for every id (zero where it never occurs) and how often each occurs.

    Args:
        rows: token ids of each text.
        vocabulary: number of ids.
        dimensions: of a vector.
        window: tokens at most this far apart count as neighbours.
        device: where the factorization is done.
    """
    frequency = np.zeros(vocabulary, dtype=np.int64)
    for tokens, _ in _blocks(rows):
        frequency += np.bincount(tokens, minlength=vocabulary)
    known = np.flatnonzero(frequency)
    known = np.sort(known[np.argsort(-frequency[known], kind="stable")[:MOST]])
    place = np.full(vocabulary, -1, dtype=np.int64)
    place[known] = np.arange(len(known))
    found = np.zeros((vocabulary, dimensions), dtype=np.float32)
    if len(known):
        table = torch.from_numpy(positive_information(count_pairs(rows, place, window))).to(device)
        directions = leading_directions(table, dimensions)
        lengths = directions.norm(dim=1, keepdim=True).clamp(min=1e-6)
        found[known, : directions.shape[1]] = (directions / lengths).cpu().numpy()
    return found, frequency
