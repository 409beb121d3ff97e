"""Text that the tokenizer does not know is said once by every command that reads text with a model."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]

WHO, WHAT, WHERE = (
    ["老人", "孩子", "司机", "医生"],
    ["看书", "吃面", "唱歌", "画画"],
    ["在家里", "在河边", "在学校", "在车上"],
)


@pytest.fixture(scope="session")
def chinese(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sentences, and pairs of them with a score."""
    folder = tmp_path_factory.mktemp("chinese")
    sentences = [f"{who}{where}{what} cat" for who, where, what in itertools.product(WHO, WHERE, WHAT)]
    (folder / "text.txt").write_text("\n".join(sentences), encoding="utf-8")
    rows = [f"{one},{two},{len(set(one) & set(two))}" for one, two in itertools.pairwise(sentences)]
    (folder / "pairs.csv").write_text("\n".join(["sentence1,sentence2,score", *rows]), encoding="utf-8")
    return folder


def commands(chinese: Path, model: Path, out: Path) -> dict[str, list[Any]]:
    text, few = chinese / "text.txt", ["--steps", "1", "--batch-size", "8"]
    short = ["--length", "16", "--held-out", "5"]
    return {
        "similarity": ["similarity", "老人看书", "孩子唱歌", "--model", model],
        "encode": ["encode", text, "--model", model, "--out", out.with_suffix(".npy")],
        "train": ["train", text, "--model", model, "--out", out, *few],
        "evaluate": ["evaluate", model, "--data", chinese / "pairs.csv", "--resamples", "9", "--no-geometry"],
        "init": ["pretrain", text, "--init", model, "--out", out, *few, *short],
        "tokenizer": ["pretrain", text, "--tokenizer", model, "--out", out, *few, *short],
        "probe": ["probe", "老人 看书", "--model", model, "--units", "spaces"],
    }


@pytest.mark.parametrize("verb", ["similarity", "encode", "train", "evaluate", "init", "tokenizer", "probe"])
def test_a_language_that_the_model_does_not_read(
    verb: str, cli: Cli, chinese: Path, tiny_folder: Path, tmp_path: Path
) -> None:
    said = cli(*commands(chinese, tiny_folder, tmp_path / "one")[verb])
    assert said.code == 0, said
    assert said.err.count("Warning: ") == 1
    assert re.search(r"(88|100)% of the tokens are unknown to the tokenizer of tiny, ", said.err)
    assert "such as mini-zh." in said.err
    listed = cli(*commands(chinese, tiny_folder, tmp_path / "two")[verb], "--json")
    assert (listed.code, listed.err) == (0, "")
    (warning,) = listed.json["warnings"]
    assert warning in said.err


def test_a_language_that_it_reads(cli: Cli, chinese: Path) -> None:
    ran = cli("similarity", "老人看书", "孩子唱歌", "--model", "mini-zh", "--json")
    assert ran.code == 0
    assert "warnings" not in ran.json


def test_the_quick_way_counts_too(cli: Cli) -> None:
    ran = cli("similarity", "股票大跌", "房间很整洁")
    assert ran.code == 0
    assert "unknown to the tokenizer of mini-sentence" in ran.err
    assert cli("similarity", "股票大跌", "房间很整洁", "--quiet").err == ""


def test_nothing_can_be_pretrained_on_what_is_all_unknown(cli: Cli, tiny_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("\n".join(a + b for a in WHERE for b in WHAT), encoding="utf-8")
    arguments = ["--init", tiny_folder, "--length", "16", "--held-out", "5", "--out", tmp_path / "out"]
    ran = cli("pretrain", tmp_path / "text.txt", *arguments)
    assert ran.code == 3
    assert "Error: Every token of the text is unknown to the tokenizer" in ran.err
