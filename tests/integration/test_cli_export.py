from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Cli = Callable[..., Any]


@pytest.fixture(scope="module")
def encoder(made_once: Callable[..., Path], tiny_of_options: Callable[..., Any]) -> Path:
    from mirrormask.models.encoder import save_encoder

    return made_once("tiny-to-export", lambda folder: save_encoder(tiny_of_options(pooling="mean"), folder))


@pytest.fixture
def my_texts(sentences: list[str], tmp_path: Path) -> Path:
    path = tmp_path / "my.txt"
    path.write_text(
        "\n".join(f"{one} {other}" for one in sentences[:40] for other in sentences[40:71]), encoding="utf-8"
    )
    return path


@pytest.mark.parametrize("to", ["onnx", "static"])
def test_an_export_is_a_model_for_every_command_that_reads_one(
    cli: Cli, encoder: Path, my_texts: Path, tmp_path: Path, to: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MIRRORMASK_DATA", raising=False)
    light = tmp_path / "light"
    done = cli("export", encoder, "--to", to, "--out", light, *(("--corpus", my_texts) if to == "static" else ()))
    assert done.code == 0, done.err
    assert "MB" in done.out
    assert ("Cosine with the original 1.0" if to == "onnx" else "ranked as by the original") in done.out
    few = tmp_path / "few.txt"
    lines = my_texts.read_text(encoding="utf-8").splitlines()[:60]
    few.write_text("\n".join(lines), encoding="utf-8")
    told = cli("encode", few, "--model", light, "--out", tmp_path / "v.npy", "--json").json
    assert told["backend"] == to
    assert np.linalg.norm(np.load(tmp_path / "v.npy"), axis=1) == pytest.approx(1, abs=1e-4)
    assert cli("index", few, "--model", light, "--out", tmp_path / "index", "--json").json["backend"] == to
    assert lines[7] in cli("search", tmp_path / "index", lines[7], "--mode", "vectors", "--top", "1", "--json").out
    assert cli("similarity", "the gray cat", "the gray cat", "--model", light).out.startswith("1.0000")
    pairs = tmp_path / "pairs.csv"
    rows = [f"{lines[place]},{lines[place + 1]},{place % 5}" for place in range(30)]
    pairs.write_text("\n".join(["sentence1,sentence2,score", *rows]), encoding="utf-8")
    assert cli("evaluate", encoder, light, "--data", pairs, "--resamples", "200", "--json").code == 0
    about = cli("info", light)
    assert f"{to}, fp32" in about.out
    refused = cli("train", few, "--model", light, "--out", tmp_path / "trained")
    assert refused.code == 4
    assert "was exported: it encodes texts and can be neither trained nor probed" in " ".join(refused.err.split())
    assert cli("probe", "the gray cat", "--model", light).code == 4


def test_bad_input_is_one_sentence(cli: Cli, encoder: Path, tiny_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine", encoding="utf-8")
    for says, code, *arguments in (
        ("is a language model and no sentence encoder", 4, tiny_folder, "--to", "onnx", "--out", tmp_path / "a"),
        ("must be one of onnx, openvino, onnx-int8, static", 2, encoder, "--to", "tflite", "--out", tmp_path / "a"),
        ("Give --corpus", 2, encoder, "--to", "static", "--out", tmp_path / "a"),
        ("is not empty", 2, encoder, "--to", "onnx", "--out", tmp_path / "full"),
    ):
        done = cli("export", *arguments)
        assert done.code == code, done.err
        assert says in " ".join(done.err.split())
        assert done.err.count("\n") <= 6
    assert [path.name for path in tmp_path.rglob("*")] == ["full", "mine.txt"]
