from __future__ import annotations

import numpy as np
import pytest
import torch

from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.models.soft_prompt import KINDS, SoftPrompt
from mirrormask.prompting.cloze import Cloze
from mirrormask.prompting.cloze_rows import Examples
from mirrormask.prompting.cloze_task import ClozeTask
from mirrormask.prompting.pattern import Pattern
from mirrormask.prompting.pattern_tuning import PatternTuning, Tuning, label_loss, scores_of, tune
from mirrormask.prompting.pet import fresh
from mirrormask.prompting.prompt_score import open_clozes


def accuracy(cloze: Cloze, examples: Examples, task: ClozeTask) -> float:
    return float((scores_of(cloze, examples).argmax(1) == examples.numbers(task.labels)).mean())


def test_a_pattern_learns_a_few_examples(opened: MaskedLM, task: ClozeTask, examples: Examples) -> None:
    cloze = open_clozes(fresh(opened), task)[0]
    before = scores_of(open_clozes(opened, task)[0], examples)
    tuned = tune(cloze, examples, task.labels, Tuning(steps=40, batch_size=8, learning_rate=3e-3))
    assert tuned.result.steps == 40
    assert accuracy(cloze, examples, task) == 1.0
    assert scores_of(open_clozes(opened, task)[0], examples) == pytest.approx(before), "the copy learned, not the model"


def test_the_best_weights_by_other_examples_stay(opened: MaskedLM, task: ClozeTask, examples: Examples) -> None:
    cloze = open_clozes(fresh(opened), task)[0]
    dev = examples.take(range(1, 16, 2))
    how = Tuning(steps=20, batch_size=8, learning_rate=3e-3, evaluate_every=5)
    tuned = tune(cloze, examples, task.labels, how, dev=dev)
    best = max(score for _, score in tuned.curve)
    assert [step for step, _ in tuned.curve] == [0, 5, 10, 15, 20]
    assert accuracy(cloze, dev, task) == pytest.approx(best)


def test_the_masked_lm_loss_joins_with_its_weight(opened: MaskedLM, task: ClozeTask, examples: Examples) -> None:
    cloze = open_clozes(opened, task)[0]
    rows = torch.arange(4)

    def loss(weight: float) -> float:
        cloze.eval()
        return PatternTuning(cloze, examples, task.labels, Tuning(mlm_weight=weight), examples.fields)(rows, 7).item()

    plain, half, most = (loss(weight) for weight in (0.0, 0.5, 0.999))
    assert half == pytest.approx((plain + (most - 0.001 * plain) / 0.999) / 2, abs=1e-4)
    assert loss(0.5) == half, "the same seed hides the same tokens"
    with pytest.raises(DataError, match="needs unlabelled text"):
        PatternTuning(cloze, examples, task.labels, Tuning(mlm_weight=0.5))


def test_losses_against_loops() -> None:
    scores = torch.tensor([[1.0, 2.0, -0.5], [0.2, 0.1, 3.0]], dtype=torch.float64)
    gold = torch.tensor([1, 0])
    expected = np.mean(
        [sum(max(0, 1 - s[g] + s[y]) for y in range(3) if y != g) for s, g in zip(scores.numpy(), gold, strict=True)]
    )
    assert label_loss(scores, gold, hinge=True).item() == pytest.approx(expected)
    softmax = scores.softmax(-1)
    assert label_loss(scores, gold).item() == pytest.approx(-(softmax[0, 1].log() + softmax[1, 0].log()).item() / 2)


def test_rows_with_choices_of_their_own_learn(opened: MaskedLM) -> None:
    fields = [{"text": "the old baker"}, {"text": "the gray cat"}, {"text": "a quiet child"}]
    choices = [("paints", "repairs boats"), ("finds bread", "watches"), ("forgets", "carries apples", "sunrise")]
    examples = Examples(fields, ["1", "0", "1"], choices)
    cloze = Cloze(fresh(opened), Pattern("{text} [MASKS].", opened.tokenizer))
    before = scores_of(cloze, examples)
    assert before.shape == (3, 3)
    assert np.isneginf(before[:2, 2]).all()
    tune(cloze, examples, (), Tuning(steps=60, batch_size=3, learning_rate=3e-3))
    assert (scores_of(cloze, examples).argmax(1) == [1, 0, 1]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_soft_tokens_learn_while_the_model_stays(
    opened: MaskedLM, task: ClozeTask, examples: Examples, kind: str
) -> None:
    lm = fresh(opened)
    soft = SoftPrompt(3, 32, kind)
    verbalizer = task.verbalizer(task.questions[0])
    cloze = Cloze(lm, Pattern("[P] {text} [P*2] [MASK]", lm.tokenizer), verbalizer, soft)
    start = soft().detach().clone()
    was = {name: value.clone() for name, value in lm.state_dict().items()}
    model = PatternTuning(cloze, examples, task.labels, Tuning(frozen=True))
    losses = [model(torch.arange(16), 1).item()]
    tune(cloze, examples, task.labels, Tuning(steps=30, learning_rate=1e-3, soft_rate=10, frozen=True))
    losses.append(model(torch.arange(16), 1).item())
    assert losses[1] < losses[0]
    assert not torch.allclose(soft(), start)
    assert all(torch.equal(value, was[name]) for name, value in lm.state_dict().items())
    assert torch.allclose(soft.fixed()(), soft(), atol=1e-6)


def test_the_two_published_encoders_of_soft_tokens() -> None:
    narrow, wide = SoftPrompt(3, 32, "lstm"), SoftPrompt(3, 32, "lstm-wide")
    assert narrow.lstm is not None and wide.lstm is not None
    assert (narrow.lstm.hidden_size, wide.lstm.hidden_size) == (16, 32)
    assert [next(each.network.parameters()).shape[1] for each in (narrow, wide)] == [32, 64]
    assert SoftPrompt(1, 32, "lstm")().shape == (1, 32)
    assert torch.equal(SoftPrompt(3, 32, seed=5)(), SoftPrompt(3, 32, seed=5)())
    with pytest.raises(MirrormaskError, match="Did you mean 'lstm'"):
        SoftPrompt(3, 32, "lstn")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [({"steps": 0}, "'steps'"), ({"mlm_weight": 1.0}, "'mlm_weight'"), ({"soft_rate": 0}, "soft_rate")],
)
def test_settings_are_checked(wrong: dict[str, float], says: str) -> None:
    with pytest.raises(MirrormaskError, match=says):
        Tuning(**wrong)  # type: ignore[arg-type]
