"""Sentences taken out of texts, to tell without labels how well an encoder searches them.

Two questions are asked of them. Do they find what is left of their own text (Azzopardi et al. 2007, "Building simulated
queries for known-item topics")? That says how good an encoder is beside the words alone, but it does not tell encoders
apart: training on such pairs raises it while true queries find less. And do they rank documents as the start and the
words do together, which search better together than either? That is right far more often: docs/results/adaptation.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.seeding import generator
from mirrormask.core.similarity import unit_rows
from mirrormask.data.text.sentences import count_words, split_sentences
from mirrormask.evaluation.vectors import prompts_of
from mirrormask.models.bulk import encode_tokens, tokenize
from mirrormask.search.bm25 import BM25

Scores = NDArray[np.float32]

LONGEST = 256
"""Tokens of a text that are read."""

WANTED = 200
"""Sentences to ask with, where the texts have so many."""

_FEWEST, _MOST = 4, 24  # words of a sentence to ask with
_TOP = 10


@dataclass(frozen=True)
class KnownItems:
    """Sentences, and documents that hold the rest of the texts they come from.

    Args:
        queries: the sentences (n).
        documents: what is left of their texts, then other texts (m).
        owners: number of each sentence's own document (n,).
    """

    queries: tuple[str, ...]
    documents: tuple[str, ...]
    owners: NDArray[np.int64]

    @classmethod
    def of(cls, aside: Sequence[str], others: Sequence[str], *, seed: int) -> KnownItems:
        """Take sentences out of the texts set aside.

        Args:
            aside: texts that training does not see.
            others: texts to tell them from.
            seed: which sentences.
        """
        each = -(-WANTED // max(1, len(aside)))
        queries: list[str] = []
        documents: list[str] = []
        owners: list[int] = []
        for number, text in enumerate(aside):
            taken, rest = taken_out(text, each, generator(seed, "known items", number))
            queries += taken
            owners += [len(documents)] * len(taken)
            documents.append(rest)
        return cls(tuple(queries), (*documents, *others), np.array(owners, dtype=np.int64))

    def cosines(self, encoder: Any) -> Scores:
        """Return the cosine of every sentence with every document (n, m), as the encoder is now."""
        length = min(LONGEST, encoder.max_seq_length or LONGEST)
        prompts = prompts_of(encoder)
        texts = [prompts.get("query", "") + each for each in self.queries]
        texts += [prompts.get("document", "") + each for each in self.documents]
        rows = encode_tokens(encoder, tokenize(encoder, texts, max_length=length))
        vectors = unit_rows(rows).astype(np.float32)
        return vectors[: len(self.queries)] @ vectors[len(self.queries) :].T

    def words(self) -> Scores:
        """Return the BM25 score of every document for every sentence (n, m)."""
        return BM25.of(self.documents).scores(self.queries)

    def found(self, scores: Scores) -> NDArray[np.float64]:
        """Return the nDCG@10 of each sentence (n,): 1 where its own document is first, 0 where it is not in ten."""
        own = scores[np.arange(len(scores)), self.owners]
        ranks = np.count_nonzero(scores >= own[:, None], axis=1)  # of equals the own comes last
        return np.where(ranks <= _TOP, 1 / np.log2(1.0 + ranks), 0.0)


def standardized(scores: Scores) -> Scores:
    """Return the scores of each query (n, m) with mean 0 and deviation 1; equal scores are 0."""
    centred = scores - scores.mean(axis=1, keepdims=True)
    deviation: Scores = np.maximum(centred.std(axis=1, keepdims=True), 1e-6)
    return centred / deviation


def agreement(scores: Scores, teacher: Scores) -> NDArray[np.float64]:
    """Return how well each query's first ten are those of a teacher (n,): nDCG@10, its first document gaining most.

    Args:
        scores: of documents for queries (n, m).
        teacher: scores to agree with (n, m).

    Example:
        >>> one = np.array([[3.0, 2.0, 1.0]])
        >>> agreement(one, one).round(6).tolist(), bool(agreement(-one, one)[0] < 1)
        ([1.0], True)
    """
    top = min(_TOP, scores.shape[1])
    discounts = 1 / np.log2(np.arange(2.0, top + 2))
    first = np.argsort(-scores, axis=1, kind="stable")[:, :top]
    right = np.argsort(-teacher, axis=1, kind="stable")[:, :top]
    gains = ((first[:, :, None] == right[:, None, :]) * discounts).sum(axis=2)  # (n, top)
    found: NDArray[np.float64] = gains @ discounts / (discounts @ discounts)
    return found


def taken_out(text: str, count: int, chance: np.random.Generator) -> tuple[list[str], str]:
    """Return at most `count` sentences of a text, no more than a third of them, and the text without them.

    A text of one sentence gives up a third of its words; one of a few words gives nothing.

    Example:
        >>> taken_out("One bird sang in the rain.", 1, np.random.default_rng(1))
        (['bird sang'], 'One in the rain.')
    """
    sentences = split_sentences(text)
    whole = [i for i, each in enumerate(sentences) if count_words(each) >= _FEWEST]
    if len(sentences) > 1 and whole:
        some = sorted(chance.permutation(whole)[: max(1, min(count, len(sentences) // 3))].tolist())
        rest = " ".join(each for i, each in enumerate(sentences) if i not in some)
        return [" ".join(sentences[i].split()[:_MOST]) for i in some], rest
    words = text.split()
    if len(words) < _FEWEST + 2:
        return [], text
    size = min(_MOST, max(2, len(words) // 3))
    at = int(chance.integers(0, len(words) - size + 1))
    return [" ".join(words[at : at + size])], " ".join(words[:at] + words[at + size :])
