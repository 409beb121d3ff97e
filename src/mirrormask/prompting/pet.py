"""Pattern-exploiting training: a model for each pattern, and a classifier that learns what they say of unlabelled text.

Papers: Schick and Schütze 2021, "Exploiting Cloze Questions for Few Shot Text Classification and Natural Language
    Inference" (PET, iPET); "It's Not Just Size That Matters" (the ensemble without distillation)

    score(y | x) = sum_p w_p s_p(y | x) / sum_p w_p,   w_p = 1, or the pattern's accuracy before training
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import DataError, MirrormaskError, at_least, one_of
from mirrormask.core.seeding import derive
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.models.names import DEFAULT_MODEL
from mirrormask.models.soft_prompt import SoftPrompt
from mirrormask.prompting.cloze import Cloze
from mirrormask.prompting.cloze_rows import Examples
from mirrormask.prompting.cloze_task import ClozeTask
from mirrormask.prompting.distillation import Distilling, distill
from mirrormask.prompting.next_generation import Generations, next_examples
from mirrormask.prompting.pattern import MAX_LENGTH
from mirrormask.prompting.pattern_tuning import Tuning, scores_of, tune
from mirrormask.prompting.prompt_score import open_clozes
from mirrormask.prompting.saved_prompt import PromptModel, plain_text
from mirrormask.prompting.zero_shot import Scores, labels_of, log_mean
from mirrormask.training.loop import Reporter

MODES = ("few-shot", "pet", "ipet")
WEIGHTS = ("accuracy", "uniform")

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class PromptTraining:
    """How patterns are trained together.

    Args:
        mode: `few-shot` tunes every pattern and takes their mean; `pet` distills that into a classifier; `ipet` lets
            patterns teach each other over generations before.
        tuning: of every pattern.
        repetitions: models for each pattern.
        weights: of patterns: their `accuracy` on the examples before training, or `uniform`.
        soft: kind of the soft prompt, where patterns have soft tokens.
        distilling: of the classifier.
        generations: of `ipet`.
        student: what the classifier begins with; by default the masked LM itself.
    """

    mode: str = "few-shot"
    tuning: Tuning = field(default_factory=Tuning)
    repetitions: int = 1
    weights: str = "accuracy"
    soft: str = "lstm-wide"
    distilling: Distilling = field(default_factory=Distilling)
    generations: Generations = field(default_factory=Generations)
    student: str = ""

    def __post_init__(self) -> None:
        one_of("mode", self.mode, MODES, of="prompt training")
        one_of("weights", self.weights, WEIGHTS, of="prompt training")
        at_least("repetitions", self.repetitions, 1, of="prompt training")


def train_prompt(
    task: ClozeTask,
    examples: Examples | None,
    how: PromptTraining,
    *,
    model: str = DEFAULT_MODEL,
    unlabelled: Examples | None = None,
    dev: Examples | None = None,
    max_length: int = MAX_LENGTH,
    progress: Progress | None = None,
    base: MaskedLM | None = None,
) -> PromptModel:
    """Train the patterns of a task, and what is to be made of them.

    Args:
        task: the patterns and words.
        examples: with labels; `ipet` does without.
        how: the mode and its settings.
        model: the masked LM, by name or folder.
        unlabelled: texts for distillation, generations and the masked-LM loss.
        dev: examples by whose accuracy checkpoints are chosen.
        max_length: tokens of a row.
        progress: is told how far each part is.
        base: the masked LM where it is open already.
    """
    _check(task, examples, how, unlabelled)
    base = base or MaskedLM.load(model)
    clozes = open_clozes(base, task, max_length)
    weights = _weights(clozes, task, examples, how)
    members: list[Cloze] = []
    if how.mode == "ipet":
        assert unlabelled is not None
        members = _generations(base, task, examples, how, unlabelled, weights, max_length, progress)
    else:
        assert examples is not None
        sets = [examples] * len(clozes) * how.repetitions
        members = _members(base, task, sets, how, unlabelled, dev, max_length, progress, "")
    found = PromptModel(task, model, members, weights, None, clozes[0].pattern.max_length)
    found.facts = {"mode": how.mode, "frozen": how.tuning.frozen, "examples": 0 if examples is None else len(examples)}
    if how.mode != "few-shot":
        assert unlabelled is not None
        teacher = found.scores(unlabelled)
        texts = [plain_text(each) for each in unlabelled.fields]
        distilling = replace(how.distilling, seed=how.tuning.seed)
        reporter = Stage(progress, "distilling")
        found.classifier = distill(how.student or model, task.labels, texts, teacher, distilling, reporter=reporter)
    return found


def fresh(lm: MaskedLM) -> MaskedLM:
    """Return a copy of a masked LM with weights of its own."""
    return MaskedLM(copy.deepcopy(lm.model), lm.tokenizer).to(lm.device)


class Stage(Reporter):
    """Tells a bar of the command line how far a part of the work is."""

    def __init__(self, progress: Progress | None, name: str) -> None:
        self.progress, self.name, self.total = progress, name, 0

    def start(self, total: int, done: int, precision: object) -> None:
        """Begin."""
        self.total = total

    def step(self, step: int, metrics: dict[str, float]) -> None:
        """Take note of an update."""
        if self.progress is not None:
            self.progress(self.name, 1, self.total)


def _check(task: ClozeTask, examples: Examples | None, how: PromptTraining, unlabelled: Examples | None) -> None:
    if how.mode != "few-shot" and unlabelled is None:
        raise DataError(f"The mode {how.mode} learns from unlabelled text. Give a file with --unlabelled.")
    if how.mode != "ipet" and examples is None:
        raise DataError(f"The mode {how.mode} needs examples with labels. Give a file, or take --mode ipet.")
    if how.mode != "few-shot" and not task.labels:
        raise MirrormaskError(
            f"The rows of the task {task.name} have choices of their own, which no classifier has. "
            "Take --mode few-shot."
        )
    if how.tuning.mlm_weight and unlabelled is None:
        raise DataError("The masked-LM loss needs unlabelled text. Give a file with --unlabelled.")


def _weights(clozes: Sequence[Cloze], task: ClozeTask, examples: Examples | None, how: PromptTraining) -> list[float]:
    """Return the weight of every member: 1, or the accuracy of its pattern before training."""
    found = [1.0] * len(clozes)
    if how.weights == "accuracy" and examples is not None and not any(each.pattern.template.soft for each in clozes):
        gold = examples.numbers(task.labels)
        right = [float((scores_of(each, examples).argmax(1) == gold).mean()) for each in clozes]
        found = right if sum(right) > 0 else found
    return [weight for weight in found for _ in range(how.repetitions)]


def _members(
    base: MaskedLM,
    task: ClozeTask,
    sets: Sequence[Examples],
    how: PromptTraining,
    unlabelled: Examples | None,
    dev: Examples | None,
    max_length: int,
    progress: Progress | None,
    named: str,
) -> list[Cloze]:
    """Return a tuned model for each set of examples, the repetitions of one pattern side by side."""
    members = []
    more = unlabelled.fields if unlabelled is not None and how.tuning.mlm_weight else ()
    for number, examples in enumerate(sets):
        lm = base if how.tuning.frozen else fresh(base)
        cloze = open_clozes(lm, task, max_length)[number // how.repetitions]
        seed = derive(how.tuning.seed, "member", number) % 2**31
        tokens = cloze.pattern.template.soft
        if tokens:
            width = lm.model.get_input_embeddings().weight.shape[1]
            cloze.soft = SoftPrompt(tokens, width, how.soft, seed=seed).to(lm.device)
        elif how.tuning.frozen:
            raise MirrormaskError("A frozen model has nothing to learn without soft tokens. Put [P] into the template.")
        tuning = replace(how.tuning, seed=seed)
        reporter = Stage(progress, f"tuning {number + 1} of {len(sets)}{named}")
        tune(cloze, examples, task.labels, tuning, unlabelled=more, dev=dev, reporter=reporter)
        members.append(cloze.eval())
    return members


def _generations(
    base: MaskedLM,
    task: ClozeTask,
    examples: Examples | None,
    how: PromptTraining,
    unlabelled: Examples,
    weights: Sequence[float],
    max_length: int,
    progress: Progress | None,
) -> list[Cloze]:
    """Return the members of the last generation of iPET, each taught by others of the one before."""
    steps = how.generations
    if examples is None:
        clozes = open_clozes(base, task, max_length)
        scores = [_calibrated(each, unlabelled) for each in clozes for _ in range(how.repetitions)]
        members: list[Cloze] = []
    else:
        sets = [examples] * (len(task.questions) * how.repetitions)
        members = _members(base, task, sets, how, unlabelled, None, max_length, progress, ", generation 0")
        scores = [scores_of(each, unlabelled) for each in members]
    for number in range(1, steps.count + 1):
        sets = [
            next_examples(
                scores,
                member,
                weights,
                task.labels,
                examples,
                unlabelled,
                steps,
                generation=number,
                seed=derive(how.tuning.seed, "generation", number, member),
            )
            for member in range(len(scores))
        ]
        named = f", generation {number}"
        members = _members(base, task, sets, how, unlabelled, None, max_length, progress, named)
        if number < steps.count:
            scores = [scores_of(each, unlabelled) for each in members]
    return members


def _calibrated(cloze: Cloze, unlabelled: Examples) -> Scores:
    """Return the scores of an untrained pattern, less the prior of its words."""
    words: NDArray[np.float64] = cloze.word_scores(unlabelled.fields)
    return labels_of(cloze, words - log_mean(words))
