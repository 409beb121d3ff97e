"""Frozen states of words, for the small models that are trained on them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from mirrormask.core.batch import Tokens
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.probing.units import UnitTokenizer

_SENTENCES = 512  # at a time; bounds the tokens held


@torch.inference_mode()
def word_states(
    model: MaskedLM, sentences: Sequence[Sequence[str]], *, layer: int = -1, precision: str = "fp32"
) -> list[NDArray[np.float32]]:
    """Return the state of every word of each sentence (n, d), the mean over its sub-words; equal sentences share one.

    Args:
        model: the masked LM; it is read, not changed.
        sentences: the words of each.
        layer: 0 is the embedding output, -1 the last layer.
        precision: as for the bulk pass.

    Raises:
        DataError: a sentence is empty, or longer than the model reads.
    """
    limit = int(model.model.config.max_position_embeddings)
    tokenize = UnitTokenizer(model.tokenizer, min(limit, int(model.tokenizer.model_max_length)))
    unique = list(dict.fromkeys(map(tuple, sentences)))
    found: dict[tuple[str, ...], NDArray[np.float32]] = {}
    for first in range(0, len(unique), _SENTENCES):
        some = unique[first : first + _SENTENCES]
        units = tokenize(some, first + 1)
        rows = Tokens.of([each.ids for each in units])
        states = model.states(rows, [each.places for each in units], layer=layer, precision=precision).cpu().numpy()
        stops = np.cumsum([int(each.sizes.sum()) for each in units])
        for sentence, each, stop in zip(some, units, stops.tolist(), strict=True):
            own = states[stop - int(each.sizes.sum()) : stop]
            starts = np.cumsum(each.sizes) - each.sizes
            found[sentence] = (np.add.reduceat(own, starts, axis=0) / each.sizes[:, None]).astype(np.float32)
    return [found[tuple(sentence)] for sentence in sentences]
