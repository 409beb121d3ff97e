from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
import torch

from mirrormask.objectives.info_nce import InfoNCE
from mirrormask.objectives.masked_lm_loss import MaskedLMLoss
from mirrormask.stabilizers.sam import SAM
from mirrormask.training import compiling
from mirrormask.training.compiling import WORTH_STEPS, can_replay, compile_encoder, restore, should_compile
from mirrormask.training.method import Composition
from mirrormask.training.settings import Settings
from mirrormask.views.dropout import Dropout
from mirrormask.views.momentum import Momentum
from mirrormask.views.output_mask import OutputMask


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
    assert calls == [{"dynamic": False, "mode": None}]
    restore(encoder)
    compile_encoder(encoder, replay=True)
    encoder(dict(features))
    assert calls.pop() == {"dynamic": False, "mode": "reduce-overhead"}
    restore(encoder)
    assert "forward" not in vars(encoder[0].model)
    encoder(dict(features))
    assert len(calls) == 1
    restore(encoder)


@pytest.mark.parametrize(
    ("device", "changed", "one_pass", "processes", "expected"),
    [
        ("cuda", {}, True, 1, True),
        ("cpu", {}, True, 1, False),
        ("cuda", {"accumulation": 2}, True, 1, False),
        ("cuda", {"large_batch": 8}, True, 1, False),
        ("cuda", {}, False, 1, False),
        ("cuda", {}, True, 2, False),
    ],
)
def test_kernels_are_replayed_only_where_a_step_is_one_pass(
    device: str, changed: dict[str, Any], one_pass: bool, processes: int, expected: bool
) -> None:
    assert can_replay(device, Settings(**changed), one_pass=one_pass, processes=processes) is expected


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({}, True),
        ({"views": (Dropout(), OutputMask())}, True),
        ({"views": (Dropout(), Momentum())}, False),
        ({"stabilizer": SAM()}, False),
        ({"objective": InfoNCE() + MaskedLMLoss()}, False),
    ],
    ids=["dropout twice", "output mask", "momentum", "sam", "masked-lm"],
)
def test_a_composition_knows_whether_a_step_is_one_pass(parts: dict[str, Any], expected: bool) -> None:
    composition = Composition(views=(Dropout(), Dropout()), objective=InfoNCE())
    assert dataclasses.replace(composition, **parts).one_pass is expected
