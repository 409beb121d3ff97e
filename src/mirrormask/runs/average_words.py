"""Averaged word vectors made and saved: from a file of vectors, or from how the words of a text occur together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import DataError, MirrormaskError, at_least, one_of
from mirrormask.core.spread import spread_evenly
from mirrormask.core.storage import atomic_folder, write_json
from mirrormask.data.text.cooccurrence import cooccurrence_vectors
from mirrormask.data.text.vector_files import read_vectors
from mirrormask.models.averaged_words import RARITY, averaging, without_common, word_tokenizer, zipf
from mirrormask.models.model_files import FACTS
from mirrormask.models.names import DEFAULT_MODEL, resolve

WEIGHTS = ("plain", "sif", "idf")
MOST, FITTED = 1_000_000, 20_000
"""Texts that are read at most, and of them those that the common direction is found in."""

_BLOCK = 1024


@dataclass(frozen=True)
class AveragedWords:
    """What was made.

    Args:
        out: its folder.
        words: that have a vector.
        dimensions: of a vector.
        texts: that were counted.
        said: what a reader should know about it, in a sentence each.
    """

    out: Path
    words: int
    dimensions: int
    texts: int
    said: tuple[str, ...]


def average_words(
    texts: Iterable[str] = (),
    *,
    out: str | Path,
    vectors: str | Path = "",
    weights: str = "sif",
    dimensions: int = 384,
    window: int = 5,
    limit: int = 0,
) -> AveragedWords:
    """Make an encoder of averaged word vectors and save it where plain `SentenceTransformer` opens it.

    Args:
        texts: to count words in; with `vectors` they may be left out.
        out: the encoder's folder, replaced as a whole.
        vectors: a file in GloVe's, word2vec's or fastText's format; without it vectors are made from the texts, for
            the tokens of `mini`.
        weights: plain, sif (with texts it also leaves out what all of them share) or idf (needs texts).
        dimensions: of vectors that are made.
        window: tokens at most this far apart count as neighbors there.
        limit: words of the file to read, from the first; 0 reads all.
    """
    one_of("weights", weights, WEIGHTS, of="word vectors")
    at_least("dimensions", dimensions, 1, of="word vectors")
    at_least("limit", limit, 0, of="word vectors")
    read = list(islice(texts, MOST))
    if not read and not vectors:
        raise MirrormaskError("Averaged word vectors need a text, a file of vectors, or both. Name one.")
    if not read and weights == "idf":
        raise MirrormaskError("Weights by idf need a text to count words in. Name one, or take plain or sif.")
    said = []
    if vectors:
        words, rows = read_vectors(vectors, limit)
        first = {word: number for number, word in reversed(list(enumerate(words)))}
        tokenizer = word_tokenizer(list(first))
        table = np.concatenate([np.zeros((2, rows.shape[1]), np.float32), rows[list(first.values())]])
    else:
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(resolve(DEFAULT_MODEL))
        ids = [row for block in _ids(read, tokenizer) for row in block]
        table, _ = cooccurrence_vectors(ids, len(tokenizer), dimensions=dimensions, window=window)
    scale = np.ones(len(table))
    if weights != "plain" and read:
        scale = _counted(weights, len(table), read, tokenizer)
    elif weights == "sif":
        said.append(
            "No text was given: how frequent a word is was told from its place in the file, and what all sentences "
            "share was left in."
        )
        scale = RARITY / (RARITY + np.concatenate([np.zeros(2), zipf(len(table) - 2)]))
    encoder = averaging(tokenizer, (table * scale[:, None]).astype(np.float32))
    if weights == "sif" and read:
        some = [read[row] for row in spread_evenly(len(read), FITTED)]
        encoder = without_common(encoder, encoder.encode(some, batch_size=1024, show_progress_bar=False))
    known = int(table.any(axis=1).sum())
    with atomic_folder(Path(out)) as folder:
        encoder.save(str(folder), create_model_card=False)
        made = {"vectors": Path(vectors).name or "how words occur together", "weights": weights, "words": known}
        write_json(folder / FACTS, {"pooling": "mean of word vectors", "lm_head": False, **made})
    return AveragedWords(Path(out), known, table.shape[1], len(read), tuple(said))


def _ids(texts: list[str], tokenizer: Any) -> Iterator[list[NDArray[np.int64]]]:
    """Yield the tokens of texts, a block at a time."""
    for start in range(0, len(texts), _BLOCK):
        rows = tokenizer(texts[start : start + _BLOCK], add_special_tokens=False)["input_ids"]
        yield [np.asarray(row, dtype=np.int64) for row in rows]


def _counted(weights: str, size: int, texts: list[str], tokenizer: Any) -> NDArray[np.float64]:
    """Return the weight of each token (size,), by how often it stands in the texts, or in how many of them."""
    counts, holding = np.zeros(size), np.zeros(size)
    for block in _ids(texts, tokenizer):
        counts += np.bincount(np.concatenate(block), minlength=size)
        for row in block:
            holding[np.unique(row)] += 1
    counts[tokenizer.unk_token_id] = 0
    if not counts.any():
        raise DataError("No word of the text has a vector. Take vectors of its language.")
    if weights == "idf":
        return np.log(max(2, len(texts)) / np.maximum(1, holding))
    found: NDArray[np.float64] = RARITY / (RARITY + counts / counts.sum())
    return found
