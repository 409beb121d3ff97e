"""Averaged word vectors as an encoder: a sentence is the weighted mean of its words, and may lose what all share.

Paper: Arora et al. 2017, "A Simple but Tough-to-Beat Baseline for Sentence Embeddings"; the plain mean is what Park
    2023, Section 2.1, says of word2vec and GloVe

    v_s = 1/|s| sum_w weight(w) v_w;   sif: weight = a / (a + p_w), and then v_s - u u' v_s,
    u the first singular vector of many v_s;   idf: weight = log(N / n_w);   plain: weight = 1

Weights are multiplied into the table, and the last map is a `Dense`: what is saved is sentence-transformers' own
`StaticEmbedding`, and plain `SentenceTransformer(path)` opens it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from torch import nn

from mirrormask.core.errors import DataError

Floats = NDArray[np.float32]
UNKNOWN, PAD = "[UNK]", "[PAD]"
RARITY = 1e-3
"""The `a` of SIF: the paper's tables take 1e-3."""


def word_tokenizer(words: Sequence[str]) -> Any:
    """Return a tokenizer that knows these words and no pieces of them, as they are or in small letters.

    Unknown words are 0 and the words follow from 2. Where a hundredth of them have capitals, capitals count.

    Raises:
        DataError: a word comes twice, as it would in a file of phrases that differ in their spaces alone.
    """
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    numbers = {word: number for number, word in enumerate([UNKNOWN, PAD, *words])}
    if len(numbers) != len(words) + 2:
        raise DataError("A word stands twice in the word vectors. Leave one of them out.")
    raw = Tokenizer(models.WordLevel(numbers, unk_token=UNKNOWN))
    cased = sum(word != word.lower() for word in words) > len(words) / 100
    raw.normalizer = normalizers.Sequence([normalizers.NFC(), *([] if cased else [normalizers.Lowercase()])])
    raw.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return PreTrainedTokenizerFast(tokenizer_object=raw, unk_token=UNKNOWN, pad_token=PAD)


def zipf(count: int) -> NDArray[np.float64]:
    """Return the share of each word of a list in the order of how frequent they are, by Zipf's law (count,)."""
    share = 1 / np.arange(1, count + 1)
    return share / share.sum()


def averaging(tokenizer: Any, table: Floats) -> SentenceTransformer:
    """Return the encoder whose vectors are the mean of rows of a table.

    Args:
        tokenizer: of transformers, fast.
        table: a vector for each of its tokens, weighted (v, d).
    """
    return SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_weights=table)], device="cpu").eval()


def without_common(encoder: SentenceTransformer, vectors: Floats) -> SentenceTransformer:
    """Return the encoder without the direction that most of some sentences' vectors share.

    Args:
        encoder: as `averaging` makes it.
        vectors: of many sentences (n, d).
    """
    wide = vectors.astype(np.float64)
    u = np.linalg.eigh(wide.T @ wide)[1][:, -1]
    matrix = torch.from_numpy((np.eye(len(u)) - np.outer(u, u)).astype(np.float32))
    dense = Dense(len(u), len(u), bias=False, activation_function=nn.Identity(), init_weight=matrix)
    return SentenceTransformer(modules=[encoder[0], dense.requires_grad_(False)], device="cpu").eval()
