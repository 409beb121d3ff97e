from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mirrormask.core.batch import Tokens
from mirrormask.core.errors import MirrormaskError, ModelError
from mirrormask.models.bulk import tokenize
from mirrormask.models.encoder import save_encoder
from mirrormask.models.masked_lm import MaskedLM


@pytest.fixture
def lm(tiny_folder: Path) -> MaskedLM:
    return MaskedLM.load(tiny_folder, device="cpu")


@pytest.fixture
def rows(tiny: Callable[..., Any], sentences: list[str]) -> Tokens:
    return tokenize(tiny(), ["a quiet child", *sentences[:9], "my neighbor"])


@torch.no_grad()
def test_states_and_logits_are_the_models_own_at_the_asked_positions(lm: MaskedLM, rows: Tokens) -> None:
    positions = [np.array([1, len(row) - 2, 0])[: 1 + i % 3] for i, row in enumerate(rows.rows)]
    logits = lm.logits(rows, positions)
    states = lm.states(rows, positions, layer=1)
    place = 0
    for row, asked in zip(rows.rows, positions, strict=True):
        whole = lm.model(torch.from_numpy(row)[None], output_hidden_states=True)
        for position in asked:
            torch.testing.assert_close(logits[place], whole.logits[0, position], atol=1e-4, rtol=1e-4)
            torch.testing.assert_close(states[place], whole.hidden_states[1][0, position], atol=1e-5, rtol=1e-4)
            place += 1
    assert place == len(logits) == len(states)


def test_gradients_reach_encoder_and_head(lm: MaskedLM, rows: Tokens) -> None:
    lm.logits(rows, [np.array([1])] * len(rows)).logsumexp(-1).sum().backward()
    missing = [name for name, p in lm.model.named_parameters() if p.grad is None]
    assert missing == []


def test_an_encoder_keeps_its_head(tiny: Callable[..., Any], lm: MaskedLM, tmp_path: Path) -> None:
    save_encoder(tiny(), tmp_path / "encoder")
    again = MaskedLM.load(tmp_path / "encoder", device="cpu")
    assert again.fill("the old [MASK] paints") == lm.fill("the old [MASK] paints")
    # and an encoder trained from that encoder keeps it too
    from mirrormask.models.encoder import build_encoder

    save_encoder(build_encoder(tmp_path / "encoder", device="cpu"), tmp_path / "second")
    assert MaskedLM.load(tmp_path / "second").fill("the old [MASK] paints") == lm.fill("the old [MASK] paints")


def test_an_output_matrix_of_its_own_is_kept(lm: MaskedLM, tmp_path: Path) -> None:
    """Not every masked LM ties it to its word embeddings."""
    lm.model.config.tie_word_embeddings = False
    model = type(lm.model)(lm.model.config)
    model.save_pretrained(tmp_path / "untied")
    lm.tokenizer.save_pretrained(tmp_path / "untied")
    from mirrormask.models.encoder import build_encoder

    save_encoder(build_encoder(tmp_path / "untied", device="cpu"), tmp_path / "encoder")
    text = "the old [MASK] paints"
    assert MaskedLM.load(tmp_path / "encoder").fill(text) == MaskedLM(model.eval(), lm.tokenizer).fill(text)


def test_a_model_without_a_head_is_refused(tiny: Callable[..., Any], tmp_path: Path) -> None:
    encoder = tiny()
    encoder[0].model.save_pretrained(tmp_path / "bare")
    encoder.tokenizer.save_pretrained(tmp_path / "bare")
    with pytest.raises(ModelError, match="no LM head"):
        MaskedLM.load(tmp_path / "bare")
    from mirrormask.models.encoder import build_encoder

    save_encoder(build_encoder(tmp_path / "bare", device="cpu"), tmp_path / "encoder")
    with pytest.raises(ModelError, match="without an LM head"):
        MaskedLM.load(tmp_path / "encoder")


def test_bad_positions_and_layers_are_refused(lm: MaskedLM, rows: Tokens) -> None:
    with pytest.raises(MirrormaskError, match="'layer'"):
        lm.states(rows, [np.array([1])] * len(rows), layer=7)
    with pytest.raises(ModelError, match=r"no \[MASK\]"):
        lm.fill("nothing to guess")
