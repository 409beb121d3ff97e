"""Word vectors from counting alone: which tokens stand near which in a text.

Levy and Goldberg 2014, "Neural Word Embedding as Implicit Matrix Factorization"; the details that matter are from Levy,
Goldberg and Dagan 2015, "Improving Distributional Similarity with Lessons Learned from Word Embeddings":

    ppmi(w, c) = max(0, log( #(w, c) T / (#(w) #(c)^s) )),  T the sum of all #(c)^s, s = 0.75

over pairs of tokens at most `window` apart in one text, and a token's vector is its row of U in ppmi = U S V', scaled
to length one. The table of 16,384 tokens would take a GB: only its counts are kept, which are symmetric and mostly
small, and what is multiplied with it sees it a tile at a time. The factorization is Halko, Martinsson and Tropp 2011,
"Finding Structure with Randomness", Algorithms 4.4 and 5.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mirrormask.core.batch import Ids

SMOOTHING = 0.75
"""The power of a context's count, which keeps rare contexts from counting too much."""

MOST = 16_384
"""Tokens that get a vector, the most frequent ones."""

TILE = 1024
"""Rows and columns of the piece of the table that is made at once."""

_BLOCK, _MORE, _ROUNDS = 500_000, 32, 3  # tokens counted at once; extra directions and rounds of the factorization


class PairCounts:
    """How often each two of m tokens stand near each other: tiles of one half of a symmetric table.

    A tile has the narrowest type that holds its counts. Tokens numbered by falling frequency leave most tiles at one
    byte a pair.

    Args:
        size: number of tokens.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._across = -(-size // TILE)
        self._tiles: dict[int, NDArray[np.unsignedinteger]] = {}

    def add(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> None:
        """Count pairs of tokens, whichever of the two comes first."""
        (row, i), (column, j) = (np.divmod(each(first, second), TILE) for each in (np.minimum, np.maximum))
        keys, counts = np.unique(((row * self._across + column) * TILE + i) * TILE + j, return_counts=True)
        tiles, places = np.divmod(keys, TILE * TILE)
        edges = [*np.flatnonzero(np.diff(tiles, prepend=-1)), len(tiles)]
        for begin, end in pairwise(edges):
            number, where = int(tiles[begin]), places[begin:end]
            if number not in self._tiles:
                self._tiles[number] = np.zeros(TILE * TILE, dtype=np.uint8)
            tile = self._tiles[number]
            total = tile[where] + counts[begin:end]
            if total.max() > np.iinfo(tile.dtype).max:
                tile = tile.astype(np.min_scalar_type(int(total.max())))
            tile[where] = total
            self._tiles[number] = tile

    def tiles(self) -> Iterator[tuple[slice, slice, NDArray[np.float32]]]:
        """Yield rows, columns and counts of every tile that has some; a tile off the diagonal stands for its mirror."""
        for number, tile in self._tiles.items():
            row, column = (TILE * place for place in divmod(number, self._across))
            rows, columns = slice(row, min(row + TILE, self.size)), slice(column, min(column + TILE, self.size))
            counts = tile.reshape(TILE, TILE)[: rows.stop - row, : columns.stop - column].astype(np.float32)
            yield rows, columns, counts + counts.T if row == column else counts

    def totals(self) -> NDArray[np.float64]:
        """Return the number of neighbors of each token (m,)."""
        found = np.zeros(self.size)
        for rows, columns, counts in self.tiles():
            found[rows] += counts.sum(axis=1, dtype=np.float64)
            if rows != columns:
                found[columns] += counts.sum(axis=0, dtype=np.float64)
        return found

    @property
    def nbytes(self) -> int:
        """Return the memory of all tiles."""
        return sum(tile.nbytes for tile in self._tiles.values())


def count_pairs(rows: Iterable[Ids], place: NDArray[np.int64], window: int) -> PairCounts:
    """Count how often each two tokens stand at most `window` apart.

    Args:
        rows: token ids of each text.
        place: for every id of the vocabulary, its row in the table; -1 for a token that has none.
        window: the largest distance.
    """
    found = PairCounts(int(place.max(initial=-1)) + 1)
    for tokens, text in _blocks(rows):
        at = place[tokens]
        for distance in range(1, window + 1):
            first, second = at[:-distance], at[distance:]
            near = (text[:-distance] == text[distance:]) & (first >= 0) & (second >= 0)
            found.add(first[near], second[near])
    return found


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


class Information:
    """The positive pointwise mutual information of counted pairs, as a matrix (m, m) to multiply with.

    Args:
        counts: of pairs.
        device: where products are computed.
    """

    def __init__(self, counts: PairCounts, device: torch.device | str = "cpu") -> None:
        self.counts = counts
        self.device = torch.device(device)
        totals = counts.totals()
        words = np.log(np.maximum(totals, 1))  # a token without neighbors has no count to take the logarithm of
        shift = -words, np.log(max((totals**SMOOTHING).sum(), 1)) - SMOOTHING * words
        self._words, self._contexts = (torch.from_numpy(x.astype(np.float32)).to(self.device) for x in shift)

    def times(self, x: Tensor) -> Tensor:
        """Return the matrix times x (m, q)."""
        return self._product(x, self._words, self._contexts)

    def transposed_times(self, x: Tensor) -> Tensor:
        """Return the transposed matrix times x (m, q)."""
        return self._product(x, self._contexts, self._words)

    def _product(self, x: Tensor, left: Tensor, right: Tensor) -> Tensor:
        found = torch.zeros_like(x)
        for rows, columns, counts in self.counts.tiles():
            logs = torch.from_numpy(counts).to(self.device).log_()  # -inf where there is no count, and so below zero
            if rows != columns:
                found[columns].addmm_(_positive(logs.T, left[columns], right[rows]), x[rows])
            found[rows].addmm_(_positive(logs, left[rows], right[columns]), x[columns])
        return found


def _positive(logs: Tensor, left: Tensor, right: Tensor) -> Tensor:
    return (logs + left[:, None]).add_(right).clamp_(min=0)


def leading_directions(matrix: Information, dimensions: int, start: Tensor) -> Tensor:
    """Return the left singular vectors (m, dimensions) of the largest singular values.

    Args:
        matrix: to factorize.
        dimensions: how many.
        start: random directions (m, q), some more than are asked for.
    """
    basis = torch.linalg.qr(matrix.times(start))[0]
    for _ in range(_ROUNDS):
        basis = torch.linalg.qr(matrix.transposed_times(basis))[0]
        basis = torch.linalg.qr(matrix.times(basis))[0]
    inside = matrix.transposed_times(basis)
    gram = torch.stack([part.double().T @ part.double() for part in inside.split(TILE)]).sum(dim=0)
    turned: Tensor = torch.linalg.eigh(gram)[1].flip(1)[:, :dimensions]
    return basis @ turned.to(basis.dtype)


def cooccurrence_vectors(
    rows: Iterable[Ids],
    vocabulary: int,
    *,
    dimensions: int,
    window: int,
    device: torch.device | str = "cpu",
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return a vector of length one for every id (zero where it never occurs) and how often each occurs.

    Args:
        rows: token ids of each text; they are gone through twice.
        vocabulary: number of ids.
        dimensions: of a vector.
        window: tokens at most this far apart count as neighbours.
        device: where the factorization is done.
    """
    frequency = np.zeros(vocabulary, dtype=np.int64)
    for tokens, _ in _blocks(rows):
        frequency += np.bincount(tokens, minlength=vocabulary)
    known = np.argsort(-frequency, kind="stable")[: min(MOST, np.count_nonzero(frequency))]
    place = np.full(vocabulary, -1, dtype=np.int64)
    place[known] = np.arange(len(known))
    found = np.zeros((vocabulary, dimensions), dtype=np.float32)
    if len(known):
        matrix = Information(count_pairs(rows, place, window), device)
        by_id = torch.from_numpy(np.argsort(np.argsort(known)))
        drawn = torch.Generator().manual_seed(0)
        start = torch.randn(len(known), min(dimensions + _MORE, len(known)), generator=drawn)
        directions = leading_directions(matrix, dimensions, start[by_id].to(device))
        lengths = directions.norm(dim=1, keepdim=True).clamp(min=1e-6)
        found[known, : directions.shape[1]] = (directions / lengths).cpu().numpy()
    return found, frequency
