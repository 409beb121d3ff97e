from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.pretraining.centering import mean_vector, move_origin
from mirrormask.pretraining.plan import Plan
from mirrormask.runs.pretrain import pretrain


@pytest.fixture
def lm(tiny_folder: Path) -> MaskedLM:
    return MaskedLM.load(tiny_folder, device="cpu")


def by_the_library(lm: MaskedLM, text: str) -> torch.Tensor:
    with torch.inference_mode():
        return lm.model.base_model(**lm.tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(0)


def test_the_mean_is_the_mean_of_the_texts_means(lm: MaskedLM, sentences: list[str]) -> None:
    loop = torch.stack([by_the_library(lm, text) for text in sentences[:7]]).mean(0)
    torch.testing.assert_close(mean_vector(lm, sentences[:7], length=64), loop, atol=1e-5, rtol=1e-4)


def test_blocks_do_not_change_the_mean(lm: MaskedLM, sentences: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = mean_vector(lm, sentences[:7], length=64)
    monkeypatch.setattr("mirrormask.pretraining.centering._ROWS", 3)
    torch.testing.assert_close(mean_vector(lm, sentences[:7], length=64), whole, atol=1e-5, rtol=1e-4)


def test_the_vectors_move_and_no_prediction_does(lm: MaskedLM, sentences: list[str]) -> None:
    ids = lm.tokenizer("the [MASK] crossed the river", return_tensors="pt")
    with torch.inference_mode():
        before = lm.model(**ids).logits
    mean = mean_vector(lm, sentences, length=64)
    assert mean.norm() > 0.1
    move_origin(lm, mean)
    assert mean_vector(lm, sentences, length=64).norm() < 1e-5
    with torch.inference_mode():
        torch.testing.assert_close(lm.model(**ids).logits, before, atol=1e-4, rtol=1e-4)


def test_a_pretrained_model_can_be_centered(tiny_folder: Path, sentences: list[str], tmp_path: Path) -> None:
    text = tmp_path / "sentences.txt"
    text.write_text("\n".join(sentences), encoding="utf-8")
    found = {}
    for name, center in (("plain", ""), ("centered", str(text))):
        plan = Plan(init=str(tiny_folder), length=16, held_out=10, center=center)
        run = pretrain(sentences, out=tmp_path / name, plan=plan, training={"batch_size": 4, "steps": 2})
        found[name] = MaskedLM.load(run.model, device="cpu")
        assert run.record["plan"]["center"] == center
    means = {name: mean_vector(lm, sentences, length=16).norm() for name, lm in found.items()}
    assert means["centered"] < 1e-4 < means["plain"]
    one, other = (dict(lm.fill("the [MASK] crossed the river", top=5)[0]) for lm in found.values())
    assert one.keys() == other.keys()
    np.testing.assert_allclose(sorted(one.values()), sorted(other.values()), atol=1e-4)


def test_another_architecture_is_refused_before_the_work(tmp_path: Path, lm: MaskedLM) -> None:
    from transformers import DistilBertConfig, DistilBertForMaskedLM

    DistilBertForMaskedLM(
        DistilBertConfig(vocab_size=len(lm.tokenizer), dim=16, hidden_dim=16, n_layers=1, n_heads=2)
    ).save_pretrained(tmp_path / "other")
    lm.tokenizer.save_pretrained(tmp_path / "other")
    with pytest.raises(MirrormaskError, match="'distilbert'"):
        pretrain("nowhere.txt", out=tmp_path / "run", plan=Plan(init=str(tmp_path / "other"), center="x.txt"))


def test_a_missing_text_is_noticed_before_the_work(tiny_folder: Path, sentences: list[str], tmp_path: Path) -> None:
    plan = Plan(init=str(tiny_folder), length=16, held_out=10, center=str(tmp_path / "nowhere.txt"))
    with pytest.raises(DataError, match="nowhere.txt"):
        pretrain(sentences, out=tmp_path / "run", plan=plan)
    assert not (tmp_path / "run" / "metrics.jsonl").exists()
