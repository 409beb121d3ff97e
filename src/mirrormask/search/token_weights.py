"""How much each token counts in a vector: rare ones more, by what a collection holds.

weight(t) = idf(t) ** 0.15, idf(t) = ln(1 + (n − n_t + ½) / (n_t + ½)), for an encoder that averages its tokens; those
that frame every text, such as [CLS], weigh 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

POWER = 0.15
SAMPLE = 20_000
"""Passages by which tokens are counted, at most."""


def averages(model: Any) -> bool:
    """Say whether a SentenceTransformer's vectors are the mean of its tokens, so that these can be weighted."""
    kinds = [type(module).__name__ for module in model]
    return kinds[:2] == ["Transformer", "Pooling"] and model[1].pooling_mode in ("mean", ("mean",), ["mean"])


def token_weights(model: Any, texts: Sequence[str]) -> Floats:
    """Return the weight of every token of a model's vocabulary (v,), by the texts of a collection.

    Args:
        model: a SentenceTransformer.
        texts: passages, or a sample of them.
    """
    from mirrormask.models.bulk import tokenize

    holding = np.zeros(len(model.tokenizer), dtype=np.int64)
    for start in range(0, len(texts), 1024):
        for row in tokenize(model, texts[start : start + 1024]).rows:
            holding[np.unique(row)] += 1
    idf = np.log1p((len(texts) - holding + 0.5) / (holding + 0.5))
    weights = idf**POWER
    weights[model.tokenizer.all_special_ids] = 1.0
    return weights.astype(np.float32)


def weighing(weights: Floats) -> Any:
    """Return the module that weights tokens, to stand before the mean; it is sentence-transformers' own."""
    from sentence_transformers.sentence_transformer.modules import WordWeights

    names = [str(number) for number in range(len(weights))]
    return WordWeights(names, dict(zip(names, weights.tolist(), strict=True)))


def weighted(model: Any, weights: Floats) -> Any:
    """Return a SentenceTransformer of the same modules whose tokens count by their weights."""
    from sentence_transformers import SentenceTransformer

    modules = [model[0], weighing(weights), *list(model)[1:]]
    return SentenceTransformer(modules=modules, device=str(model.device)).eval()
