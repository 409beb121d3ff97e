from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from torch import nn

from mirrormask.core.batch import Batch
from mirrormask.core.framing import frame_of
from mirrormask.methods import methods
from mirrormask.models.bulk import tokenize
from mirrormask.training.method import Method
from mirrormask.views import Vocabulary


@pytest.fixture
def method(tiny: Callable[..., Any]) -> Callable[..., Method]:
    """Return a builder of methods over a fresh tiny encoder: ``method("simcse-unsup", chunk=8)``."""

    def build(
        name: str = "simcse-unsup", *, dropout: bool = True, chunk: int | None = None, **parameters: Any
    ) -> Method:
        encoder = tiny(pooling="mean")
        for layer in encoder.modules():
            if isinstance(layer, nn.Dropout) and not dropout:
                layer.p = 0.0
        tokenizer = encoder.tokenizer
        if not dropout:
            encoder[0].model.config.attention_probs_dropout_prob = 0.0
            for module in encoder.modules():
                if hasattr(module, "dropout_prob"):
                    module.dropout_prob = 0.0
        vocabulary = Vocabulary(
            frame_of(tokenizer), np.ones(len(tokenizer), dtype=np.bool_), tokenizer.mask_token_id, frozenset(range(5))
        )
        return Method(encoder, methods.build(name, **parameters), vocabulary, chunk=chunk).train()

    return build


@pytest.fixture
def batch_of(tiny: Callable[..., Any]) -> Callable[..., Batch]:
    """Return a builder of batches: one column per list of texts."""
    encoder = tiny()
    return lambda *columns: Batch(tuple(tokenize(encoder, column) for column in columns))


@pytest.fixture
def mixed(sentences: list[str]) -> list[str]:
    """Texts of very different lengths."""
    return [" ".join(text.split()[: 1 + i % 9]) for i, text in enumerate(sentences[:40])] + [
        sentences[0] + " " + sentences[1]
    ]
