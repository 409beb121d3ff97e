"""The benchmarks that compare training run from end to end at a small size, and their last line is what they found."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pairing_cost
import pytest
import timed_training
import train_speed

from mirrormask.data.batching import Batches

SIZE = ["--shape", "tiny", "--batch-size", "4", "--max-length", "12", "--steps", "2", "--warm", "1", "--rounds", "1"]


def figures(
    module: Any, options: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Any:
    monkeypatch.setattr(sys, "argv", ["benchmark", *SIZE, *options])
    module.main()
    return json.loads(capsys.readouterr().out.splitlines()[-1])


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    path = tmp_path / "text.txt"
    path.write_text(
        "\n".join(f"The boat number {i} crossed the wide river {7 * i} times in spring." for i in range(90))
    )
    return str(path)


@pytest.mark.parametrize("peer", ["loop", "trainer"])
def test_training_is_compared_with_each_peer(
    peer: str, corpus: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if peer == "trainer":
        pytest.importorskip("datasets")
    found = figures(train_speed, ["--corpus", corpus, "--peer", peer], monkeypatch, capsys)
    rates = found["sentences_per_second"]
    assert found["name"] == "train_speed"
    assert set(rates) >= {"peer", "ours"}
    assert ("loop" in rates) == (peer == "trainer"), "the loop stands beside the trainer"
    assert min(rates.values()) > 0
    assert found["ratio"] == found["ratios"]["peer"] == pytest.approx(rates["ours"] / rates["peer"], rel=0.01)


def test_without_datasets_the_loop_is_the_peer(
    corpus: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(train_speed, "importlib", SimpleNamespace(util=SimpleNamespace(find_spec=lambda _: None)))
    assert figures(train_speed, ["--corpus", corpus], monkeypatch, capsys)["peer"] == "eager loop"


def test_the_loop_trains_on_every_text_twice_and_padded(corpus: str, tmp_path: Path) -> None:
    from mirrormask.models.encoder import build_encoder

    encoder = build_encoder(timed_training.random_model(tmp_path / "random", "tiny", "mini"), pooling="mean")
    texts = ["A boat.", "The boat crossed the wide river in the early spring of that year."]
    (batch,) = train_speed.padded_batches(encoder, texts, 2, 10, 1, 1)
    ids, mask = batch["input_ids"], batch["attention_mask"]
    assert ids.shape == mask.shape == (4, 10)
    assert ids[:2].tolist() == ids[2:].tolist()
    assert sorted(mask.sum(dim=1).tolist()) == [5, 5, 10, 10]


def test_ratios_compare_like_with_like() -> None:
    rates = {"ours": 8.0, "peer": 4.0, "loop": 2.0, "ours_float32": 3.0, "peer_float32": 1.0}
    assert train_speed.ratios(rates) == {"peer": 2.0, "loop": 4.0, "float32": 3.0, "defaults": 8.0}


def test_drawn_pairs_are_compared_with_the_texts_themselves(
    corpus: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = figures(pairing_cost, ["--corpus", corpus, "--pairings", "keywords,crops"], monkeypatch, capsys)
    assert set(found["updates_per_second"]) == set(found["batches_per_second"]) == {"self", "keywords", "crops"}
    rates = found["updates_per_second"]
    assert found["ratio"] == found["ratios"]["keywords"] == pytest.approx(rates["self"] / rates["keywords"], rel=0.01)


def test_updates_are_timed_after_the_warm_ones(corpus: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that ticks once a look: two looks, whatever is trained in between."""
    looks = iter([100.0, 104.0])
    monkeypatch.setattr(timed_training, "time", SimpleNamespace(perf_counter=lambda: next(looks)))
    before = Batches.stream
    texts = Path(corpus).read_text().splitlines()
    model = timed_training.random_model(tmp_path / "random", "tiny", "mini")
    assert timed_training.updates_per_second(model, texts, steps=3, warm=1, batch_size=4, max_length=12) == 0.75
    assert Batches.stream is before
