"""One vector per token; a text's vector is the mean of them, so no transformer runs and a table is all that is kept.

A token begins with the vector x(t) that the encoder gives it alone. The user's texts then say how often it occurs,
p(t), and what their mean vectors look like:

    e(t) = a / (a + p(t)) (x(t) − Σ p(s) x(s))          rare tokens count more, and what all texts share is taken out
    E ← E V (Λ + ρ mean Λ)^(−g/2)                       directions that all of these texts vary in count less

where V and Λ are the axes and variances of the texts' unit vectors under e.

Paper: Arora et al. 2017, "A simple but tough-to-beat baseline for sentence embeddings" (the weights, equation 3)
Paper: Su et al. 2021, "Whitening Sentence Representations for Better Semantics and Faster Retrieval" (g = 1)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mirrormask.core.batch import Tokens
from mirrormask.core.errors import DataError
from mirrormask.core.similarity import unit_rows
from mirrormask.models.bulk import Tokenizing, around_texts, encode_tokens

Floats = NDArray[np.float32]
Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it, and how much there is."""

LEAST, MOST = 1_000, 50_000
"""Different texts that weights and directions are learned from, at least and at most."""

HELD_OUT = 200
"""Texts of the corpus that the vectors are compared on and not learned from."""

RARE, POWER, FLOOR = 1e-3, 0.85, 0.01
"""a, g and ρ; the first two were chosen on STS-B dev with `mini-sentence` and sentences that are not of it."""

_CUT = 128  # tokens of a text that are learned from


def learned_from(texts: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the texts that weights and directions are learned from, and those that they are compared on.

    Raises:
        DataError: there are too few.
    """
    unique: dict[str, None] = {}
    for text in texts:
        if text.strip():
            unique[text] = None
        if len(unique) == MOST + HELD_OUT:
            break
    if len(unique) < LEAST + HELD_OUT:
        raise DataError(
            f"Token vectors are learned from at least {LEAST + HELD_OUT:,} different texts, and the corpus has "
            f"{len(unique):,}. Give --corpus more texts like those that will be read."
        )
    chosen = list(unique)
    return chosen[HELD_OUT:], chosen[:HELD_OUT]


def token_vectors(encoder: Any, texts: Sequence[str], progress: Progress | None = None) -> Floats:
    """Return a vector for every token of an encoder's vocabulary (v, d).

    Args:
        encoder: a SentenceTransformer.
        texts: like those that will be read.
        progress: told of the tokens that were encoded.
    """
    alone = _alone(encoder, progress)
    shares = token_shares(encoder, texts, len(alone))
    found = spread_evenly(weighted_by_rarity(alone, shares), shares)
    found[[number for number in encoder.tokenizer.all_special_ids if number < len(found)]] = 0.0
    return found


def weighted_by_rarity(vectors: Floats, shares: sparse.csr_matrix) -> Floats:
    """Return token vectors (v, d) without what all texts share, the rarer ones longer.

    Args:
        vectors: of the tokens (v, d).
        shares: of every token in every text (n, v).
    """
    counts = np.bincount(shares.indices, minlength=len(vectors)) + 0.5
    chance = counts / counts.sum()
    weights = RARE / (RARE + chance)
    found: Floats = ((vectors - chance @ vectors) * weights[:, None]).astype(np.float32)
    return found


def spread_evenly(vectors: Floats, shares: sparse.csr_matrix) -> Floats:
    """Return token vectors (v, d) turned and scaled so that texts vary about as much in every direction.

    Args:
        vectors: of the tokens (v, d).
        shares: of every token in every text (n, v).
    """
    texts = unit_rows(shares @ vectors)
    variances, axes = np.linalg.eigh(np.cov(texts, rowvar=False))
    scales = (np.maximum(variances, 0) + FLOOR * variances.mean()) ** (-POWER / 2)
    found: Floats = (vectors @ (axes * scales)[:, ::-1]).astype(np.float32)
    return found


def token_shares(encoder: Any, texts: Sequence[str], size: int) -> sparse.csr_matrix:
    """Return the share of every token in every text (n, v), without the tokens around a text.

    A token that a text has twice stands in its row twice.
    """
    around = around_texts(encoder)
    rows = [row[len(around.prefix) : len(row) - len(around.suffix)] for row in Tokenizing(encoder)(texts, _CUT).rows]
    lengths = np.array([len(row) for row in rows])
    values = np.repeat(1 / np.maximum(lengths, 1), lengths).astype(np.float32)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return sparse.csr_matrix((values, np.concatenate(rows), starts), shape=(len(rows), size))


def save_static(encoder: Any, table: Floats, folder: Path) -> None:
    """Write token vectors so that plain `SentenceTransformer(folder)` opens them, and numpy too."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Normalize
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(int(encoder.max_seq_length or 512))
    model = SentenceTransformer(
        modules=[StaticEmbedding(tokenizer, embedding_weights=table), Normalize()], prompts=encoder.prompts
    )
    model.similarity_fn_name = "cosine"
    model.save(str(folder), create_model_card=False)


def _alone(encoder: Any, progress: Progress | None) -> Floats:
    """Return the vector of every token as a text of its own (v, d)."""
    frame = around_texts(encoder)
    size = 1 + max(encoder.tokenizer.get_vocab().values())
    rows = Tokens.of([np.concatenate([frame.prefix, [number], frame.suffix]) for number in range(size)])
    done = None if progress is None else (lambda count: progress("reading tokens", count, size))
    return encode_tokens(encoder, rows, progress=done)
