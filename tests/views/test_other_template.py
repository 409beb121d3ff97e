from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from mirrormask.core.batch import Tokens
from mirrormask.core.errors import MirrormaskError
from mirrormask.models.bulk import tokenize
from mirrormask.training.forward import encode
from mirrormask.views import Vocabulary
from mirrormask.views.other_template import OTHER, OtherTemplate


def test_the_text_stands_in_the_other_template(tiny: Callable[..., Any], sentences: list[str]) -> None:
    for pooling in ("mask-prompt", "mean"):
        encoder = tiny(pooling=pooling)
        view = OtherTemplate()
        view.attach(encoder, None)
        seen = view.rewrite(tokenize(encoder, sentences[:3]), np.random.default_rng(0), Vocabulary.of(encoder))
        mask = encoder.tokenizer.mask_token
        whole = encoder.tokenizer([OTHER.replace("{text}", text).replace("[MASK]", mask) for text in sentences[:3]])
        assert [row.tolist() for row in seen.rows] == whole["input_ids"]


def test_a_long_text_is_cut_and_the_template_stays(tiny: Callable[..., Any]) -> None:
    encoder = tiny(pooling="mask-prompt")
    view = OtherTemplate()
    view.attach(encoder, None)
    rows = tokenize(encoder, ["boat " * 100])
    (seen,) = view.rewrite(rows, np.random.default_rng(0), Vocabulary.of(encoder)).rows
    assert len(seen) == encoder.max_seq_length == len(rows.rows[0])
    assert encoder.tokenizer.mask_token_id in seen


def test_plain_templates_share_a_forward(tiny: Callable[..., Any]) -> None:
    for denoise in (False, True):
        view = OtherTemplate(denoise=denoise)
        view.attach(tiny(pooling="mask-prompt"), None)
        assert (view.forward_key == "plain") is not denoise
    soft = OtherTemplate()
    soft.attach(tiny(pooling="soft-prompt"), None)
    assert soft.forward_key != "plain", "its words are seen as written"


def test_vectors_do_not_depend_on_the_rows_beside_them(tiny: Callable[..., Any], sentences: list[str]) -> None:
    encoder = tiny(pooling="mask-prompt").eval()
    view = OtherTemplate("", denoise=True)
    view.attach(encoder, None)
    rows = tokenize(encoder, [" ".join(text.split()[: 2 + i % 4]) for i, text in enumerate(sentences[:9])])
    together = encode(view.encoder_of(encoder), rows, pad_id=0)
    for place in range(9):
        alone = encode(view.encoder_of(encoder), Tokens.of(rows.rows[place : place + 1]), pad_id=0)
        torch.testing.assert_close(together[place : place + 1], alone, atol=1e-5, rtol=1e-4)


def test_what_cannot_be_is_refused(tiny: Callable[..., Any]) -> None:
    with pytest.raises(MirrormaskError, match="must end as the encoder's own, .* after .MASK.. Got"):
        OtherTemplate('"{text}" means [MASK]').attach(tiny(pooling="mask-prompt"), None)
    with pytest.raises(MirrormaskError, match="Take the pooling mask-prompt"):
        OtherTemplate(denoise=True).attach(tiny(pooling="mean"), None)
