from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mirrormask.models.description import describe_model
from mirrormask.models.encoder import save_encoder


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


@pytest.mark.parametrize("pooling", ["mean", "cls-mlp-kept", "last-2", "mask-prompt"])
def test_a_saved_encoder_says_its_pooling_and_how_it_opens(
    tiny: Callable[..., Any], tmp_path: Path, pooling: str
) -> None:
    save_encoder(tiny(pooling=pooling), tmp_path / "m", facts={"method": "simcse-unsup", "score": 71.5})
    found = describe_model(str(tmp_path / "m"))
    assert (found["kind"], found["pooling"]) == ("sentence encoder", pooling)
    assert (found["method"], found["score"]) == ("simcse-unsup", 71.5)
    plain = found["opens_with"].startswith("SentenceTransformer(")
    assert plain == (pooling != "mask-prompt")


def test_a_plain_encoder_without_a_head(tiny: Callable[..., Any], tmp_path: Path) -> None:
    encoder = tiny()
    encoder[0].model.save_pretrained(tmp_path / "plain")
    encoder.tokenizer.save_pretrained(tmp_path / "plain")
    found = describe_model(str(tmp_path / "plain"))
    assert (found["kind"], found["lm_head"]) == ("plain encoder", "none")
