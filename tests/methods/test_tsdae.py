"""TSDAE against a loop over single tokens in float64, and against sentence-transformers' own loss."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.methods.whole_step import batch_of, built, one_by_one

from mirrormask.core.batch import Batch
from mirrormask.core.errors import ModelError
from mirrormask.models.bulk import tokenize
from mirrormask.models.encoder import build_encoder
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.objectives import Seen
from mirrormask.objectives.denoising import Denoising
from mirrormask.runs.recipe import build_recipe
from mirrormask.runs.runner import run_recipe
from mirrormask.training.forward import encode
from mirrormask.views import Vocabulary
from mirrormask.views.word_deletion import WordDeletion


def test_a_step_is_its_formula(tiny: Callable[..., Any], sentences: list[str]) -> None:
    method = built(tiny, "tsdae")
    batch = batch_of(method.encoder, sentences)
    found = method(batch, 7)
    left = WordDeletion(0.6).rewrite(batch.columns[0], np.random.default_rng(7), Vocabulary.of(method.encoder))
    assert any(len(a) < len(b) for a, b in zip(left.rows, batch.columns[0].rows, strict=True))
    objective: Any = method.objective
    losses = []
    for vector, row in zip(one_by_one(method.encoder, left), batch.columns[0].rows, strict=True):
        for end in range(1, len(row)):  # one token at a time, from what stands before it
            states = objective.decoder(torch.from_numpy(row[:end].astype(np.int64))[None], vector[None])
            losses.append(-objective.lm.head(states[:, -1]).log_softmax(-1)[0, int(row[end])])
    torch.testing.assert_close(found, torch.stack(losses).mean(), rtol=1e-10, atol=1e-10)


@pytest.fixture
def full(tiny_folder: Path, tmp_path: Path) -> Path:
    """The tiny model in float32, which their loss keeps as it is stored."""
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    AutoModelForMaskedLM.from_pretrained(tiny_folder, dtype="float32").save_pretrained(tmp_path / "full")
    AutoTokenizer.from_pretrained(tiny_folder).save_pretrained(tmp_path / "full")
    return tmp_path / "full"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_it_is_their_loss(full: Path, sentences: list[str], pooling: str) -> None:
    from sentence_transformers.sentence_transformer.losses import DenoisingAutoEncoderLoss

    ours, theirs = (build_encoder(full, pooling=pooling, device="cpu").eval() for _ in range(2))
    objective = Denoising()
    objective.attach(ours)
    objective.eval()
    loss: Any = DenoisingAutoEncoderLoss(theirs, tie_encoder_decoder=True).eval()
    assert objective.decoder is not None
    fresh = {name: value for name, value in loss.decoder.bert.named_parameters() if "crossattention" in name}
    with torch.no_grad():
        for name, value in objective.decoder.model.named_parameters():
            if name in fresh:
                value.copy_(fresh[name])
    texts = [" ".join(text.split()[: 4 + i % 5]) for i, text in enumerate(sentences[:7])]
    damaged, whole = (tokenize(ours, some) for some in ([text[:9] for text in texts], texts))
    seen = Seen(encode(ours, damaged, pad_id=0), torch.zeros(0))
    found = objective.saw(objective.show(Batch((whole,))), {0: seen})
    features = [
        dict(zip(("input_ids", "attention_mask"), t.padded(0, range(7)), strict=True)) for t in (damaged, whole)
    ]
    expected = loss(features, torch.zeros(7))
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    found.backward()
    expected.backward()
    theirs_by_name = dict(theirs[0].model.named_parameters())
    compared = 0
    for name, weight in ours[0].model.named_parameters():
        if weight.grad is not None and "pooler" not in name:
            torch.testing.assert_close(weight.grad, theirs_by_name[name].grad, rtol=1e-3, atol=1e-5, msg=name)
            compared += 1
    assert compared > 40, "both passes teach every weight of the encoder"


def test_the_decoder_is_the_encoder(tiny: Callable[..., Any], tiny_of_kind: Callable[[str], Path]) -> None:
    encoder = tiny(pooling="cls")
    objective = Denoising()
    objective.attach(encoder)
    shared = {id(p) for p in encoder.parameters()}
    assert objective.decoder is not None
    fresh = [name for name, p in objective.decoder.named_parameters() if id(p) not in shared]
    assert fresh
    assert all("crossattention" in name for name in fresh)
    with pytest.raises(ModelError, match="A distilbert cannot be a decoder that attends to a sentence vector"):
        Denoising().attach(build_encoder(tiny_of_kind("distilbert"), pooling="cls", device="cpu"))
    objective.attach(build_encoder(tiny_of_kind("roberta"), pooling="cls", device="cpu"))


def test_its_head_is_saved_with_the_encoder(tiny_folder: Path, sentences: list[str], tmp_path: Path) -> None:
    tables = {
        "model": {"name": str(tiny_folder)},
        "method": {"name": "tsdae"},
        "training": {"steps": 3, "batch_size": 8, "learning_rate": 0.01, "precision": "fp32"},
    }
    done = run_recipe(build_recipe(tables), tmp_path / "run", source=sentences[:40])
    before, after = (MaskedLM.load(folder, device="cpu").model for folder in (tiny_folder, done.model))
    assert after.get_output_embeddings().weight is after.get_input_embeddings().weight, "still one matrix"
    name = "cls.predictions.transform.dense.weight"
    assert not torch.equal(before.state_dict()[name].float(), after.state_dict()[name])
