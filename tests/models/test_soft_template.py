from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mirrormask.core.errors import MirrormaskError
from mirrormask.models.bulk import encode_texts
from mirrormask.models.encoder import load, pooling_of, save_encoder


def test_it_begins_as_the_written_template(tiny: Callable[..., Any], sentences: list[str]) -> None:
    soft, written = tiny(pooling="soft-prompt"), tiny(pooling="mask-prompt")
    np.testing.assert_allclose(soft.encode(sentences[:5]), written.encode(sentences[:5]), atol=1e-6)
    assert len(soft[0].prompt()) == 7  # this, sentence, a colon, two quotes, means, a full stop


def test_a_prompt_of_another_template_is_refused(tiny: Callable[..., Any], tmp_path: Path) -> None:
    save_encoder(tiny(pooling="soft-prompt"), tmp_path / "model")
    config = tmp_path / "model" / "sentence_bert_config.json"
    known = json.loads(config.read_text())
    config.write_text(json.dumps({**known, "template": "{text} means [MASK]."}))
    with pytest.raises(MirrormaskError, match=r"holds \(7, 32\) numbers, and the words of its template take \(2, 32\)"):
        load(tmp_path / "model", device="cpu")


def test_it_is_saved_with_the_encoder(tiny: Callable[..., Any], sentences: list[str], tmp_path: Path) -> None:
    encoder = tiny(pooling="soft-prompt")
    with torch.no_grad():
        encoder[0].prompt.embeddings += torch.randn_like(encoder[0].prompt.embeddings)
    save_encoder(encoder, tmp_path / "model")
    opened = load(tmp_path / "model", device="cpu")
    assert pooling_of(opened) == "soft-prompt"
    ours = encoder.encode(sentences[:5])
    np.testing.assert_allclose(opened.encode(sentences[:5]), ours, atol=1e-6)
    np.testing.assert_allclose(encode_texts(opened, sentences[:5]), ours, atol=1e-5)
    with encoder[0].as_written():
        assert not np.allclose(encoder.encode(sentences[:5]), ours, atol=1e-3)
