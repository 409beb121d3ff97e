from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mirrormask.core.errors import MirrormaskError
from mirrormask.data.text.sources import DatasetMissing
from mirrormask.evaluation.evaluate import evaluate

Write = Callable[[str, list[dict[str, Any]]], None]
Pairs = Callable[..., list[dict[str, Any]]]
Encoder = Callable[[Sequence[str]], NDArray[np.float32]]


@pytest.fixture
def questions(tmp_path: Path, pairs: Pairs) -> Path:
    path = tmp_path / "faq.csv"
    rows = [f"{row['sentence1']},{row['sentence1']} {number}" for number, row in enumerate(pairs(60, seed=3))]
    path.write_text("\n".join(["query,document", *rows]) + "\n")
    return path


def test_two_models_on_benchmarks_and_own_data(
    sts_root: Write, pairs: Pairs, words: Encoder, noise: Encoder, questions: Path, tmp_path: Path
) -> None:
    sts_root("sts12", pairs(60, seed=0, subsets=["x", "y"]))
    sts_root("stsb", pairs(60, seed=1))
    found = evaluate(
        [noise, words], tasks=["sts12", "sts13", "stsb"], data=questions, names=["noise", "words"], resamples=100
    )
    assert len(found.verdict()) == 3
    assert found.verdict()[0].startswith("words is better than noise by")
    assert "average over 2 of 3 tasks (STS12, STS-B)" in found.verdict()[1]
    assert found.verdict()[2] == "Not measured, because their data was not found: STS13."
    content = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert list(content) == [
        "schema", "version", "models", "verdict", "sts", "own", "retrieval", "suites", "geometry", "seed", "resamples"
    ]  # fmt: skip
    assert content["geometry"]["on"] == "faq.csv"
    assert len(found.tables()) == 5
    found.save_html(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("<figure>") == 4
    assert found.verdict()[0] in page


def test_one_model_by_default_on_the_suite(sts_root: Write, pairs: Pairs, words: Encoder) -> None:
    sts_root("stsb", pairs(60, seed=1))
    found = evaluate([words], names=["words"], resamples=50)
    assert found.own is None
    assert found.sts is not None and len(found.sts.skipped) == 6
    assert found.verdict()[0].startswith("words scores ")
    assert found.verdict()[0].endswith(" in Spearman (all) on STS-B."), "one task is no average"
    assert "Not measured, because their data was not found: STS12" in found.verdict()[1]
    assert found.geometry is not None and found.geometry.on == "STS-B (test)"
    page = found.html()
    assert page.count("<figure>") == 4  # bars, plane, density, spectrum
    assert "asterisk" not in page


def test_own_data_alone_asks_for_no_benchmark(words: Encoder, questions: Path) -> None:
    found = evaluate([words], data=questions, resamples=20, geometry=False)
    assert found.sts is None
    assert found.geometry is None
    assert found.to_dict()["sts"] is None
    assert found.verdict()[0].startswith("model 1 scores")
    assert len(found.tables()) == 1


def test_labels_make_a_page_without_a_plane(tmp_path: Path, words: Encoder, pairs: Pairs) -> None:
    path = tmp_path / "labels.jsonl"
    rows = [{"text": f"{row['sentence1']} {n}", "label": n % 2} for n, row in enumerate(pairs(30, seed=0))]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = evaluate([words], data=path, resamples=20)
    assert found.html().count("<figure>") == 2


def test_each_text_is_encoded_once(sts_root: Write, pairs: Pairs, words: Encoder, questions: Path) -> None:
    sts_root("stsb", pairs(60, seed=3))
    seen: list[str] = []

    def recording(texts: Sequence[str]) -> NDArray[np.float32]:
        seen.extend(texts)
        return words(texts)

    evaluate([recording], tasks=["stsb"], data=questions, resamples=5)
    assert len(seen) == len(set(seen))


def test_the_same_seed_gives_the_same_report(words: Encoder, questions: Path) -> None:
    first, again = (evaluate([words], data=questions, resamples=20, seed=7).to_dict() for _ in range(2))
    assert first == again


def test_nothing_to_measure_on_says_what_to_do(sts_root: Write, words: Encoder) -> None:
    with pytest.raises(DatasetMissing) as caught:
        evaluate([words])
    message = str(caught.value)
    assert message.startswith("No data was found for sts12, sts13,")
    assert "Set MIRRORMASK_DATA to a folder" in message
    assert message.endswith("Or evaluate on a file of your own with --data FILE.")
    with pytest.raises(MirrormaskError, match="nothing to evaluate on"):
        evaluate([words], tasks=[])


def test_no_model_is_an_error() -> None:
    with pytest.raises(MirrormaskError, match=r"at least one model. Got none."):
        evaluate([])
