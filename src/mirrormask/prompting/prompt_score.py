"""Zero-shot over a file: one call from a template and two words to a label for every row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.models.names import DEFAULT_MODEL
from mirrormask.prompting.answers import Answers, measure
from mirrormask.prompting.cloze import Cloze
from mirrormask.prompting.cloze_rows import Examples, read_examples
from mirrormask.prompting.cloze_task import ClozeTask, open_task
from mirrormask.prompting.pattern import MAX_LENGTH, Pattern
from mirrormask.prompting.template import Template
from mirrormask.prompting.word_search import find_words
from mirrormask.prompting.zero_shot import log_softmax, zero_shot


@dataclass(frozen=True)
class Scored:
    """Texts of a file with their labels.

    Args:
        task: what was asked.
        examples: the rows.
        answers: their labels.
        measures: where the file has labels that the task knows: of the calibrated scores, and of the plain ones.
        found_words: for each label, where words were searched for.
    """

    task: ClozeTask
    examples: Examples
    answers: Answers
    measures: dict[str, dict[str, float]]
    found_words: dict[str, list[tuple[str, float]]]


def open_clozes(lm: MaskedLM, task: ClozeTask, max_length: int = MAX_LENGTH) -> list[Cloze]:
    """Return a model's view of all patterns of a task."""
    most = longest_row(lm, max_length)
    return [
        Cloze(lm, Pattern(each.template, lm.tokenizer, most), task.verbalizer(each) if task.labels else None)
        for each in task.questions
    ]


def longest_row(lm: MaskedLM, max_length: int = MAX_LENGTH) -> int:
    """Return how many tokens a row may have: as asked, and no more than the model takes."""
    config = lm.model.base_model.config
    most = int(getattr(config, "max_position_embeddings", None) or 1 << 30)
    if getattr(config, "model_type", "") in ("roberta", "xlm-roberta", "camembert"):  # the first two are taken
        most -= int(config.pad_token_id) + 1
    return min(max_length, most, int(lm.tokenizer.model_max_length))


def score_file(
    prompt: str,
    path: Path | str,
    *,
    labels: Mapping[str, Sequence[str]] | None = None,
    model: str = DEFAULT_MODEL,
    unlabelled: Path | str | None = None,
    calibrate: bool = True,
    few: Path | str | None = None,
    column: str = "",
    label_column: str = "",
    max_length: int = MAX_LENGTH,
    limit: int | None = None,
) -> Scored:
    """Label the rows of a file without training.

    Args:
        prompt: a template, the name of a task, or a table in TOML.
        path: the texts; a label column is read where the task knows its labels.
        labels: words of each label.
        model: a masked LM by name or folder.
        unlabelled: texts for the words' prior; by default the texts themselves.
        calibrate: take the prior off the scores.
        few: a file with labels from which words are found; its labels are the labels.
        column: that holds the text.
        label_column: that holds labels, in both files.
        max_length: tokens of a row.
        limit: only so many rows.
    """
    found: dict[str, list[tuple[str, float]]] = {}
    lm = None
    if few is not None:
        lm = MaskedLM.load(model)
        found = words_from_file(lm, prompt, few, unlabelled or path, column=column, label_column=label_column)
        labels = {label: [word for word, _ in words] for label, words in found.items()}
    task = with_column(open_task(prompt, labels), column)
    if not task.words and task.reader == "table":
        raise MirrormaskError("Labels need words, as in --labels good,bad, or --find-words FEW.csv.")
    examples = read_examples(path, task, labels="known", limit=limit, column=label_column)
    more = examples if unlabelled is None else read_examples(unlabelled, task, labels="none")
    clozes = open_clozes(lm or MaskedLM.load(model), task, max_length)
    if not task.labels:
        scores = np.mean([log_softmax(each.word_scores(examples.fields, examples.choices)) for each in clozes], axis=0)
        answers = Answers(tuple(map(str, range(scores.shape[1]))), scores)
    else:
        shot = zero_shot(clozes, examples.fields, more.fields if calibrate else None)
        answers = Answers(shot.labels, shot.scores, shot.plain if calibrate else None)
    measures = {}
    if examples.labels:
        gold = examples.numbers(task.labels)
        classes = answers.scores.shape[1]
        measures["calibrated" if calibrate and task.labels else "uncalibrated"] = measure(
            answers.predicted, gold, classes, examples.groups
        )
        if answers.plain is not None:
            measures["uncalibrated"] = measure(answers.plain.argmax(1), gold, classes, examples.groups)
    return Scored(task, examples, answers, measures, found)


def with_column(task: ClozeTask, column: str) -> ClozeTask:
    """Return the task with the column of {text} as the user names it."""
    return replace(task, columns={**task.columns, "text": [column]}) if column else task


def words_from_file(
    lm: MaskedLM,
    prompt: str,
    few: Path | str,
    unlabelled: Path | str,
    *,
    words: int = 3,
    column: str = "",
    label_column: str = "",
) -> dict[str, list[tuple[str, float]]]:
    """Return label words found from a few labelled texts and more without labels.

    Args:
        lm: the masked LM.
        prompt: a template, or a task, whose patterns are read.
        few: texts with labels, which are the labels of the task.
        unlabelled: more texts.
        words: for each label.
        column: that holds the text.
        label_column: that holds labels.
    """
    task = with_column(open_task(prompt), column)
    open_ended = ClozeTask(task.name, task.questions, {}, task.label, task.columns, {}, task.reader)
    examples = read_examples(few, open_ended, column=label_column)
    more = read_examples(unlabelled, open_ended, labels="none", limit=1000)
    for question in task.questions:
        if Template(question.template).masks != 1:
            raise MirrormaskError("Words are found for templates with one [MASK]. Write one.")
    clozes = [Cloze(lm, Pattern(each.template, lm.tokenizer, longest_row(lm))) for each in task.questions]
    found = find_words(clozes, examples.fields, examples.labels, more.fields, words=words)
    lost = [label for label, best in found.items() if not best]
    if lost:
        raise DataError(f"No word tells the label {lost[0]!r} from the others. Give more texts with labels.")
    return found


def record_of(scored: Scored) -> dict[str, Any]:
    """Return the result as it is printed with --json."""
    counts = np.bincount(scored.answers.predicted, minlength=len(scored.answers.labels))
    return {
        "task": scored.task.name,
        "patterns": [each.template for each in scored.task.questions],
        "words": {label: list(words) for label, words in scored.task.words.items()},
        "rows": len(scored.examples),
        "counts": dict(zip(scored.answers.labels, counts.tolist(), strict=True)),
        "measures": scored.measures,
        "found_words": scored.found_words,
    }
