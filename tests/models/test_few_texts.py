from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from mirrormask.models.bulk import encode_texts
from mirrormask.models.encoder import load, save_encoder
from mirrormask.models.few_texts import encode_few, few_vectors
from mirrormask.models.names import resolve

TEXTS = ["the old baker", "The OLD baker paints a wooden boat near the river, today.", "雨 and Zürich", "x"]


def expected(name: str) -> Any:
    return encode_texts(load(name, device="cpu"), TEXTS, precision="fp32")


@pytest.mark.parametrize("name", ["mini", "mini-sentence", "mini-zh"])
def test_a_shipped_model_gives_the_vectors_that_the_library_gives(name: str) -> None:
    found = few_vectors(resolve(name), TEXTS)
    assert found is not None
    np.testing.assert_allclose(found, expected(name), atol=2e-5)


@pytest.mark.parametrize("pooling", ["mean", "cls", "cls-mlp"])
def test_so_does_a_saved_encoder(tiny: Callable[..., Any], tmp_path: Path, pooling: str) -> None:
    save_encoder(tiny(pooling=pooling), tmp_path / "m")
    found = few_vectors(tmp_path / "m", TEXTS)
    assert found is not None
    np.testing.assert_allclose(found, expected(str(tmp_path / "m")), atol=2e-5)


@pytest.mark.parametrize("pooling", ["max", "first-last", "last-2", "cls-mlp-kept", "mask-prompt", "mean-padded"])
def test_what_is_not_known_here_is_left_to_the_library(tiny: Callable[..., Any], tmp_path: Path, pooling: str) -> None:
    save_encoder(tiny(pooling=pooling), tmp_path / "m")
    assert few_vectors(tmp_path / "m", TEXTS) is None
    np.testing.assert_allclose(encode_few(str(tmp_path / "m"), TEXTS), expected(str(tmp_path / "m")), atol=1e-5)


@pytest.mark.parametrize("kind", ["roberta", "distilbert", "modernbert"])
def test_so_are_other_architectures(tiny_of_kind: Callable[[str], Path], kind: str) -> None:
    folder = tiny_of_kind(kind)
    (folder / "mirrormask.json").write_text("{}", encoding="utf-8")
    assert few_vectors(folder, TEXTS) is None


def damage(folder: Path, how: str) -> list[str]:
    weights = load_file(folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if how == "from elsewhere":
        (folder / "mirrormask.json").unlink()
    elif how == "fewer layers than weights":
        config["num_hidden_layers"] -= 1
    elif how == "more layers than weights":
        config["num_hidden_layers"] += 1
    elif how == "another activation":
        config["hidden_act"] = "relu"
    elif how == "no number":
        weights["embeddings.LayerNorm.bias"] *= np.nan
    elif how == "torn":
        path = folder / "model.safetensors"
        path.write_bytes(path.read_bytes()[:-9])
        return TEXTS
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return ["word " * 100] if how == "a text that is cut" else TEXTS


@pytest.mark.parametrize(
    "how",
    [
        "from elsewhere",
        "fewer layers than weights",
        "more layers than weights",
        "another activation",
        "no number",
        "torn",
        "a text that is cut",
    ],
)
def test_nothing_is_guessed(tiny: Callable[..., Any], tmp_path: Path, how: str) -> None:
    save_encoder(tiny(), tmp_path / "m")
    assert few_vectors(tmp_path / "m", TEXTS) is not None
    texts = damage(tmp_path / "m", how)
    assert few_vectors(tmp_path / "m", texts) is None
