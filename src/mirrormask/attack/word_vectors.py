"""Word vectors, from a file or from a masked LM's word table, pulled to synonyms and pushed from antonyms.

Paper: Mrkšić et al. 2016, "Counter-fitting Word Vectors to Linguistic Constraints", equations 1 to 4
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mirrormask.attack.proposals import whole_words
from mirrormask.core.errors import DataError
from mirrormask.core.similarity import unit_rows
from mirrormask.data.text.files import columns_of, records
from mirrormask.data.text.vector_files import read_vectors
from mirrormask.models.loading import opening
from mirrormask.models.names import resolve

_APART, _NEAR = 1.0, 0.2
"""δ, the distance antonyms are pushed to, and ρ, within which neighbors are kept (Section 3)."""

_PASSES = 40
_RATE = 0.02
_KEPT = 20  # neighbors of a word that are kept where they are


@dataclass(frozen=True)
class WordVectors:
    """Words and their vectors.

    Args:
        words: in small letters, each once.
        matrix: unit vectors (n, d).
    """

    words: list[str] = field(repr=False)
    matrix: NDArray[np.float32] = field(repr=False)

    @classmethod
    def of(cls, words: Sequence[str], matrix: NDArray[np.floating]) -> WordVectors:
        """Return vectors of length 1; of a word that comes twice, the first."""
        first: dict[str, int] = {}
        for number, word in enumerate(words):
            first.setdefault(word.lower(), number)
        return cls(list(first), unit_rows(np.asarray(matrix)[list(first.values())]).astype(np.float32))

    def neighbors(self, word: str, count: int, least: float) -> list[str]:
        """Return the nearest other words by cosine, at most `count` and none below `least`."""
        place = self._places.get(word.lower())
        if place is None:
            return []
        near = self.matrix @ self.matrix[place]
        near[place] = -np.inf
        best = np.argpartition(-near, min(count, len(near) - 1))[:count]
        best = best[np.argsort(-near[best], kind="stable")]
        return [self.words[number] for number in best if near[number] >= least]

    @property
    def _places(self) -> dict[str, int]:
        if "_places" not in self.__dict__:
            self.__dict__["_places"] = {word: number for number, word in enumerate(self.words)}
        found: dict[str, int] = self.__dict__["_places"]
        return found


def open_vectors(name: str | Path) -> WordVectors:
    """Return the vectors of a file in GloVe's, word2vec's or fastText's format, or of the word table of a masked LM.

    Raises:
        DataError: the file is not in that format.
    """
    if not Path(name).is_file():
        from transformers import AutoModel, AutoTokenizer

        folder = resolve(name)
        with opening(name, folder):
            table = AutoModel.from_pretrained(folder, dtype=torch.float32).get_input_embeddings().weight
            tokenizer = AutoTokenizer.from_pretrained(folder)
        kept = np.flatnonzero(whole_words(tokenizer))
        bare = [token.lstrip("Ġ▁") for token in tokenizer.convert_ids_to_tokens(kept.tolist())]
        matrix = table.detach().cpu().numpy()[kept]
        return WordVectors.of(bare, matrix - matrix.mean(axis=0))
    return WordVectors.of(*read_vectors(name))


Pairs = list[tuple[str, str]]


def read_lexicon(path: Path | str) -> tuple[Pairs, Pairs]:
    """Return synonyms and antonyms of a file whose rows have `words`, that mean the same, and their `antonyms`.

    An antonym is a word, of the first of the words, or a pair of words.

    Raises:
        DataError: the file has no such columns.
    """
    there = columns_of(path)
    if not {"words", "antonyms"} <= set(there):
        raise DataError(
            f"{path} has the columns {', '.join(there)}. A lexicon has 'words' and 'antonyms', lists of words."
        )
    same: Pairs = []
    opposite: Pairs = []
    for row in records(path, ["words", "antonyms"]):
        words, others = row["words"] or [], row["antonyms"] or []
        if not isinstance(words, list) or not isinstance(others, list):
            raise DataError(f"{path} has {words!r} and {others!r} where lists of words are needed.")
        words = [str(word).lower() for word in words]
        same += [(one, other) for one in words for other in words if one < other]
        for other in others:
            pair = other if isinstance(other, list) and len(other) == 2 else (words[0] if words else "", other)
            opposite.append((str(pair[0]).lower(), str(pair[1]).lower()))
    return same, opposite


def counter_fitted(vectors: WordVectors, synonyms: Pairs, antonyms: Pairs) -> WordVectors:
    """Return vectors in which synonyms are near, antonyms far, and other neighbors as near as they were.

    Args:
        vectors: to begin with.
        synonyms, antonyms: pairs of words; those without vectors are passed over.
    """
    numbers = vectors._places
    opposite = {pair for pair in antonyms if pair[0] in numbers and pair[1] in numbers}
    known = {pair for pair in synonyms if pair[0] in numbers and pair[1] in numbers}
    same = known - opposite - {(two, one) for one, two in opposite}
    groups = [
        torch.tensor([[numbers[a], numbers[b]] for a, b in sorted(each)]).reshape(-1, 2) for each in (same, opposite)
    ]
    start = torch.from_numpy(vectors.matrix)
    kept = _neighbor_pairs(start)
    pushed = {tuple(sorted(pair)) for pair in groups[1].tolist()}
    kept = kept[[tuple(pair) not in pushed for pair in kept.tolist()]]
    held = _distance(start, kept)
    moved = start.clone().requires_grad_(True)
    optimizer = torch.optim.Adam([moved], lr=_RATE)
    for _ in range(_PASSES):
        attract = _distance(moved, groups[0]).sum()  # equation 2 with γ = 0
        repel = (_APART - _distance(moved, groups[1])).clamp_min(0).sum()  # equation 1
        keep = (_distance(moved, kept) - held).clamp_min(0).sum()  # equation 3
        optimizer.zero_grad()
        (attract + repel + keep).backward()
        optimizer.step()
    return WordVectors.of(vectors.words, moved.detach().numpy())


def _neighbor_pairs(matrix: Tensor, rows: int = 1024) -> Tensor:
    """Return the pairs of words that are near each other (m, 2)."""
    found = []
    for start in range(0, len(matrix), rows):
        values, places = (matrix[start : start + rows] @ matrix.T).topk(min(_KEPT + 1, len(matrix)))
        here, rank = torch.nonzero(values >= 1 - _NEAR, as_tuple=True)
        pairs = torch.stack([here + start, places[here, rank]], dim=1)
        found.append(pairs[pairs[:, 0] < pairs[:, 1]])
    return torch.cat(found)


def _distance(matrix: Tensor, pairs: Tensor) -> Tensor:
    one, two = matrix[pairs[:, 0]], matrix[pairs[:, 1]]
    return 1 - torch.nn.functional.cosine_similarity(one, two, dim=1)
