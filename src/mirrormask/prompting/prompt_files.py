"""From files to a tuned prompt in a folder, and from there to labels: what the commands call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.models.names import DEFAULT_MODEL
from mirrormask.prompting.answers import Answers, measure
from mirrormask.prompting.cloze_rows import Examples, read_examples
from mirrormask.prompting.cloze_task import open_task
from mirrormask.prompting.pattern import MAX_LENGTH
from mirrormask.prompting.pet import Progress, PromptTraining, train_prompt
from mirrormask.prompting.prompt_score import with_column, words_from_file
from mirrormask.prompting.saved_prompt import PromptModel, check_free


def train_files(
    prompt: str,
    path: Path | str | None,
    out: Path,
    how: PromptTraining,
    *,
    labels: Mapping[str, Sequence[str]] | None = None,
    find: bool = False,
    model: str = DEFAULT_MODEL,
    unlabelled: Path | str | None = None,
    dev: Path | str | None = None,
    column: str = "",
    label_column: str = "",
    max_length: int = MAX_LENGTH,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Train a prompt on files and save it; return what was made.

    Args:
        prompt: a template, the name of a task, or a table in TOML.
        path: the examples; None where there are none.
        out: the folder to write, whole or not at all.
        how: the mode and its settings.
        labels: words of each label.
        find: find words from the examples instead.
        model: a masked LM by name or folder.
        unlabelled: texts without labels.
        dev: other examples, to choose a checkpoint by.
        column: that holds the text.
        label_column: that holds labels.
        max_length: tokens of a row.
        progress: is told how far each part is.
    """
    check_free(out)
    base = None
    if find:
        if path is None:
            raise DataError("Words are found from examples with labels. Give a file.")
        base = MaskedLM.load(model)
        found = words_from_file(base, prompt, path, unlabelled or path, column=column, label_column=label_column)
        labels = {label: [word for word, _ in words] for label, words in found.items()}
    task = with_column(open_task(prompt, labels), column)
    if not task.words and task.reader == "table":
        raise MirrormaskError("Labels need words, as in --labels good,bad, or --find-words.")
    examples = None if path is None else read_examples(path, task, column=label_column)
    more = None if unlabelled is None else read_examples(unlabelled, task, labels="none")
    other = None if dev is None else read_examples(dev, task, column=label_column)
    trained = train_prompt(
        task,
        examples,
        how,
        model=model,
        unlabelled=more,
        dev=other,
        max_length=max_length,
        progress=progress,
        base=base,
    )
    count = len(trained.members)
    if trained.classifier is not None:
        trained.members, trained.weights = [], []  # the classifier is what answers
    trained.save(out)
    return {
        "mode": how.mode,
        "task": task.name,
        "patterns": [each.template for each in task.questions],
        "words": {label: list(words) for label, words in task.words.items()},
        "members": count,
        "examples": 0 if examples is None else len(examples),
        "unlabelled": 0 if more is None else len(more),
    }


def predict_file(
    folder: Path | str,
    path: Path | str,
    *,
    labels: str,
    column: str = "",
    label_column: str = "",
    limit: int | None = None,
) -> tuple[Examples, Answers]:
    """Return the rows of a file and the labels that a tuned prompt gives them.

    Args:
        folder: what `prompt train` left.
        path: the texts.
        labels: whether labels are read, as for `read_examples`.
        column: that holds the text.
        label_column: that holds labels.
        limit: only so many rows.
    """
    model = PromptModel.load(folder)
    task = with_column(model.task, column)
    examples = read_examples(path, task, labels=labels, column=label_column, limit=limit)
    return examples, model.answers(examples)


def measured(examples: Examples, answers: Answers) -> dict[str, float]:
    """Return how good answers are where the labels are known."""
    known = answers.labels if examples.choices is None else ()
    return measure(answers.predicted, examples.numbers(known), answers.scores.shape[1], examples.groups)


def counts_of(answers: Answers) -> dict[str, int]:
    """Return how often each label was given."""
    counts = np.bincount(answers.predicted, minlength=len(answers.labels))
    return dict(zip(answers.labels, counts.tolist(), strict=True))
