from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from mirrormask.training import compiling
from mirrormask.training.compiling import WORTH_STEPS, compile_encoder, restore, should_compile


@pytest.mark.parametrize(
    ("asked", "device", "steps", "length", "expected"),
    [
        ("on", "cpu", 1, 512, True),
        ("off", "cuda", 10_000, 32, False),
        ("auto", "cpu", 10_000, 32, False),
        ("auto", "cuda", WORTH_STEPS, 32, True),
        ("auto", "cuda", WORTH_STEPS - 1, 32, False),
        ("auto", "cuda", 10_000, 512, False),
    ],
)
def test_compile_where_it_pays(asked: str, device: str, steps: int, length: int, expected: bool) -> None:
    assert should_compile(asked, device, steps, length) is expected


def test_only_training_is_compiled_and_it_can_be_taken_off(
    tiny: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = tiny(pooling="mean")
    features = encoder.preprocess(["a quiet child finds some bread"])
    plain = encoder.eval()(dict(features))["sentence_embedding"]
    calls = []

    def counted(forward: Any, **options: Any) -> Any:
        def run(*args: Any, **kwargs: Any) -> Any:
            calls.append(options)
            return forward(*args, **kwargs)

        return run

    monkeypatch.setattr(compiling.torch, "compile", counted)
    compile_encoder(encoder)
    assert torch.equal(encoder(dict(features))["sentence_embedding"], plain)
    with torch.no_grad():
        encoder.train()(dict(features))
    assert calls == [], "an evaluation is not compiled"
    encoder(dict(features))
    assert calls == [{"dynamic": False}]
    restore(encoder)
    assert "forward" not in vars(encoder[0].model)
    encoder(dict(features))
    assert len(calls) == 1
    restore(encoder)
