from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from mirrormask.core.errors import MirrormaskError, ModelError
from mirrormask.models.bulk import encode_texts
from mirrormask.models.encoder import build_encoder, facts_of, load, pooling_of, save_encoder, training_head
from mirrormask.models.pooling import PoolingModules, poolings

TEXTS = ["the old baker paints a wooden boat.", "a quiet child", "my neighbor forgets the long letter every winter."]


def test_there_are_eleven_poolings() -> None:
    expected = {"cls", "cls-mlp", "cls-mlp-kept", "mean", "max", "first-last", "first-last-embeddings", "last-2"}
    assert set(poolings.names()) == expected | {"mask-prompt", "mean-padded", "soft-prompt"}


@pytest.mark.parametrize(
    "pooling",
    sorted(
        [
            "cls",
            "cls-mlp",
            "cls-mlp-kept",
            "mean",
            "max",
            "first-last",
            "first-last-embeddings",
            "last-2",
            "mask-prompt",
            "mean-padded",
        ]
    ),
)
def test_a_saved_encoder_gives_the_same_vectors_and_knows_its_pooling(
    pooling: str, tiny: Callable[..., Any], tmp_path: Path
) -> None:
    encoder = tiny(pooling=pooling)
    before = encoder.encode(TEXTS)
    save_encoder(encoder, tmp_path / "model", facts={"method": "test"})
    again = load(tmp_path / "model")
    np.testing.assert_allclose(again.encode(TEXTS), before, atol=1e-5)
    np.testing.assert_allclose(encode_texts(again, TEXTS, precision="fp32"), before, atol=1e-5)
    assert pooling_of(again) == ("cls" if pooling == "cls-mlp" else pooling)
    assert facts_of(tmp_path / "model")["method"] == "test"
    if pooling not in ("mask-prompt", "mean-padded"):
        plain = SentenceTransformer(str(tmp_path / "model"), device="cpu")
        np.testing.assert_allclose(plain.encode(TEXTS), before, atol=1e-5)
        assert "pooler" not in str(plain[0].model)


def _hidden(encoder: Any, text: str) -> list[torch.Tensor]:
    with torch.no_grad():
        features = encoder.tokenizer([text], return_tensors="pt")
        out = encoder[0].model(**features, output_hidden_states=True)
    return [h[0] for h in out.hidden_states]


@pytest.mark.parametrize(
    ("pooling", "formula"),
    [
        ("cls", lambda h: h[-1][0]),
        ("mean", lambda h: h[-1].mean(0)),
        ("max", lambda h: h[-1].max(0).values),
        ("first-last", lambda h: (h[1] + h[-1]).mean(0) / 2),
        ("first-last-embeddings", lambda h: (h[0] + h[-1]).mean(0) / 2),
        ("last-2", lambda h: (h[-2] + h[-1]).mean(0) / 2),
    ],
)
def test_poolings_are_their_formulas(
    pooling: str, formula: Callable[..., torch.Tensor], tiny: Callable[..., Any]
) -> None:
    encoder = tiny(pooling=pooling)
    expected = formula(_hidden(encoder, TEXTS[0])).numpy()
    # in company of a longer text, so that padding is there to be ignored
    found = encoder.encode([TEXTS[0], TEXTS[2]])[0]
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_fixed_layer_weights_are_not_trained(tiny: Callable[..., Any]) -> None:
    encoder = tiny(pooling="first-last")
    assert not encoder[1].layer_weights.requires_grad


def test_mask_prompt_is_the_state_at_the_templates_mask(tiny: Callable[..., Any]) -> None:
    encoder = tiny(pooling="mask-prompt")
    hidden = _hidden(encoder, 'This sentence : "a quiet child" means [MASK].')[-1]
    ids = encoder.tokenizer('This sentence : "a quiet child" means [MASK].')["input_ids"]
    expected = hidden[ids.index(encoder.tokenizer.mask_token_id)].numpy()
    np.testing.assert_allclose(encoder.encode(["a quiet child"])[0], expected, atol=1e-5)
    # a mask inside the text is not the template's, and a text too long is cut before the template is
    assert encoder.encode(["a [MASK] child"]).shape == (1, 32)
    long = encoder[0].preprocess(["a quiet child " * 50])
    assert long["input_ids"].shape[1] == 64
    assert long["input_ids"][0, -1] == encoder.tokenizer.sep_token_id


def test_mask_prompt_refuses_a_bad_template(tiny: Callable[..., Any]) -> None:
    with pytest.raises(MirrormaskError, match="exactly once"):
        tiny(pooling="mask-prompt", template="no place")
    with pytest.raises(MirrormaskError, match="after the text"):
        tiny(pooling="mask-prompt", template="[MASK] means {text}.")


def test_training_heads(tiny: Callable[..., Any]) -> None:
    encoder = tiny(pooling="cls-mlp")
    head = training_head(encoder, "cls-mlp")
    assert isinstance(head, torch.nn.Sequential)
    assert [type(m).__name__ for m in head] == ["Linear", "Tanh"]
    for other in ("mean", "cls-mlp-kept", "first-last", "cls+mean"):  # the last is another library's
        assert training_head(tiny(), other) is None


def test_a_pooling_says_itself_what_is_for_training_only(tiny: Callable[..., Any]) -> None:
    """No name is compared: a pooling of someone else's has its head too."""

    @poolings.register("with-a-head")
    def with_a_head(transformer: Any) -> PoolingModules:
        """Take the mean, under a head in training.

        Paper: Nobody 2001, "Heads"
        """
        kept = poolings.build("mean", transformer=transformer).kept
        return PoolingModules(kept, torch.nn.Linear(transformer.get_embedding_dimension(), 7))

    try:
        head = training_head(tiny(pooling="with-a-head"), "with-a-head")
    finally:
        del poolings._parts["with-a-head"]
    assert isinstance(head, torch.nn.Linear)
    assert head.out_features == 7


def test_weights_stored_in_float16_are_loaded_as_float32(tiny: Callable[..., Any]) -> None:
    assert {p.dtype for p in tiny().parameters()} == {torch.float32}


@pytest.mark.parametrize("kind", ["roberta", "distilbert", "modernbert"])
def test_other_architectures_start_and_save(kind: str, tiny_of_kind: Callable[[str], Path], tmp_path: Path) -> None:
    encoder = build_encoder(tiny_of_kind(kind), pooling="mean", device="cpu")
    before = encoder.encode(TEXTS)
    save_encoder(encoder, tmp_path / "saved")
    np.testing.assert_allclose(
        SentenceTransformer(str(tmp_path / "saved"), device="cpu").encode(TEXTS), before, atol=1e-5
    )


def test_an_existing_sentence_encoder_can_be_the_start(tiny: Callable[..., Any], tmp_path: Path) -> None:
    save_encoder(tiny(pooling="cls"), tmp_path / "first")
    again = build_encoder(tmp_path / "first", device="cpu")
    assert pooling_of(again) == "cls"
    assert pooling_of(build_encoder(tmp_path / "first", pooling="mean", device="cpu")) == "mean"


def test_lora_trains_few_weights_and_merges_on_save(tiny: Callable[..., Any], tmp_path: Path) -> None:
    encoder = tiny(lora=2)
    open_weights = sum(p.numel() for p in encoder.parameters() if p.requires_grad)
    assert 0 < open_weights < sum(p.numel() for p in encoder.parameters()) / 4
    with torch.no_grad():
        for name, parameter in encoder.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=0.1)
    before = encoder.encode(TEXTS)
    save_encoder(encoder, tmp_path / "merged")
    np.testing.assert_allclose(
        SentenceTransformer(str(tmp_path / "merged"), device="cpu").encode(TEXTS), before, atol=1e-5
    )
    assert np.abs(before - tiny().encode(TEXTS)).max() > 1e-3


def test_what_is_no_model_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_folder: Path) -> None:
    monkeypatch.delenv("MIRRORMASK_MODELS", raising=False)
    (tmp_path / "empty").mkdir()
    (tmp_path / "file.txt").write_text("x")
    with pytest.raises(ModelError, match="neither config.json nor modules.json"):
        load(tmp_path / "empty")
    with pytest.raises(ModelError, match="is a file"):
        load(tmp_path / "file.txt")
    with pytest.raises(ModelError, match="no model folder"):
        load(str(tmp_path / "not" / "there" / "x"))
    with pytest.raises(ModelError, match="could not be fetched from the hub"):
        load("some-owner/some-model-that-is-not-here")
    with pytest.raises(MirrormaskError, match="Did you mean 'mean'"):
        build_encoder(tiny_folder, pooling="meen")


def test_damaged_weights_are_said_so(tiny_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_folder, tmp_path / "torn")
    weights = tmp_path / "torn" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[: weights.stat().st_size // 2])
    with pytest.raises(ModelError, match="damaged|could not be read"):
        load(tmp_path / "torn")
    (tmp_path / "torn" / "config.json").write_text("{")
    with pytest.raises(ModelError):
        load(tmp_path / "torn")


def test_names_under_the_roots_are_found(tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIRRORMASK_MODELS", f"/nowhere:{tiny_folder.parent}")
    assert load("tiny", device="cpu").get_embedding_dimension() == 32


def test_an_interrupted_save_leaves_the_old_model(
    tiny: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = tiny()
    save_encoder(encoder, tmp_path / "model", facts={"round": 1})

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(SentenceTransformer, "save", full)
    with pytest.raises(MirrormaskError, match="disk is full"):
        save_encoder(encoder, tmp_path / "model", facts={"round": 2})
    assert json.loads((tmp_path / "model" / "mirrormask.json").read_text())["round"] == 1
    assert [p.name for p in tmp_path.iterdir()] == ["model"]
