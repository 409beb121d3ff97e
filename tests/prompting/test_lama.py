from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from mirrormask.core.errors import DataError
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.models.soft_prompt import SoftPrompt
from mirrormask.prompting.cloze import Cloze
from mirrormask.prompting.lama import (
    Facts,
    learn_facts,
    manual_templates,
    precision_at_1,
    read_facts,
    shared_vocabulary,
)
from mirrormask.prompting.pattern import Pattern
from mirrormask.prompting.pattern_tuning import Tuning
from mirrormask.prompting.pet import fresh

FACTS = [("old baker", "boat"), ("young pilot", "clock"), ("gray cat", "bread"), ("tall engineer", "street")]


@pytest.fixture
def lama(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "lama"
    (folder / "trex" / "P1").mkdir(parents=True)
    (folder / "common_vocab_cased.txt").write_text("Boat\nclock\nbread\nstreet\nSchooner\n\nriver\n")
    (folder / "relations_templates.jsonl").write_text(
        json.dumps({"relation": "P1", "template": "[X] finds [Y] ."}) + "\n"
    )
    rows = [*FACTS, ("quiet child", "schooner"), (" ", "boat")]
    text = "".join(json.dumps({"sub_label": x, "obj_label": y}) + "\n" for x, y in rows)
    (folder / "trex" / "P1" / "train.jsonl").write_text(text)
    (folder / "trex" / "P1" / "test_partial.jsonl").write_text(text)
    monkeypatch.setenv("MIRRORMASK_DATA", str(tmp_path))
    return folder


def test_facts_and_the_vocabulary_that_is_shared(lama: Path, opened: MaskedLM) -> None:
    vocabulary = shared_vocabulary(opened.tokenizer)
    words = opened.tokenizer.convert_ids_to_tokens(vocabulary.tolist())
    assert set(words) == {"boat", "clock", "bread", "street", "river"}
    assert (np.diff(vocabulary) > 0).all()
    facts = read_facts("P1", "test", opened.tokenizer, vocabulary)
    assert facts.subjects == [x for x, _ in FACTS]
    assert facts.left_out == 2
    assert manual_templates() == {"P1": "{text} finds [MASK] ."}


def test_a_missing_vocabulary_is_said(tmp_path: Path, opened: MaskedLM, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIRRORMASK_DATA", str(tmp_path))
    with pytest.raises(DataError, match="common_vocab_cased.txt is in no folder lama"):
        shared_vocabulary(opened.tokenizer)


def test_precision_is_over_the_shared_vocabulary(lama: Path, opened: MaskedLM) -> None:
    vocabulary = shared_vocabulary(opened.tokenizer)
    cloze = Cloze(opened, Pattern("{text} finds [MASK].", opened.tokenizer))
    guesses = []
    for subject, _ in FACTS:
        ids = opened.tokenizer(f"{subject} finds [MASK].", return_tensors="pt")["input_ids"]
        place = int((ids[0] == opened.tokenizer.mask_token_id).nonzero())
        with torch.no_grad():
            guesses.append(int(vocabulary[opened.model(ids).logits[0, place, vocabulary].argmax()]))
    answers = np.array([guesses[0], guesses[1], -1, guesses[3]])
    assert precision_at_1(cloze, Facts("P1", [x for x, _ in FACTS], answers), vocabulary) == 0.75


def test_a_soft_prompt_learns_facts(lama: Path, opened: MaskedLM) -> None:
    vocabulary = shared_vocabulary(opened.tokenizer)
    facts = read_facts("P1", "train", opened.tokenizer, vocabulary)
    lm = fresh(opened)
    cloze = Cloze(lm, Pattern("[P] {text} [P] [MASK] [P]", lm.tokenizer), None, SoftPrompt(3, 32, "plain", scale=0.1))
    start = precision_at_1(cloze, facts, vocabulary)
    assert start < 1
    how = Tuning(steps=80, batch_size=4, learning_rate=3e-3, soft_rate=2, evaluate_every=20)
    learn_facts(cloze, facts, facts, vocabulary, how)
    assert precision_at_1(cloze, facts, vocabulary) == 1
