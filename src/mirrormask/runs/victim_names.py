"""Classifiers to attack by name, those made of prompts too."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mirrormask.attack.victims import Victim, open_victim
from mirrormask.core.errors import ModelError
from mirrormask.prompting.cloze_rows import Examples
from mirrormask.prompting.saved_prompt import FACTS, PromptModel


def open_any_victim(name: str | Path) -> Victim:
    """Return a classifier by its folder or import path; a folder of `prompt train` is one as well.

    Raises:
        ModelError: there is no classifier of that name, or it cannot be attacked.
    """
    if not (Path(name) / FACTS).is_file():
        return open_victim(name)
    model = PromptModel.load(name)
    fields = dict.fromkeys(each for member in model.members for each in member.pattern.template.fields)
    if not model.task.labels or len(fields or {"text": None}) != 1:
        raise ModelError(f"{name} asks about more than one text, or has no labels of its own. Attacks are on one text.")
    column = next(iter(fields), "text")

    def probabilities(texts: list[str]) -> NDArray[np.float64]:
        return np.exp(model.scores(Examples([{column: text} for text in texts])))

    return Victim(probabilities, name=str(name), labels=model.task.labels)
