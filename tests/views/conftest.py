"""A method over a tiny encoder whose dropout is off, so that what a view does can be followed by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from torch import nn

from mirrormask.core.batch import Batch
from mirrormask.core.framing import frame_of
from mirrormask.data.text.vocabulary import word_starts
from mirrormask.methods.composition import composition
from mirrormask.models.bulk import tokenize
from mirrormask.training.method import Method
from mirrormask.views import Vocabulary


@pytest.fixture
def method(tiny: Callable[..., Any]) -> Callable[..., Method]:
    """Return a builder: ``method(["dropout", "fgsm"], dropout=0.0, head=None)``."""

    def build(views: list[Any], *, dropout: float = 0.0, head: nn.Module | None = None, **parts: Any) -> Method:
        encoder = tiny(pooling="mean")
        for layer in encoder.modules():
            if isinstance(layer, nn.Dropout):
                layer.p = dropout
        tokenizer = encoder.tokenizer
        special = frozenset(tokenizer.all_special_ids)
        words = Vocabulary(frame_of(tokenizer), word_starts(tokenizer), tokenizer.mask_token_id, special)
        return Method(encoder, composition(views, **parts), words, head=head).train()

    return build


@pytest.fixture
def batch(tiny: Callable[..., Any], sentences: list[str]) -> Batch:
    texts = [" ".join(text.split()[: 3 + i % 7]) for i, text in enumerate(sentences[:8])]
    return Batch((tokenize(tiny(), texts),))
