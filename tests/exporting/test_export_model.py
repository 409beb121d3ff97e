from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from mirrormask.core.errors import MirrormaskError, ModelError, TrainingError
from mirrormask.core.similarity import unit_rows
from mirrormask.exporting import checking, export_model
from mirrormask.models.bulk import encode_texts
from mirrormask.models.encoder import build_encoder, load, save_encoder
from mirrormask.models.exported import backend_of
from mirrormask.models.few_texts import encode_few
from mirrormask.models.pooling import poolings

NO_TORCH = """
import json, sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "transformers", "sentence_transformers", "mirrormask"):
            raise ImportError(f"{name} is not here")
sys.meta_path.insert(0, Refuse())
sys.path.insert(0, sys.argv[1])
from loader import encode
print(json.dumps(encode(json.loads(sys.argv[2])).tolist()))
"""


def by_loader(folder: Path, texts: list[str]) -> Any:
    """Return the vectors of texts by the loader beside an export, in a process without torch."""
    done = subprocess.run(
        [sys.executable, "-c", NO_TORCH, str(folder), json.dumps(texts)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return np.array(json.loads(done.stdout))


@pytest.mark.parametrize("pooling", sorted(poolings.names()))
def test_every_pooling_is_inside_the_graph(
    pooling: str, saved: Callable[[str], Path], texts: list[str], tmp_path: Path
) -> None:
    told = export_model.export_model(str(saved(pooling)), tmp_path / "out", to="onnx")
    assert told["check"]["lowest_cosine"] > 0.9999
    original, exported = load(saved(pooling), device="cpu"), load(tmp_path / "out")
    expected = unit_rows(encode_texts(original, texts, precision="fp32"))
    np.testing.assert_allclose(encode_texts(exported, texts), expected, atol=2e-5)
    if pooling != "mean-padded":  # there a text's vector depends on the longest beside it
        np.testing.assert_allclose(exported.encode(texts, show_progress_bar=False), expected, atol=2e-5)


def test_all_poolings_are_tried() -> None:
    assert len(poolings.names()) >= 10


@pytest.mark.parametrize("to", ["onnx", "onnx-int8", "openvino"])
def test_the_loader_beside_it_needs_no_torch(
    to: str, saved: Callable[[str], Path], texts: list[str], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    export_model.export_model(str(saved("mean")), out, to=to)
    expected = unit_rows(encode_texts(load(saved("mean"), device="cpu"), texts, precision="fp32"))
    near = 0.05 if to == "onnx-int8" else 5e-3
    for found in (by_loader(out, texts), encode_few(str(out), texts)):
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, atol=near)
    assert backend_of(load(out)) == {"onnx": "onnx", "onnx-int8": "onnx int8", "openvino": "openvino"}[to]
    assert by_loader(out, []).size == 0
    said = (out / "README.md").read_text(encoding="utf-8")
    assert "from loader import encode" in said
    assert "lowest cosine" in said


def test_weights_of_tokens_dense_layers_and_length_are_inside_too(
    tiny: Callable[..., Any], texts: list[str], tmp_path: Path
) -> None:
    import torch

    from mirrormask.isotropy.whitening import Whitening
    from mirrormask.models.transform import keep
    from mirrormask.search.token_weights import token_weights, weighted

    encoder = tiny(pooling="mean")
    whole = weighted(encoder, token_weights(encoder, texts))
    rng = np.random.default_rng(0)
    keep(whole, Whitening().fit([torch.from_numpy(rng.normal(size=(200, 32)).astype(np.float32))]))
    save_encoder(whole, tmp_path / "whole")
    expected = encode_texts(whole, texts, precision="fp32")
    export_model.export_model(str(tmp_path / "whole"), tmp_path / "unit", to="onnx")
    export_model.export_model(str(tmp_path / "whole"), tmp_path / "raw", to="onnx", normalize=False)
    np.testing.assert_allclose(encode_texts(load(tmp_path / "unit"), texts), unit_rows(expected), atol=2e-5)
    np.testing.assert_allclose(encode_texts(load(tmp_path / "raw"), texts), expected, atol=1e-3, rtol=1e-4)


def test_prompts_go_along(tiny: Callable[..., Any], tmp_path: Path) -> None:
    encoder = tiny(pooling="mean")
    encoder.prompts = {"query": "the ", "document": "a "}
    save_encoder(encoder, tmp_path / "prompted")
    export_model.export_model(str(tmp_path / "prompted"), tmp_path / "out", to="onnx")
    expected = unit_rows(np.asarray(encoder.encode_query(["cat"], show_progress_bar=False)))
    np.testing.assert_allclose(load(tmp_path / "out").encode_query(["cat"]), expected, atol=2e-5)
    assert "query `the `" in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")


def test_what_differs_too_much_is_not_kept(
    saved: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(checking.LIMITS, "onnx-int8", (2.0, 1.0))
    with pytest.raises(ModelError, match=r"onnx-int8 export was not kept: a text's vector has cosine \d.\d+ with"):
        export_model.export_model(str(saved("cls")), tmp_path / "out", to="onnx-int8")
    assert not any(tmp_path.iterdir())


def test_points_that_are_lost_are_counted_and_bounded(
    saved: Callable[[str], Path], sentences: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "data" / "mteb" / "stsbenchmark-sts"
    folder.mkdir(parents=True)
    encoder = load(saved("mean"), device="cpu")
    left, right = encode_texts(encoder, sentences[:60]), encode_texts(encoder, sentences[60:120])
    cosines = np.einsum("nd,nd->n", unit_rows(left), unit_rows(right)).tolist()
    rows = [
        {"sentence1": one, "sentence2": other, "score": 5 * cosine}
        for one, other, cosine in zip(sentences[:60], sentences[60:120], cosines, strict=True)
    ]
    (folder / "validation.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    monkeypatch.setenv("MIRRORMASK_DATA", str(tmp_path / "data"))
    done = export_model.export_model(str(saved("mean")), tmp_path / "out", to="onnx-int8")
    assert done["check"]["sts"][0] == 100.0
    assert 0 < done["check"]["sts_loss"] < 1
    with pytest.raises(ModelError, match=r"loses 0.\d\d points on STS-B dev, and 0 are allowed"):
        export_model.export_model(str(saved("mean")), tmp_path / "other", to="onnx-int8", max_loss=0.0)


def test_an_export_is_read_and_not_trained(saved: Callable[[str], Path], tmp_path: Path) -> None:
    from mirrormask.models.masked_lm import MaskedLM

    out = tmp_path / "out"
    export_model.export_model(str(saved("mean")), out, to="onnx")
    for opened in (build_encoder, MaskedLM.load):
        with pytest.raises(ModelError, match=r"was exported: it encodes texts and can be neither trained nor probed"):
            opened(out)
    with pytest.raises(ModelError, match="was exported already"):
        export_model.export_model(str(out), tmp_path / "again", to="openvino")


def test_bad_input(saved: Callable[[str], Path], tiny: Callable[..., Any], tiny_folder: Path, tmp_path: Path) -> None:
    from mirrormask.models.glow import Flow
    from mirrormask.models.transform import put_on

    def refused(says: str, model: str, **options: Any) -> None:
        with pytest.raises(MirrormaskError, match=says):
            export_model.export_model(model, tmp_path / options.pop("out", "out"), **{"to": "onnx", **options})

    refused("is a language model and no sentence encoder", str(tiny_folder))
    refused("must be one of onnx, openvino, onnx-int8, static. Got 'tflite'", str(saved("mean")), to="tflite")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "my.txt").write_text("mine", encoding="utf-8")
    refused("is not empty. Give another --out", str(saved("mean")), out="full")
    assert (tmp_path / "full" / "my.txt").read_text(encoding="utf-8") == "mine"
    flowing = tiny(pooling="mean")
    put_on(flowing, Flow(32), "flow")
    save_encoder(flowing, tmp_path / "flowing")
    refused("has a flow after its pooling, which no export can hold", str(tmp_path / "flowing"))
    refused("Give --corpus a file with 1,000 or more", str(saved("mean")), to="static")
    few = [f"text {number}" for number in range(300)]
    refused("at least 1,200 different texts, and the corpus has 300", str(saved("mean")), to="static", corpus=few)


def test_a_full_disk_leaves_nothing(
    saved: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(export_model.shutil, "copyfile", full)
    with pytest.raises(TrainingError, match="The disk is full"):
        export_model.export_model(str(saved("mean")), tmp_path / "out", to="onnx")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(("to", "package"), [("onnx", "onnxruntime"), ("openvino", "openvino")])
def test_a_missing_package_is_named(
    to: str, package: str, saved: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export_model.export_model(str(saved("mean")), tmp_path / "there", to=to)
    monkeypatch.setitem(sys.modules, package, None)
    for run in (
        lambda: export_model.export_model(str(saved("mean")), tmp_path / "out", to=to),
        lambda: load(tmp_path / "there"),
        lambda: encode_few(str(tmp_path / "there"), ["a text"]),
    ):
        with pytest.raises(MirrormaskError, match=rf'needs the package {package!r}. .* "mirrormask\[{to}\]"'):
            run()


def test_token_vectors_open_everywhere_and_rank_as_the_encoder_does(
    saved: Callable[[str], Path], sentences: list[str], texts: list[str], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    corpus = [f"{one} {other}" for one in sentences[:40] for other in sentences[40:80]]
    done = export_model.export_model(str(saved("mean")), out, to="static", corpus=corpus)
    assert done["check"]["agreement"] > 0.5
    expected = SentenceTransformer(str(out)).encode(texts, show_progress_bar=False)
    exported = load(out)
    assert backend_of(exported) == "static"
    for found in (
        by_loader(out, texts),
        encode_few(str(out), texts),
        encode_texts(exported, texts),
        exported.encode(texts, show_progress_bar=False),
    ):
        np.testing.assert_allclose(found, expected, atol=1e-5)
