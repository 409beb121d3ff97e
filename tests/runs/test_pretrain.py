from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from mirrormask.core.errors import MirrormaskError, ModelError
from mirrormask.models.encoder import load
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.pretraining.plan import Plan
from mirrormask.runs.pretrain import pretrain
from mirrormask.training.loop import Reporter, Score

TINY = Plan(vocabulary=160, layers=2, width=48, heads=2, positions=32, length=16, dropout=0.0, held_out=20)


def run(sentences: list[str], out: Path, *, plan: Plan = TINY, **options: Any) -> Any:
    training = {"steps": 6, "batch_size": 8, "precision": "fp32", **options.pop("training", {})}
    return pretrain(sentences, out=out, plan=plan, training=training, **options)


def test_the_result_is_a_plain_hugging_face_folder(sentences: list[str], tmp_path: Path) -> None:
    from transformers import pipeline

    done = run(sentences, tmp_path / "run", half=True)
    assert {file.name for file in done.model.iterdir()} == {
        "README.md",
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    weights = load_file(done.model / "model.safetensors")
    assert {tensor.dtype for tensor in weights.values()} == {torch.float16}
    guesses = pipeline("fill-mask", model=str(done.model), device="cpu")("the old [MASK] paints a wooden boat.")
    assert len(guesses) == 5
    assert load(tmp_path / "run").encode(["the old baker"]).shape == (1, 48)
    assert MaskedLM.load(done.model).model.config.hidden_dropout_prob == 0.1, "for whoever trains it on"
    record = done.record
    assert record["tokens_seen"] == 6 * 8 * 16
    assert record["data"]["held_out_tokens"] > 0
    assert record["speed"]["tokens_per_second"] > 0
    assert "held-out accuracy" in (done.model / "README.md").read_text(encoding="utf-8")
    assert not (tmp_path / "run" / "work").exists()
    assert len(np.load(tmp_path / "run" / "held-out.npy")) == record["data"]["held_out_tokens"]


def test_a_tiny_text_is_memorized(tmp_path: Path) -> None:
    texts = ["one two three four five six seven eight nine ten eleven twelve"] * 40
    seen: list[float] = []

    class Watch(Reporter):
        def step(self, step: int, metrics: dict[str, float]) -> None:
            seen.append(metrics["loss"])

    plan = Plan(vocabulary=200, layers=2, width=64, heads=2, positions=32, length=16, dropout=0.0, held_out=20)
    pretrain(
        texts,
        out=tmp_path / "run",
        plan=plan,
        data={"deduplicate": False},
        training={"steps": 220, "batch_size": 32, "learning_rate": 2e-3, "precision": "fp32", "evaluate_every": 220},
        reporter=Watch(),
    )
    assert seen[0] > 3.5
    assert sum(seen[-10:]) / 10 < 0.5


class Killed(Exception):
    pass


class KillAt(Reporter):
    def __init__(self, step: int) -> None:
        self.at = step

    def step(self, step: int, metrics: dict[str, float]) -> None:
        if step == self.at:
            raise Killed


@pytest.mark.parametrize("plan", [TINY, Plan(**{**TINY.__dict__, "bag": 0.5, "neighbors": 0.5, "dropout": 0.1})])
def test_a_killed_run_resumes_to_the_same_weights(plan: Plan, sentences: list[str], tmp_path: Path) -> None:
    every = {"checkpoint_every": 2, "evaluate_every": 3, "average": 0.5}
    whole = run(sentences, tmp_path / "whole", plan=plan, training=every)
    with pytest.raises(Killed):
        run(sentences, tmp_path / "cut", plan=plan, training=every, reporter=KillAt(5))
    again = run(sentences, tmp_path / "cut", plan=plan, training=every, resume=True)
    one, two = (load_file(each.model / "model.safetensors") for each in (whole, again))
    assert one.keys() == two.keys()
    assert all(torch.equal(one[name], two[name]) for name in one)


def test_the_same_seed_gives_the_same_model(sentences: list[str], tmp_path: Path) -> None:
    names = ("one", "two", "other")
    seeds = (1, 1, 2)
    found = [
        load_file(run(sentences, tmp_path / name, seed=seed).model / "model.safetensors")
        for name, seed in zip(names, seeds, strict=True)
    ]
    key = "bert.encoder.layer.0.attention.self.query.weight"
    assert torch.equal(found[0][key], found[1][key])
    assert not torch.equal(found[0][key], found[2][key])


def test_a_model_can_be_continued(sentences: list[str], tiny_folder: Path, tmp_path: Path) -> None:
    plan = Plan(init=str(tiny_folder), length=16, held_out=20)
    done = run(sentences, tmp_path / "run", plan=plan, training={"learning_rate": 1e-2, "steps": 30})
    history = done.record["result"]["history"]
    assert history[-1]["loss"] < history[0]["loss"] - 0.5
    before, after = MaskedLM.load(tiny_folder), MaskedLM.load(done.model)
    assert after.tokenizer.get_vocab() == before.tokenizer.get_vocab()
    assert after.layers == before.layers
    assert "layers" not in done.record["plan"], "the model's own, not the plan's"


def test_what_is_wrong_is_said_before_the_text_is_read(tmp_path: Path) -> None:
    def texts() -> Iterator[str]:
        pytest.fail("the text was read")
        yield ""

    with pytest.raises(ModelError, match="is no model"):
        pretrain(texts(), out=tmp_path / "run", plan=Plan(init=str(tmp_path)))
    with pytest.raises(MirrormaskError, match="'trackers' of training must be one of"):
        pretrain(texts(), out=tmp_path / "run", training={"trackers": ("none-such",)})


@pytest.mark.parametrize("kind", ["roberta", "distilbert"])
def test_other_architectures_can_be_continued(
    kind: str, sentences: list[str], tiny_of_kind: Any, tmp_path: Path
) -> None:
    plan = Plan(init=str(tiny_of_kind(kind)), length=16, held_out=20, bag=0.1)
    done = run(sentences, tmp_path / "run", plan=plan)
    assert MaskedLM.load(done.model).model.config.model_type == kind


def test_minutes_become_steps_that_a_resume_keeps(sentences: list[str], tmp_path: Path) -> None:
    said: list[str] = []

    class Watch(KillAt):
        def say(self, text: str) -> None:
            said.append(text)

    options: dict[str, Any] = {"minutes": 0.05, "training": {"steps": 0, "checkpoint_every": 1}}
    with pytest.raises(Killed):
        run(sentences, tmp_path / "run", reporter=Watch(1), **options)
    assert any("0.05 minutes make about" in line for line in said)
    planned = int(next(line for line in said if " steps of 8 rows" in line).split()[0].replace(",", ""))
    done = run(sentences, tmp_path / "run", resume=True, **options)
    assert done.record["result"]["steps"] == planned
    with pytest.raises(MirrormaskError, match="either 'minutes' or 'steps'"):
        run(sentences, tmp_path / "both", minutes=1.0)
    with pytest.raises(MirrormaskError, match="either 'minutes' or 'epochs'"):
        run(sentences, tmp_path / "both", minutes=1.0, training={"steps": 0, "epochs": 2.0})


def test_a_resume_with_other_text_is_refused(sentences: list[str], tmp_path: Path) -> None:
    one, other = tmp_path / "one.txt", tmp_path / "other.txt"
    one.write_text("\n".join(sentences), encoding="utf-8")
    other.write_text("\n".join(reversed(sentences)), encoding="utf-8")
    options: dict[str, Any] = {"out": tmp_path / "run", "plan": TINY, "training": {"steps": 6, "checkpoint_every": 1}}
    with pytest.raises(Killed):
        pretrain(one, **options, reporter=KillAt(3))
    with pytest.raises(MirrormaskError, match=r"other text or otherwise \(corpus: .*one\.txt.*, now .*other\.txt"):
        pretrain(other, **options, resume=True)
    with pytest.raises(MirrormaskError, match=r"min_words: None, now 3"):
        pretrain(one, **options, data={"min_words": 3}, resume=True)
    assert pretrain(one, **options, resume=True).record["result"]["steps"] == 6


def test_what_a_failed_start_left_is_not_used_again(sentences: list[str], tmp_path: Path) -> None:
    with pytest.raises(Killed):  # before the first checkpoint
        run(sentences, tmp_path / "run", reporter=KillAt(1), training={"checkpoint_every": 5})
    assert (tmp_path / "run" / "work" / "text-0" / "text.json").is_file()
    shutil.rmtree(tmp_path / "run" / "checkpoint", ignore_errors=True)
    smaller = Plan(**{**TINY.__dict__, "vocabulary": 120})
    done = run(sentences[:60], tmp_path / "run", plan=smaller)
    assert done.record["data"]["texts"] == len(set(sentences[:60]))
    assert len(MaskedLM.load(done.model).tokenizer) == 120


def test_accumulated_batches_count(sentences: list[str], tmp_path: Path) -> None:
    said: list[str] = []
    heard: list[dict[str, float]] = []

    class Watch(Reporter):
        def say(self, text: str) -> None:
            said.append(text)

        def step(self, step: int, metrics: dict[str, float]) -> None:
            heard.append(metrics)

    run(sentences, tmp_path / "run", reporter=Watch(), training={"accumulation": 3, "steps": 2})
    assert any(line.startswith("2 steps of 24 rows of 16 tokens") for line in said)
    assert all(row["tokens_per_second"] == pytest.approx(row["steps_per_second"] * 3 * 8 * 16) for row in heard)


def test_the_reporter_hears_tokens_per_second(sentences: list[str], tmp_path: Path) -> None:
    heard: list[dict[str, float]] = []
    scores: list[Score] = []

    class Watch(Reporter):
        def step(self, step: int, metrics: dict[str, float]) -> None:
            heard.append(metrics)

        def evaluated(self, step: int, score: Score, best: bool) -> None:
            scores.append(score)

    run(sentences, tmp_path / "run", reporter=Watch())
    assert all(row["tokens_per_second"] > 0 and row["utilization"] > 0 for row in heard)
    assert 0 <= scores[-1].details["accuracy"] <= 1


def test_too_long_rows_for_a_model_are_refused(sentences: list[str], tiny_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(MirrormaskError, match="'length' of pretraining must be at most 64"):
        run(sentences, tmp_path / "run", plan=Plan(init=str(tiny_folder), length=128))


def test_too_little_text_is_said(tmp_path: Path) -> None:
    with pytest.raises(MirrormaskError, match="tokens, and one row takes 14"):
        run(["a b", "c d"], tmp_path / "run")


def test_a_given_tokenizer_is_used(sentences: list[str], tiny_folder: Path, tmp_path: Path) -> None:
    plan = Plan(**{**TINY.__dict__, "tokenizer": str(tiny_folder)})
    done = run(sentences, tmp_path / "run", plan=plan)
    lm = MaskedLM.load(done.model)
    assert lm.tokenizer.get_vocab() == MaskedLM.load(tiny_folder).tokenizer.get_vocab()
    assert lm.layers == 2, "with weights of its own"
    with pytest.raises(MirrormaskError, match="'init' or 'tokenizer', not both"):
        Plan(init="mini", tokenizer="mini")


def test_a_model_that_is_continued_keeps_its_shape() -> None:
    with pytest.raises(MirrormaskError, match="keeps its tokenizer and shape: leave out 'layers', 'width', or 'init'"):
        Plan(init="mini", layers=3, width=128)
    assert Plan(init="a-long-one", length=1024).length == 1024, "how long it may be is for the model to say"
    with pytest.raises(
        MirrormaskError, match="'positions' of pretraining must be at least its 'length', 1024. Got 512"
    ):
        Plan(length=1024)


def test_a_continued_model_learns_more_gently(sentences: list[str], tiny_folder: Path, tmp_path: Path) -> None:
    done = run(sentences, tmp_path / "more", plan=Plan(init=str(tiny_folder), length=16, held_out=20))
    assert done.record["settings"]["learning_rate"] == 1e-4
    assert run(sentences, tmp_path / "new").record["settings"]["learning_rate"] == 1e-3


def test_neighbors_need_a_batch(sentences: list[str], tmp_path: Path) -> None:
    plan = Plan(**{**TINY.__dict__, "neighbors": 1.0})
    with pytest.raises(MirrormaskError, match="'batch_size' of learning from neighbors must be at least 4. Got 2"):
        run(sentences, tmp_path / "run", plan=plan, training={"batch_size": 2})


@pytest.mark.parametrize("gone", ["text.json", "tokenizer/tokenizer.json", "packed/train.npy", "packed/held-out.npy"])
def test_text_that_was_half_removed_is_prepared_again(gone: str, sentences: list[str], tmp_path: Path) -> None:
    every = {"checkpoint_every": 2, "evaluate_every": 3}
    whole = run(sentences, tmp_path / "whole", training=every)
    with pytest.raises(Killed):
        run(sentences, tmp_path / "cut", training=every, reporter=KillAt(5))
    text = tmp_path / "cut" / "work" / "text-0"
    (text / gone).unlink()
    (text / "corpus").mkdir()
    (text / "corpus" / "starts.npy").touch()
    again = run(sentences, tmp_path / "cut", training=every, resume=True)
    one, two = (load_file(each.model / "model.safetensors") for each in (whole, again))
    assert all(torch.equal(one[name], two[name]) for name in one)
