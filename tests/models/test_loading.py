from __future__ import annotations

import errno
import json
import os
import shutil
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub import constants
from transformers import AutoModel, PreTrainedModel
from transformers.utils import logging

from mirrormask.core.errors import ModelError
from mirrormask.models import loading
from mirrormask.models.bulk import encode_texts
from mirrormask.models.encoder import load, save_encoder
from mirrormask.models.loading import cache_if_offline, opening, quiet_loading
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.pretraining.tokenizer import load_tokenizer


def test_quiet_inside_only() -> None:
    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    with pytest.raises(KeyError), quiet_loading():
        assert logging.get_verbosity() == logging.ERROR
        assert not logging.is_progress_bar_enabled()
        raise KeyError
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before


@pytest.mark.parametrize(
    ("offline", "local", "answers", "asked", "inside"),
    [
        (False, False, False, 1, True),
        (False, False, True, 1, False),
        (False, True, False, 0, True),
        (True, False, False, 0, True),
    ],
)
def test_the_hub_is_asked_once_and_only_for_its_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, offline: bool, local: bool, answers: bool, asked: int, inside: bool
) -> None:
    calls = []
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", offline)

    def ask() -> bool:
        calls.append(1)
        return answers

    monkeypatch.setattr(loading, "_hub_answers", ask)
    with pytest.raises(KeyError), cache_if_offline(str(tmp_path) if local else "owner/name"):
        assert inside == constants.HF_HUB_OFFLINE
        raise KeyError
    assert len(calls) == asked
    assert offline == constants.HF_HUB_OFFLINE


def test_a_hub_that_cannot_be_reached_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")  # the port that throws everything away
    assert not loading._hub_answers()


def changed(folder: Path, out: Path, **config: Any) -> Path:
    """Return a copy of a model whose config says something else."""
    shutil.copytree(folder, out)
    path = out / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **config}))
    return out


@pytest.mark.parametrize("open_it", [load, MaskedLM.load], ids=["encoder", "masked LM"])
@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"num_hidden_layers": 4}, "lacks weights .*layer.3.attention.* and 13 more.*config and weights"),
        ({"model_type": "roberta", "architectures": ["RobertaForMaskedLM"]}, "lacks weights .*embeddings"),
        ({"vocab_size": 999}, "of another shape .*word_embeddings.weight"),
    ],
)
def test_weights_are_never_made_up(
    tiny_folder: Path, tmp_path: Path, open_it: Any, config: dict[str, Any], says: str
) -> None:
    with pytest.raises(ModelError, match=says):
        open_it(changed(tiny_folder, tmp_path / "model", **config), device="cpu")


def test_a_sentence_encoder_is_checked_too(tiny: Callable[..., Any], tmp_path: Path) -> None:
    save_encoder(tiny(pooling="cls"), tmp_path / "saved")
    with pytest.raises(ModelError, match=r"lacks weights .*layer\.3"):
        load(changed(tmp_path / "saved", tmp_path / "model", num_hidden_layers=4))


def test_parts_that_nothing_reads_may_be_missing(tmp_path: Path, tiny_folder: Path) -> None:
    """BERT's pooler and the LM head, where an encoder is asked for; the library's own class is left as it was."""
    before = PreTrainedModel.__dict__["from_pretrained"]
    with opening(tiny_folder, str(tiny_folder)):
        model, info = AutoModel.from_pretrained(tiny_folder, output_loading_info=True)
        assert info["missing_keys"] == {"pooler.dense.weight", "pooler.dense.bias"}
        assert isinstance(AutoModel.from_pretrained(tiny_folder), type(model))
    assert PreTrainedModel.__dict__["from_pretrained"] is before


@pytest.mark.parametrize("number", [float("nan"), float("-inf")])
def test_weights_that_are_no_number(tiny: Callable[..., Any], tmp_path: Path, number: float) -> None:
    encoder = tiny()
    with torch.no_grad():
        encoder[0].model.encoder.layer[1].output.dense.weight[3, 5] = number
    with pytest.raises(ModelError, match="gives vectors with NaN or infinity when it computes in fp32"):
        encode_texts(encoder, ["a quiet child"], precision="fp32")
    save_encoder(encoder, tmp_path / "saved")
    for open_it in (load, MaskedLM.load):
        with pytest.raises(ModelError, match=r"saved has weights that are NaN or infinite \(.*layer.1.output.dense"):
            open_it(tmp_path / "saved")


def test_nothing_asks_the_hub_for_a_folder(tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def connect(self: socket.socket, address: Any) -> None:
        asked.append(address)
        raise OSError(errno.ENETUNREACH, "no network here")

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *name, **_: asked.append(name))
    folder = changed(tiny_folder, tmp_path / "model", _name_or_path="owner/name")
    load(folder)
    MaskedLM.load(folder)
    load_tokenizer(str(folder))
    (folder / "adapter_config.json").write_text('{"peft_type": "LORA", "base_model_name_or_path": "owner/name"}')
    for open_it in (load, MaskedLM.load):
        with pytest.raises(ModelError, match="holds adapters for another model .* merge_and_unload"):
            open_it(str(folder))
    assert asked == []


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can become another user")
def test_a_folder_that_may_not_be_read(tiny_folder: Path) -> None:
    folder = Path(tempfile.mkdtemp(dir="/tmp")) / "model"
    folder.parent.chmod(0o755)
    shutil.copytree(tiny_folder, folder)
    load(folder)  # everything is imported before the user changes
    try:
        for path, mode in ((folder, 0o700), (folder / "model.safetensors", 0o600)):
            folder.chmod(0o755)
            path.chmod(mode)
            os.seteuid(65534)
            try:
                for open_it in (load, MaskedLM.load):
                    with pytest.raises(ModelError, match=r"[Pp]ermission|model.safetensors"):
                        open_it(folder)
            finally:
                os.seteuid(0)
    finally:
        shutil.rmtree(folder.parent)
