from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from mirrormask.core.batch import Batch
from mirrormask.methods.composition import composition
from mirrormask.models.bulk import encode_texts, tokenize
from mirrormask.training.method import Method
from mirrormask.views import Vocabulary, views

TEXTS = ["a quiet child", "my neighbor forgets the long letter every winter."]


@pytest.mark.parametrize(("training", "width"), [(False, 64), (True, 50)])
def test_it_is_the_mean_over_all_positions_of_the_padded_row(
    tiny: Callable[..., Any], training: bool, width: int
) -> None:
    encoder = tiny(pooling="mean-padded").train(training)
    for layer in encoder.modules():
        if isinstance(layer, torch.nn.Dropout):
            layer.p = 0.0
    given = encoder.tokenizer(TEXTS[0], padding="max_length", max_length=width, return_tensors="pt")
    with torch.no_grad():
        states = encoder[0].model(**given).last_hidden_state[0]  # (width, d)
        bare = encoder.tokenizer(TEXTS[:1], return_tensors="pt")
        found = encoder(dict(bare))["sentence_embedding"][0]
    torch.testing.assert_close(found, states.mean(0), atol=1e-5, rtol=1e-4)
    real = int(given["attention_mask"].sum())
    assert not torch.allclose(found, states[:real].mean(0), atol=1e-3), "which is not the mean over the text"


def test_a_text_has_the_same_vector_alone_and_in_company(tiny: Callable[..., Any]) -> None:
    encoder = tiny(pooling="mean-padded")
    alone = encode_texts(encoder, TEXTS[:1], precision="fp32")
    np.testing.assert_allclose(encode_texts(encoder, TEXTS, precision="fp32")[:1], alone, atol=1e-6)


@pytest.mark.parametrize("view", ["token-cutoff", "gaussian-noise", "drop-head", "span-mask"])
def test_views_of_every_stage_go_with_it(tiny: Callable[..., Any], view: str, sentences: list[str]) -> None:
    encoder = tiny(pooling="mean-padded")
    method = Method(encoder, composition(["dropout", view]), Vocabulary.of(encoder)).train()
    assert view in views.names()
    loss = method(Batch((tokenize(encoder, sentences[:4]),)), 0)
    assert torch.isfinite(loss)
