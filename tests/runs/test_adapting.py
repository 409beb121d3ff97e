from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

import mirrormask
from mirrormask.data.text.corpus import build_corpus
from mirrormask.evaluation.selection import Judge
from mirrormask.models.encoder import build_encoder, load, save_encoder
from mirrormask.runs.adapting import FEWEST, Adapting, method_for, texts_aside, weight_beside
from mirrormask.runs.folder import RunResult
from mirrormask.runs.runner import Reporter
from mirrormask.training.loop import Result

STRONG, LONG = {"weight": 5.0}, {"steps": 25, "batch_size": 16, "learning_rate": 4e-3}


class Listening(Reporter):
    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)


@pytest.fixture(scope="session")
def start(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sentence encoder made of the tiny masked LM."""
    folder = tmp_path_factory.mktemp("starts") / "encoder"
    save_encoder(build_encoder(tiny_folder, pooling="mean", device="cpu"), folder)
    return folder


@pytest.fixture(scope="session")
def texts(sentences: list[str]) -> list[str]:
    return [" ".join(sentences[i : i + 3]) for i in range(0, 300, 3)]


def adapt(start: Path, texts: list[str], out: Path, **options: Any) -> RunResult:
    training = {"steps": 3, "batch_size": 8, "precision": "fp32", **options.pop("training", {})}
    return mirrormask.train(texts, out=out, model=start, training=training, **options)


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return {name: value.cpu() for name, value in load(folder, device="cpu").state_dict().items()}


def test_a_sentence_encoder_is_adapted_unless_something_else_is_asked_for(start: Path, tiny_folder: Path) -> None:
    assert method_for(str(start)) == "adaptation"
    assert method_for(str(tiny_folder)) == "keyword-passages"
    assert method_for(str(start), method="simcse-unsup") == "simcse-unsup"
    assert method_for(str(start), pairing="crops") == "keyword-passages"
    assert method_for(str(start), pooling="cls") == "keyword-passages"


def test_words_have_more_weight_where_the_start_is_behind_them() -> None:
    found = [weight_beside(ratio) for ratio in (3.0, 1.0, 0.8, 0.6, 0.1, 0.0)]
    assert found == sorted(found)
    assert (found[0], found[-1]) == (0.2, 0.8)


def test_some_texts_are_set_aside_even_of_few() -> None:
    assert [texts_aside(n) for n in (19, 20, 60, 125, 1400, 100_000)] == [0, 10, 20, 25, 200, 200]


def test_a_run_says_what_it_kept_and_why(start: Path, texts: list[str], tmp_path: Path) -> None:
    heard = Listening()
    done = adapt(start, texts, tmp_path / "run", reporter=heard)
    found = done.record["adaptation"]
    assert done.record["recipe"]["method"]["name"] == "adaptation"
    assert any("adapted to the text and not taught anew" in text for text in heard.said)
    assert found["candidates"][0]["share"] == 0, "the start is always among them"
    assert len(found["candidates"]) == 3
    assert found["reason"].startswith("Kept ")
    assert found["weight"] == done.record["parts"]["objective"]["weight"]
    assert SentenceTransformer(str(done.model), device="cpu").encode(["a boat"]).shape == (1, 32)
    kept_start = found["kept"] == 0
    assert done.record["result"]["kept_start"] is kept_start
    before, after = weights(start), weights(done.model)
    assert all(torch.equal(before[name], after[name]) for name in before) is kept_start


def test_the_best_by_the_judge_is_kept(start: Path, texts: list[str], tmp_path: Path) -> None:
    """The dev set asks for what the start does not know: an end that has learned it wins."""
    lines = [f"{text.split('. ')[0]}\t{text}" for text in texts[:30]]
    dev = tmp_path / "dev.tsv"
    dev.write_text("query\tdocument\n" + "\n".join(lines))
    done = adapt(start, texts, tmp_path / "run", dev=dev, parameters=STRONG, training=LONG)
    found = done.record["adaptation"]
    assert done.record["selection"]["by"] == f"nDCG@10 on {dev}"
    best = max(found["candidates"], key=lambda each: each["score"])
    assert best["score"] > found["candidates"][0]["score"], "the encoder has random weights"
    assert found["kept"] == best["share"] > 0
    before, after = weights(start), weights(done.model)
    assert any(not torch.equal(before[name], after[name]) for name in before)


@pytest.mark.parametrize(("gain", "kept"), [(5.0, 0.6), (-5.0, 0.0), (0.0, 0.0)])
def test_the_start_stays_where_nothing_is_better(
    start: Path, texts: list[str], tmp_path: Path, gain: float, kept: float
) -> None:
    encoder = load(start, device="cpu")
    adapting = Adapting(encoder, build_corpus(texts, tmp_path / "corpus"), np.arange(20), "", 1)
    name, weight = next((name, p) for name, p in encoder.named_parameters() if "dense" in name)
    original = weight.detach().clone()
    noise = np.random.default_rng(0).normal(size=100)

    def scores() -> np.ndarray[Any, Any]:
        moved = float((weight.detach() - original).mean())  # 0.6 at the farthest candidate
        return 50 + noise + gain * moved

    adapting.judge = Judge("a judge", "", scores)
    adapting.follow(encoder, (0.3, 0.6))
    with torch.no_grad():
        weight.add_(1.0)
    result = adapting.choose(Result(7, 7, None, [], 0.0, stopped_early=False))
    assert adapting.kept.share == kept
    assert torch.allclose(weight.detach(), original + kept), name
    assert (result.best_step, result.kept_start) == ((7, False) if kept else (0, True))
    assert ("your start as it is" in adapting.record()["reason"]) is (kept == 0)


@pytest.mark.parametrize("liked", [True, False])
def test_rare_words_count_more_in_what_is_kept_unless_the_judge_likes_it_less(
    start: Path, texts: list[str], tmp_path: Path, liked: bool
) -> None:
    encoder = load(start, device="cpu")
    adapting = Adapting(encoder, build_corpus(texts, tmp_path / "corpus"), np.arange(20), "", 1)
    plain = list(encoder)

    def scores() -> np.ndarray[Any, Any]:
        weighed = len(list(encoder)) > len(plain)
        return np.arange(20) + 100.0 * moved(encoder, start) + (10.0 if liked else -10.0) * weighed

    adapting.judge = Judge("a judge", "", scores)
    adapting.follow(encoder, (1.0,))
    with torch.no_grad():
        next(encoder.parameters()).add_(0.01)
    adapting.choose(Result(1, 1, None, [], 0.0, stopped_early=False))
    found = adapting.record()
    assert (found["kept"], found["tokens"]) == (1.0, "idf" if liked else "equal")
    assert ("Rare words" in found["reason"]) is liked
    save_encoder(encoder, tmp_path / "kept")
    opened = SentenceTransformer(str(tmp_path / "kept"), device="cpu")  # needs nothing of ours
    kinds = [type(module).__name__ for module in opened]
    assert kinds == (["Transformer", "WordWeights", "Pooling"] if liked else ["Transformer", "Pooling"])
    np.testing.assert_allclose(opened.encode(texts[:5]), encoder.encode(texts[:5]), atol=1e-6)
    if liked:
        bare = SentenceTransformer(modules=plain, device="cpu")
        assert np.abs(opened.encode(texts[:5]) - bare.encode(texts[:5])).max() > 1e-3
        again = adapt(tmp_path / "kept", texts, tmp_path / "again")  # it can be adapted too, and is not weighed twice
        assert len(load(again.model, device="cpu")) == 3


def moved(encoder: Any, start: Path) -> bool:
    """Say whether an encoder's first weights are others than its start's."""
    return not torch.equal(next(encoder.parameters()), next(load(start, device="cpu").parameters()))


def test_a_gain_within_chance_keeps_the_start(start: Path, texts: list[str], tmp_path: Path) -> None:
    encoder = load(start, device="cpu")
    adapting = Adapting(encoder, build_corpus(texts, tmp_path / "corpus"), np.arange(20), "", 1)
    draws = np.random.default_rng(3)
    adapting.judge = Judge("a judge", "", lambda: draws.normal(50.0, 30.0, size=30))
    adapting.follow(encoder, (0.3, 0.6))
    adapting.choose(Result(7, 7, None, [], 0.0, stopped_early=False))
    best = max(adapting.candidates[1:], key=lambda each: each.score)
    assert (adapting.kept.share > 0) is (best.score - adapting.candidates[0].score > best.error)


def test_too_little_text_keeps_the_start_and_trains_nothing(start: Path, texts: list[str], tmp_path: Path) -> None:
    heard = Listening()
    done = adapt(start, texts[: 2 * FEWEST - 1], tmp_path / "run", reporter=heard)
    assert done.record["result"]["steps"] == 0
    assert "too little text" in done.record["adaptation"]["reason"]
    assert any("Too little text to tell" in text for text in heard.said)
    before, after = weights(start), weights(done.model)
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_what_is_asked_for_wins_over_what_suits_the_start(start: Path, texts: list[str], tmp_path: Path) -> None:
    done = adapt(
        start, texts, tmp_path / "run", parameters={"weight": 0.5}, training={"learning_rate": 1e-4, "max_length": 24}
    )
    assert done.record["parts"]["objective"]["weight"] == 0.5
    assert done.record["settings"]["learning_rate"] == 1e-4
    assert done.record["settings"]["max_length"] == 24
    other = adapt(start, texts, tmp_path / "other")
    assert other.record["settings"]["max_length"] == 64, "all that this model reads"


def test_same_seed_same_encoder(start: Path, texts: list[str], tmp_path: Path) -> None:
    one, other = (adapt(start, texts, tmp_path / name, seed=3) for name in ("one", "other"))
    assert one.record["adaptation"] == other.record["adaptation"]
    left, right = weights(one.model), weights(other.model)
    assert all(torch.equal(left[name], right[name]) for name in left)


def test_the_judge_sees_texts_that_training_does_not(
    start: Path, texts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mirrormask.data.pairs import crops
    from mirrormask.runs import runner

    drawn: set[int] = set()
    aside: list[int] = []
    columns: Callable[..., Any] = crops.TwoOfEach.columns

    def noted(self: Any, examples: Any, seed: int) -> Any:
        drawn.update(examples.tolist())
        return columns(self, examples, seed)

    class Noted(Adapting):
        def __init__(self, encoder: Any, corpus: Any, rows: Any, dev: str, seed: int) -> None:
            aside.extend(rows.tolist())
            super().__init__(encoder, corpus, rows, dev, seed)

    monkeypatch.setattr(crops.TwoOfEach, "columns", noted)
    monkeypatch.setattr(runner, "Adapting", Noted)
    adapt(start, texts, tmp_path / "run", training={"steps": 10})
    assert len(aside) == 20
    assert not drawn & set(aside)
    assert len(drawn) == 80
