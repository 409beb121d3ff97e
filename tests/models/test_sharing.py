from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from transformers import AutoModelForMaskedLM

from mirrormask.core.errors import ModelError
from mirrormask.models.encoder import build_encoder, load, save_encoder
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.models.sharing import COMMON, LAYERS, read_weights, write_shared

TEXTS = ["the old baker paints", "a young pilot repairs the broken clock"]


@pytest.fixture
def changed(tiny: Callable[..., Any], tmp_path: Path) -> Path:
    """An encoder whose layers were trained and whose embeddings were not."""
    encoder = tiny(freeze_embeddings=True)
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in encoder.parameters():
            if parameter.requires_grad:
                parameter += 0.05 * torch.randn_like(parameter)
    save_encoder(encoder, tmp_path / "trained")
    return tmp_path / "trained"


def test_two_models_share_a_file_and_open_everywhere(tiny_folder: Path, changed: Path, tmp_path: Path) -> None:
    root = tmp_path / "shipped"
    write_shared(tiny_folder, root / "lm")
    write_shared(changed, root / "encoder", like=root / "lm")
    assert (root / "lm" / COMMON).is_file()
    assert not (root / "encoder" / COMMON).exists()
    assert {tensor.dtype for tensor in read_weights(root / "encoder").values()} == {torch.float16}
    before, after = load(tiny_folder, device="cpu").encode(TEXTS), load(changed, device="cpu").encode(TEXTS)
    assert np.abs(before - after).max() > 0.05
    np.testing.assert_allclose(load(root / "lm", device="cpu").encode(TEXTS), before, atol=1e-6)
    np.testing.assert_allclose(load(root / "encoder", device="cpu").encode(TEXTS), after, atol=5e-3)
    plain = SentenceTransformer(str(root / "encoder"), device="cpu", model_kwargs={"dtype": "float32"})
    np.testing.assert_allclose(plain.encode(TEXTS), after, atol=5e-3)


def test_both_still_fill_masks(tiny_folder: Path, changed: Path, tmp_path: Path) -> None:
    root = tmp_path / "shipped"
    write_shared(tiny_folder, root / "lm")
    write_shared(changed, root / "encoder", like=root / "lm")
    text = "the old [MASK] paints"
    assert MaskedLM.load(root / "lm").fill(text) == MaskedLM.load(tiny_folder).fill(text)
    ours, theirs = (MaskedLM.load(each).fill(text)[0] for each in (root / "encoder", changed))
    assert [word for word, _ in ours] == [word for word, _ in theirs]
    _, info = AutoModelForMaskedLM.from_pretrained(root / "lm", output_loading_info=True)
    assert not info["missing_keys"]


def test_an_encoder_trained_from_shards_keeps_its_head(tiny_folder: Path, tmp_path: Path) -> None:
    write_shared(tiny_folder, tmp_path / "lm")
    save_encoder(build_encoder(tmp_path / "lm", device="cpu"), tmp_path / "encoder")
    assert MaskedLM.load(tmp_path / "encoder").layers == 3


def test_what_is_not_shared_is_refused(tiny: Callable[..., Any], tiny_folder: Path, tmp_path: Path) -> None:
    write_shared(tiny_folder, tmp_path / "lm")
    encoder = tiny()
    with torch.no_grad():
        encoder[0].model.embeddings.word_embeddings.weight += 0.1
    save_encoder(encoder, tmp_path / "trained")
    with pytest.raises(ModelError, match="does not share bert.embeddings.word_embeddings.weight .*'freeze_embeddings'"):
        write_shared(tmp_path / "trained", tmp_path / "encoder", like=tmp_path / "lm")
    assert not (tmp_path / "encoder").exists()


def test_the_layers_are_the_larger_part_of_a_second_model(tiny_folder: Path, changed: Path, tmp_path: Path) -> None:
    write_shared(tiny_folder, tmp_path / "lm")
    write_shared(changed, tmp_path / "encoder", like=tmp_path / "lm")
    assert [file.name for file in (tmp_path / "encoder").glob("*.safetensors")] == [LAYERS]


def test_frozen_embeddings_do_not_train(tiny: Callable[..., Any]) -> None:
    encoder = tiny(freeze_embeddings=True)
    frozen = {name for name, p in encoder.named_parameters() if not p.requires_grad}
    assert frozen == {name for name, _ in encoder.named_parameters() if ".embeddings." in name}


def test_a_head_of_its_own_stays_with_a_model(tiny_folder: Path, changed: Path, tmp_path: Path) -> None:
    lm = MaskedLM.load(tiny_folder, device="cpu")
    with torch.no_grad():
        lm.model.cls.predictions.transform.dense.bias += 1.0
    lm.model.save_pretrained(tmp_path / "other")
    lm.tokenizer.save_pretrained(tmp_path / "other")
    write_shared(tmp_path / "other", tmp_path / "lm")
    write_shared(changed, tmp_path / "encoder", like=tmp_path / "lm")
    text = "the old [MASK] paints"
    ours, theirs = (MaskedLM.load(each).fill(text)[0] for each in (tmp_path / "encoder", changed))
    assert [word for word, _ in ours] == [word for word, _ in theirs]
    assert (tmp_path / "encoder" / LAYERS).stat().st_size < (tmp_path / "lm" / COMMON).stat().st_size + 10**6
