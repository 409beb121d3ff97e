from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from mirrormask.core.errors import MirrormaskError
from mirrormask.models import lora
from mirrormask.models.encoder import save_encoder

TEXTS = ["a quiet child finds some bread", "the old baker repairs the broken clock"]


def test_fresh_adapters_change_nothing_and_close_all_else(tiny: Callable[..., Any]) -> None:
    plain, adapted = tiny(), tiny(lora=4)
    assert lora.has_adapters(adapted)
    assert not lora.has_adapters(plain)
    np.testing.assert_allclose(adapted.encode(TEXTS), plain.encode(TEXTS), atol=1e-6)
    names = [name for name, p in adapted.named_parameters() if p.requires_grad]
    assert names
    assert all("lora_" in name for name in names)
    open_weights = sum(p.numel() for p in adapted.parameters() if p.requires_grad)
    assert open_weights < sum(p.numel() for p in adapted.parameters()) / 2


def test_merging_is_the_papers_formula_and_saves_as_a_plain_model(tiny: Callable[..., Any], tmp_path: Path) -> None:
    encoder, plain = tiny(lora=2), tiny()
    torch.manual_seed(0)
    deltas = {}
    for name, module in encoder[0].model.named_modules():
        if hasattr(module, "lora_A") and "default" in module.lora_A:
            down, up = module.lora_A["default"].weight, module.lora_B["default"].weight
            torch.nn.init.normal_(up, std=0.1)
            deltas[name.removeprefix("base_model.model.")] = (up @ down).detach() * 4 / 2  # B A · alpha / rank
    assert len(deltas) == 3 * 6, "every linear layer"
    before = encoder.encode(TEXTS)
    assert np.abs(before - plain.encode(TEXTS)).max() > 1e-3
    save_encoder(encoder, tmp_path / "model")
    assert not lora.has_adapters(encoder)
    for name, delta in deltas.items():
        old, new = plain[0].model.get_submodule(name).weight, encoder[0].model.get_submodule(name).weight
        torch.testing.assert_close(new, old + delta, atol=1e-6, rtol=0)
    np.testing.assert_allclose(
        SentenceTransformer(str(tmp_path / "model"), device="cpu").encode(TEXTS), before, atol=1e-5
    )
    lora.merge(encoder)


def test_a_rank_that_cannot_be(tiny: Callable[..., Any]) -> None:
    with pytest.raises(MirrormaskError, match="The 'lora' of the model must be at least 1. Got -2"):
        tiny(lora=-2)
