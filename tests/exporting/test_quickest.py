from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirrormask.core.errors import MirrormaskError
from mirrormask.exporting import quickest as module
from mirrormask.exporting.quickest import ENOUGH, quickest
from mirrormask.models.bulk import encode_texts
from mirrormask.models.exported import backend_of


@pytest.fixture
def slow(tiny: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    encoder = tiny(pooling="mean")
    forward = type(encoder[0]).forward

    def waiting(self: Any, features: Any, **kwargs: Any) -> Any:
        end = time.process_time() + 0.05
        while time.process_time() < end:
            pass
        return forward(self, features, **kwargs)

    monkeypatch.setattr(type(encoder[0]), "forward", waiting)
    return encoder


def test_a_backend_that_is_quicker_and_says_the_same_is_taken(slow: Any, sentences: list[str]) -> None:
    found = quickest(slow, sentences[:100], ENOUGH)
    assert backend_of(found.encoder) == "openvino"
    assert "times as fast as torch here" in found.backend
    np.testing.assert_allclose(encode_texts(found.encoder, sentences[:9]), encode_texts(slow, sentences[:9]), atol=2e-2)


@pytest.fixture
def without_openvino(monkeypatch: pytest.MonkeyPatch) -> None:
    there = module.importlib.util.find_spec
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None if name == "openvino" else there(name))


@pytest.mark.usefixtures("without_openvino")
def test_without_openvino_it_is_onnxruntime(slow: Any, sentences: list[str]) -> None:
    assert backend_of(quickest(slow, sentences[:70], ENOUGH).encoder) == "onnx"


@pytest.mark.usefixtures("without_openvino")
@pytest.mark.parametrize("why", ["few texts", "precision", "torch asked for", "not the same", "not quicker"])
def test_torch_stays_where_nothing_is_won(
    why: str, tiny: Callable[..., Any], slow: Any, sentences: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"precision": "fp32"} if why == "precision" else {}
    options |= {"backend": "torch"} if why == "torch asked for" else {}
    if why == "not the same":
        monkeypatch.setattr(module, "SAME", 1.1)
    if why == "not quicker":
        monkeypatch.setattr(module, "FASTER", 1e9)
    found = quickest(slow, sentences[:70], 10 if why == "few texts" else ENOUGH, **options)
    assert found.encoder is slow
    assert found.backend.startswith("torch, ")


def test_one_that_is_asked_for_by_name_is_taken_or_refused(
    tiny: Callable[..., Any], sentences: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = tiny(pooling="mean")
    assert backend_of(quickest(encoder, sentences[:3], 3, backend="onnx").encoder) == "onnx"
    with pytest.raises(MirrormaskError, match="must be one of auto, torch, openvino, onnx. Got 'tensorrt'"):
        quickest(encoder, sentences[:3], 3, backend="tensorrt")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MirrormaskError, match=r'needs the package .onnxruntime.. .*"mirrormask\[onnx\]"'):
        quickest(encoder, sentences[:3], 3, backend="onnx")


def test_an_exported_encoder_stays_what_it_is(
    saved: Callable[[str], Path], sentences: list[str], tmp_path: Path
) -> None:
    from mirrormask.exporting.export_model import export_model
    from mirrormask.models.encoder import load

    export_model(str(saved("mean")), tmp_path / "out", to="onnx-int8")
    encoder = load(tmp_path / "out")
    assert quickest(encoder, sentences[:70], ENOUGH) == (encoder, "onnx int8")
