from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer

from mirrormask.core.errors import DataError, MirrormaskError, ModelError
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.prompting.cloze_rows import Examples
from mirrormask.prompting.cloze_task import ClozeTask, Question
from mirrormask.prompting.distillation import Distilling, distillation_loss
from mirrormask.prompting.next_generation import Generations, draw, next_examples
from mirrormask.prompting.pattern_tuning import Tuning, scores_of
from mirrormask.prompting.pet import PromptTraining, train_prompt
from mirrormask.prompting.prompt_score import open_clozes
from mirrormask.prompting.saved_prompt import PromptModel

QUICK = Tuning(steps=30, batch_size=8, learning_rate=3e-3)
SHORT = Distilling(steps=30, batch_size=8, learning_rate=1e-3)


def test_the_ensemble_is_saved_and_opened(
    opened: MaskedLM, tiny_folder: Path, task: ClozeTask, examples: Examples, tmp_path: Path
) -> None:
    how = PromptTraining(tuning=QUICK)
    model = train_prompt(task, examples, how, model=str(tiny_folder), base=opened)
    gold = examples.numbers(task.labels)
    before = [float((scores_of(each, examples).argmax(1) == gold).mean()) for each in open_clozes(opened, task)]
    assert model.weights == pytest.approx(before)
    scores = [scores_of(member, examples) for member in model.members]
    mean = sum(w * s for w, s in zip(before, scores, strict=True)) / sum(before)
    expected = mean - np.log(np.exp(mean).sum(1, keepdims=True))
    assert model.scores(examples) == pytest.approx(expected, abs=1e-5)
    assert (model.answers(examples).predicted == gold).mean() == 1.0
    model.save(tmp_path / "prompt")
    again = PromptModel.load(tmp_path / "prompt")
    assert again.task == model.task or again.task.labels == model.task.labels
    assert again.scores(examples) == pytest.approx(model.scores(examples), abs=1e-5)
    label, share = again.predict([examples.fields[0]["text"]])[0]
    assert label == examples.labels[0]
    assert share == pytest.approx(np.exp(model.scores(examples)[0].max()), abs=1e-4)
    (tmp_path / "prompt" / "prompt.json").write_text("{}")
    with pytest.raises(ModelError, match="is damaged"):
        PromptModel.load(tmp_path / "prompt")
    with pytest.raises(ModelError, match="holds no tuned prompt"):
        PromptModel.load(tmp_path)


def test_pet_distills_into_a_sentence_encoder_with_a_head(
    opened: MaskedLM, tiny_folder: Path, task: ClozeTask, examples: Examples, tmp_path: Path
) -> None:
    how = PromptTraining("pet", QUICK, weights="uniform", distilling=SHORT)
    model = train_prompt(task, examples, how, model=str(tiny_folder), base=opened, unlabelled=examples)
    assert model.weights == [1.0, 1.0]
    assert model.classifier is not None
    assert (model.answers(examples).predicted == examples.numbers(task.labels)).mean() >= 0.75
    model.members, model.weights = [], []
    model.save(tmp_path / "prompt")
    again = PromptModel.load(tmp_path / "prompt")
    assert again.scores(examples) == pytest.approx(model.scores(examples), abs=1e-4)
    assert SentenceTransformer(str(tmp_path / "prompt" / "classifier"), device="cpu").encode(["a boat"]).shape == (
        1,
        32,
    )


def test_p_tuning_is_saved_as_a_soft_prompt_and_a_template(
    opened: MaskedLM, tiny_folder: Path, task: ClozeTask, examples: Examples, tmp_path: Path
) -> None:
    soft = ClozeTask("soft", (Question("[P] {text} [P*2] [MASK]."),), task.words)
    how = PromptTraining(tuning=Tuning(steps=5, frozen=True), soft="lstm")
    model = train_prompt(soft, examples, how, model=str(tiny_folder), base=opened)
    model.save(tmp_path / "prompt")
    place = tmp_path / "prompt" / "member-00"
    assert sorted(path.name for path in place.iterdir()) == ["soft_prompt.safetensors", "template.json"]
    assert load_file(place / "soft_prompt.safetensors")["embeddings"].shape == (3, 32)
    assert json.loads((place / "template.json").read_text())["template"] == "[P] {text} [P*2] [MASK]."
    again = PromptModel.load(tmp_path / "prompt")
    assert again.scores(examples) == pytest.approx(model.scores(examples), abs=1e-5)


def test_ipet_from_zero_and_from_a_few(
    opened: MaskedLM, tiny_folder: Path, task: ClozeTask, examples: Examples
) -> None:
    steps = Generations(count=2, growth=1.5, start=3, likeliest=4)
    how = PromptTraining("ipet", Tuning(steps=3), distilling=Distilling(steps=3), generations=steps)
    seen: Counter[str] = Counter()

    def progress(name: str, done: int, total: int) -> None:
        seen[name] += done

    zero = train_prompt(task, None, how, model=str(tiny_folder), unlabelled=examples, base=opened, progress=progress)
    assert zero.classifier is not None
    assert len(zero.members) == 2
    assert set(seen) == {
        *(f"tuning {i} of 2, generation {g}" for i in (1, 2) for g in (1, 2)),
        "distilling",
    }
    few = train_prompt(task, examples.take([0, 1]), how, model=str(tiny_folder), unlabelled=examples, base=opened)
    assert few.facts["examples"] == 2


def test_the_next_generation_is_taught_by_others_and_balanced() -> None:
    labels = ("a", "b")
    texts = Examples([{"text": str(i)} for i in range(100)])
    sure = np.linspace(-4, 4, 100)
    right, wrong = np.stack([sure, -sure], 1), np.stack([-sure, sure], 1)
    few = Examples([{"text": "x"}, {"text": "y"}, {"text": "z"}], ["a", "a", "b"])
    how = Generations(growth=5.0, others=0.25)
    found = next_examples([wrong, right], 0, [1.0, 1.0], labels, few, texts, how, generation=1, seed=3)
    assert Counter(found.labels) == {"a": 10, "b": 5}
    assert found.fields[:3] == few.fields
    drawn = [(int(f["text"]), y) for f, y in zip(found.fields[3:], found.labels[3:], strict=True)]
    assert all((number >= 50) == (label == "a") for number, label in drawn), "labels are the other's, not its own"
    assert len({number for number, _ in drawn}) == 12
    later = next_examples([wrong, right], 0, [1.0, 1.0], labels, few, texts, how, generation=2, seed=3)
    assert Counter(later.labels) == {"a": 50, "b": 25}
    zero = next_examples([wrong, right], 0, [1.0, 1.0], labels, None, texts, how, generation=1, seed=3)
    assert Counter(zero.labels) == {"a": 10, "b": 10}


def test_the_sure_are_drawn_more_often() -> None:
    pool, chance = np.arange(10), np.random.default_rng(1)
    counts = Counter(each for _ in range(400) for each in draw(pool, np.arange(10) / 45, 2, chance))
    assert counts[0] < counts[5] < counts[9]
    assert draw(pool, np.ones(10), 0, chance) == []
    assert sorted(draw(pool, np.ones(10), 99, chance)) == list(range(10))


def test_the_distillation_loss() -> None:
    student = torch.tensor([[1.0, 0.0], [0.5, 2.0]], dtype=torch.float64)
    teacher = torch.tensor([[3.0, 1.0], [0.0, 0.0]], dtype=torch.float64)
    p, q = (teacher / 2).softmax(-1), (student / 2).softmax(-1)
    assert distillation_loss(student, teacher).item() == pytest.approx(4 * (p * (p / q).log()).sum().item() / 2)
    assert distillation_loss(teacher, teacher).item() == pytest.approx(0, abs=1e-12)
    labels = torch.tensor([0, 1])
    expected = -(student.softmax(-1)[0, 0].log() + student.softmax(-1)[1, 1].log()) / 2
    assert distillation_loss(student, labels).item() == pytest.approx(expected.item())


def test_what_a_mode_lacks_is_said(opened: MaskedLM, task: ClozeTask, examples: Examples) -> None:
    with pytest.raises(DataError, match="pet learns from unlabelled text. Give a file with --unlabelled"):
        train_prompt(task, examples, PromptTraining("pet"), base=opened)
    with pytest.raises(DataError, match="few-shot needs examples with labels"):
        train_prompt(task, None, PromptTraining(), base=opened)
    with pytest.raises(DataError, match="masked-LM loss needs unlabelled text"):
        train_prompt(task, examples, PromptTraining(tuning=Tuning(mlm_weight=0.1)), base=opened)
    with pytest.raises(MirrormaskError, match="nothing to learn without soft tokens"):
        train_prompt(task, examples, PromptTraining(tuning=Tuning(frozen=True)), base=opened)
    own = ClozeTask("own", (Question("{text} [MASKS]"),))
    with pytest.raises(MirrormaskError, match="choices of their own"):
        train_prompt(own, examples, PromptTraining("pet"), base=opened, unlabelled=examples)
    with pytest.raises(MirrormaskError, match="Did you mean 'ipet'"):
        PromptTraining("ipett")
