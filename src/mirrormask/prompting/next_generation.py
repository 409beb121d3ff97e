"""iPET's next training set: unlabelled texts with the labels that other patterns give them.

Paper: Schick and Schütze 2021, "Exploiting Cloze Questions", Section 3.3 and its zero-shot variant

A member is taught by a random share of the others. Texts are drawn with chance in proportion to the confidence in
their label, without replacement, so that labels keep their shares. A generation is `growth` times the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import DataError, above, at_least
from mirrormask.core.seeding import generator
from mirrormask.prompting.cloze_rows import Examples
from mirrormask.prompting.saved_prompt import merged
from mirrormask.prompting.zero_shot import log_softmax

Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Generations:
    """How generations follow each other.

    Args:
        count: of generations after the first models.
        growth: how many times larger each training set is than the one before.
        others: share of the other members that teach one.
        start: examples for each label in the first generation, where there are no labels to begin with.
        likeliest: texts that are taken to have a label where there are no labels to begin with, the likeliest first.
    """

    count: int = 3
    growth: float = 5.0
    others: float = 0.25
    start: int = 10
    likeliest: int = 100

    def __post_init__(self) -> None:
        at_least("count", self.count, 1, of="generations")
        above("growth", self.growth, 0, of="generations")
        above("others", self.others, 0, of="generations")
        at_least("start", self.start, 1, of="generations")
        at_least("likeliest", self.likeliest, 1, of="generations")


def next_examples(
    scores: Sequence[Scores],
    member: int,
    weights: Sequence[float],
    labels: Sequence[str],
    examples: Examples | None,
    unlabelled: Examples,
    how: Generations,
    *,
    generation: int,
    seed: int,
) -> Examples:
    """Return the training set of one member: the examples, and texts labelled by others.

    Args:
        scores: every member's scores of the unlabelled texts (n, labels).
        member: whose set it is.
        weights: of the members.
        labels: the task's.
        examples: with labels, where there are any.
        unlabelled: the texts.
        how: the sizes.
        generation: its number, from 1.
        seed: of the draws.
    """
    chance = generator(seed, "next")
    others = [each for each in range(len(scores)) if each != member] or [member]
    chosen = chance.choice(others, size=max(1, round(how.others * len(others))), replace=False)
    teachers = [int(each) for each in chosen]
    sure = np.exp(log_softmax(merged([scores[i] for i in teachers], [weights[i] or 1e-9 for i in teachers])))
    known = np.zeros(len(labels)) if examples is None else np.bincount(examples.numbers(labels), minlength=len(labels))
    shares = known / known.sum() if known.sum() else np.full(len(labels), 1 / len(labels))
    first = known.sum() * how.growth if known.sum() else how.start * len(labels)
    size = first * how.growth ** (generation - 1)
    rows: list[int] = []
    given: list[str] = []
    for number, label in enumerate(labels):
        wanted = max(0, round(size * shares[number]) - int(known[number]))
        pool = np.flatnonzero(sure.argmax(1) == number)
        if examples is None and generation == 1:
            pool = np.argsort(-sure[:, number], kind="stable")[: max(how.likeliest, wanted)]
        drawn = draw(pool, sure[pool, number], wanted, chance)
        rows += drawn
        given += [label] * len(drawn)
    if not rows and examples is None:
        raise DataError("No unlabelled text was given a label. Give more of them.")
    more = unlabelled.take(rows)
    before = [] if examples is None else examples.fields
    return Examples([*before, *more.fields], [*([] if examples is None else examples.labels), *given])


def draw(pool: NDArray[np.int64], confidence: Scores, count: int, chance: np.random.Generator) -> list[int]:
    """Return some of the pool, drawn without replacement with chance in proportion to confidence."""
    count = min(count, len(pool))
    if not count:
        return []
    weights = np.maximum(confidence, 1e-12)
    return [int(each) for each in chance.choice(pool, size=count, replace=False, p=weights / weights.sum())]
