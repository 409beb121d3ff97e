from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mirrormask.core.errors import ModelError
from mirrormask.models.description import describe_model
from mirrormask.models.encoder import load, pooling_of, save_encoder
from mirrormask.models.pooling import poolings

SHIPPED = ["mini", "mini-zh", "mini-sentence"]


def check_against_the_loaded_model(name: str) -> None:
    """The files say what the model, once loaded, shows."""
    found, encoder = describe_model(name), load(name, device="cpu")
    config = encoder[0].model.config
    assert found["parameters"] == sum(p.numel() for p in encoder.parameters())
    assert found["dimension"] == encoder.get_embedding_dimension()
    assert found["longest_text"] == f"{encoder.max_seq_length} tokens"
    assert found["pooling"].split(" ")[0] == pooling_of(encoder)
    assert (found["architecture"], found["layers"]) == (config.model_type, config.num_hidden_layers)
    assert (found["width"], found["vocabulary"]) == (config.hidden_size, config.vocab_size)
    if found["kind"] == "sentence encoder":
        assert found["modules"] == " + ".join(type(module).__name__ for module in encoder)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_model_says_its_edition(name: str) -> None:
    found = describe_model(name)
    assert (found["name"], found["edition"] >= 1) == (name, True)
    check_against_the_loaded_model(name)


@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert", "modernbert"])
def test_every_architecture_is_described_as_it_loads(tiny_of_kind: Callable[[str], Path], kind: str) -> None:
    check_against_the_loaded_model(str(tiny_of_kind(kind)))


@pytest.mark.parametrize("pooling", poolings.names())
@pytest.mark.parametrize("recorded", [True, False])
def test_every_saved_encoder_is_described_as_it_loads(
    tiny: Callable[..., Any], tmp_path: Path, pooling: str, recorded: bool
) -> None:
    save_encoder(tiny(pooling=pooling), tmp_path / "m")
    if not recorded:  # as a model from elsewhere
        (tmp_path / "m" / "mirrormask.json").unlink()
        if pooling not in ("mean", "max", "cls", "cls-mlp", "cls-mlp-kept"):
            assert describe_model(str(tmp_path / "m"))["pooling"] in ("a weighted mean of layers", "unknown")
            return
    check_against_the_loaded_model(str(tmp_path / "m"))


def test_how_encoders_were_written_before(tiny: Callable[..., Any], tmp_path: Path) -> None:
    save_encoder(tiny(pooling="mean"), tmp_path / "m")
    (tmp_path / "m" / "mirrormask.json").unlink()
    old = {"word_embedding_dimension": 32, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True}
    (tmp_path / "m" / "1_Pooling" / "config.json").write_text(json.dumps(old), encoding="utf-8")
    found = describe_model(str(tmp_path / "m"))
    assert (found["pooling"], found["dimension"]) == ("cls+mean", 64)
    check_against_the_loaded_model(str(tmp_path / "m"))


def test_a_loss_is_shown_as_one(tiny: Callable[..., Any], tmp_path: Path) -> None:
    save_encoder(tiny(), tmp_path / "m", facts={"chosen_by": "held-out loss", "score": -1.5, "steps": 3})
    found = describe_model(str(tmp_path / "m"))
    assert (found["held_out_loss"], found["steps"], "score" in found) == (1.5, 3, False)


@pytest.mark.parametrize(
    "file", ["config.json", "modules.json", "model.safetensors", "1_Pooling/config.json", "tokenizer.json"]
)
@pytest.mark.parametrize("content", [b"{", b"[1]", b"\xff\xfe", None])
def test_a_damaged_file_is_one_sentence(
    tiny: Callable[..., Any], tmp_path: Path, file: str, content: bytes | None
) -> None:
    save_encoder(tiny(), tmp_path / "m")
    path = tmp_path / "m" / file
    path.write_bytes(path.read_bytes()[:-20] if content is None else content)
    with pytest.raises(ModelError, match=r"could not be read as a model: it is damaged or incomplete \(.+\)\. Copy "):
        describe_model(str(tmp_path / "m"))


def test_a_masked_lm(tiny_folder: Path) -> None:
    found = describe_model(str(tiny_folder))
    assert (found["kind"], found["lm_head"], found["layers"], found["width"]) == (
        "masked language model",
        "kept",
        3,
        32,
    )
    assert found["pooling"].startswith("mean (the default")
    assert found["opens_with"].startswith("mirrormask.load(")
    assert found["parameters"] > 10_000


@pytest.mark.parametrize("pooling", ["mean", "cls-mlp-kept", "last-2", "mask-prompt", "mean-padded"])
def test_a_saved_encoder_says_its_pooling_and_how_it_opens(
    tiny: Callable[..., Any], tmp_path: Path, pooling: str
) -> None:
    save_encoder(tiny(pooling=pooling), tmp_path / "m", facts={"method": "simcse-unsup", "score": 71.5})
    found = describe_model(str(tmp_path / "m"))
    assert (found["kind"], found["pooling"]) == ("sentence encoder", pooling)
    assert (found["method"], found["score"]) == ("simcse-unsup", 71.5)
    plain = found["opens_with"].startswith("SentenceTransformer(")
    assert plain == (pooling not in ("mask-prompt", "mean-padded"))


def test_a_plain_encoder_without_a_head(tiny: Callable[..., Any], tmp_path: Path) -> None:
    encoder = tiny()
    encoder[0].model.save_pretrained(tmp_path / "plain")
    encoder.tokenizer.save_pretrained(tmp_path / "plain")
    found = describe_model(str(tmp_path / "plain"))
    assert (found["kind"], found["lm_head"]) == ("plain encoder", "none")
