"""`mirrormask pretrain`, driven as a user does."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.integration.forked import Forked

Cli = Callable[..., Any]
SMALL = ["--vocabulary", "160", "--layers", "1", "--width", "32", "--heads", "2", "--length", "16", "--held-out", "20"]


def test_from_text_to_a_model_to_an_encoder(cli: Cli, corpus_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "lm"
    ran = cli("pretrain", corpus_file, "--out", out, *SMALL, "--steps", "5", "--batch-size", "8", "--json")
    assert ran.code == 0, ran.err
    found = ran.json
    assert found["result"]["steps"] == 5
    assert 0 <= found["result"]["history"][-1]["accuracy"] <= 1
    base = ("train", corpus_file, "--model", out, "--steps", "2", "--batch-size", "8", "--json")
    encoder = cli(*base, "--out", tmp_path / "encoder")
    assert encoder.code == 0, encoder.err
    said = cli(
        "pretrain",
        corpus_file,
        "--out",
        tmp_path / "more",
        "--init",
        out,
        "--length",
        "16",
        "--steps",
        "3",
        "--held-out",
        "20",
    )
    assert said.code == 0, said.err
    assert "Held-out loss" in said.out
    assert "tokens/s" in said.out


def test_the_numbers_told_are_those_of_the_model_kept(cli: Cli, corpus_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "lm"
    bad = ["--steps", "6", "--batch-size", "8", "--evaluate-every", "1", "--learning-rate", "3"]
    ran = cli("pretrain", corpus_file, "--out", out, *SMALL, *bad)
    assert ran.code == 0, ran.err
    result = json.loads((out / "run.json").read_text())["result"]
    kept = next(row for row in result["history"] if row["step"] == result["best_step"])
    assert result["best_step"] < 6, "with such a rate the last is not the best"
    assert f"Held-out loss {kept['loss']:.3f}" in ran.out
    assert f"(checkpoint of step {result['best_step']} of 6)" in " ".join(ran.out.split())
    assert f"held-out loss {kept['loss']:.3f}" in ran.err


def test_wrong_values_are_one_sentence(cli: Cli, corpus_file: Path, tmp_path: Path) -> None:
    for arguments, sentence in [
        (["--width", "50", "--heads", "4"], "must be a multiple of its 'heads', 4. Got 50."),
        (["--mask-rate", "0"], "The 'mask_rate' of pretraining must be above 0. Got 0"),
        (["--steps", "3", "--minutes", "1"], "Give either 'minutes' or 'steps', not both."),
        (["--init", "no-such-model", "--steps", "1"], "no-such-model"),
    ]:
        ran = cli("pretrain", corpus_file, "--out", tmp_path / "run", *arguments)
        assert ran.code in (2, 4)
        assert sentence in " ".join(ran.err.split())
    assert cli("pretrain", tmp_path / "none.txt", "--out", tmp_path / "run").code == 3


def test_killed_and_resumed_is_bit_identical(cli: Cli, corpus_file: Path, tmp_path: Path) -> None:
    command = ["pretrain", str(corpus_file), *SMALL, "--steps", "200", "--batch-size", "8", "--evaluate-every", "25"]
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    assert cli(*command, "--out", whole).code == 0
    metrics = cut / "metrics.jsonl"
    process = Forked(tmp_path, "mirrormask", *command, "--out", str(cut))
    process.until(lambda: metrics.is_file() and metrics.read_text().count('"loss"') > 30)
    process.send_signal(signal.SIGKILL)
    assert process.ended()[0] == -signal.SIGKILL, "it was to be killed before its end"
    assert cli(*command, "--out", cut, "--resume").code == 0
    one, two = ((out / "model" / "model.safetensors").read_bytes() for out in (whole, cut))
    assert one == two


@pytest.mark.shared
def test_chinese_becomes_a_model_of_characters(cli: Cli, shared_data: Path, tmp_path: Path) -> None:
    corpus = shared_data / "corpus" / "zh-1.txt.bz2"
    options = ["--limit", "400", "--steps", "3", "--batch-size", "8", "--width", "32", "--heads", "2", "--layers", "1"]
    ran = cli("pretrain", corpus, "--out", tmp_path / "zh", "--vocabulary", "2048", *options, "--json")
    assert ran.code == 0, ran.err
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "zh" / "model")
    assert tokenizer.tokenize("我们在这里") == ["我", "们", "在", "这", "里"]
