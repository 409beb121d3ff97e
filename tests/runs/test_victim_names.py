from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mirrormask.core.errors import ModelError
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.prompting.cloze import Cloze
from mirrormask.prompting.cloze_rows import Examples
from mirrormask.prompting.cloze_task import ClozeTask, Question
from mirrormask.prompting.pattern import Pattern
from mirrormask.prompting.saved_prompt import PromptModel
from mirrormask.runs.victim_names import open_any_victim


def prompted(lm: MaskedLM, folder: Path, template: str, out: Path) -> PromptModel:
    question = Question(template)
    task = ClozeTask("beings", (question,), {"person": ["baker"], "animal": ["cat"]})
    member = Cloze(lm, Pattern(question.template, lm.tokenizer, 64), task.verbalizer(question), None).eval()
    model = PromptModel(task, str(folder), [member], [1.0], None, 64, {"frozen": True})
    model.save(out)
    return model


def test_a_prompt_is_a_classifier_too(tiny_folder: Path, tmp_path: Path) -> None:
    model = prompted(MaskedLM.load(tiny_folder), tiny_folder, "{text} this means [MASK].", tmp_path / "prompt")
    victim = open_any_victim(tmp_path / "prompt")
    texts = ["the old baker finds some bread.", "the gray cat"]
    assert victim.labels == ("person", "animal")
    expected = np.exp(model.scores(Examples([{"text": text} for text in texts])))
    assert victim(texts) == pytest.approx(expected, abs=1e-5)


def test_a_prompt_about_two_texts_is_refused(tiny_folder: Path, tmp_path: Path) -> None:
    prompted(MaskedLM.load(tiny_folder), tiny_folder, "{one} and {two} [MASK].", tmp_path / "two")
    with pytest.raises(ModelError, match="asks about more than one text"):
        open_any_victim(tmp_path / "two")


def test_other_names_lead_where_they_did(tiny_folder: Path) -> None:
    with pytest.raises(ModelError, match="is no classifier of texts"):
        open_any_victim(tiny_folder)
