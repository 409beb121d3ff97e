"""A task written for the tests, and the tiny masked LM."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirrormask.models.masked_lm import MaskedLM
from mirrormask.prompting.cloze_rows import Examples
from mirrormask.prompting.cloze_task import ClozeTask, Question


@pytest.fixture(scope="session")
def opened(tiny_folder: Path) -> MaskedLM:
    """The tiny masked LM; who trains it takes a copy."""
    return MaskedLM.load(tiny_folder)


@pytest.fixture(scope="session")
def task() -> ClozeTask:
    """Who acts: a person or an animal."""
    questions = (Question("{text} this means [MASK]."), Question("[MASK]: {text}"))
    return ClozeTask("beings", questions, {"person": ["baker"], "animal": ["cat"]})


@pytest.fixture(scope="session")
def examples() -> Examples:
    """Sixteen texts whose label is told by one word."""
    objects = ("a wooden boat", "the broken clock", "two red apples", "an empty street")
    verbs = ("paints", "finds")
    texts = [(f"{who} {verb} {what}.", label) for what in objects for verb in verbs for who, label in WHO]
    return Examples([{"text": text} for text, _ in texts], [label for _, label in texts], source="beings.csv")


WHO = (("the old baker", "person"), ("the gray cat", "animal"))
