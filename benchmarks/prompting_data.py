"""The sets of the prompting study, cut once: test, dev, a pool of texts without labels, and a few examples by seed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from mirrormask.core.seeding import generator
from mirrormask.prompting.cloze_rows import Examples, load_examples
from mirrormask.prompting.cloze_task import ClozeTask, open_task

MODELS = {"sentiment-zh": "mini-zh"}
SMALL: list[bool] = []
"""Not empty where everything is tried at a tiny size."""

LENGTHS = {"mr": 64, "ag-news": 96, "imdb": 192, "sentiment-zh": 128}


@dataclass(frozen=True)
class Set:
    """One dataset.

    Args:
        task: its patterns and words.
        test: what is reported.
        dev: what is chosen by; never trained on.
        pool: where examples are drawn from, and texts whose labels are not looked at.
    """

    task: ClozeTask
    test: Examples
    dev: Examples
    pool: Examples

    def few(self, size: int, seed: int) -> Examples:
        """Return so many examples with labels, every label as often as it can be."""
        labels = np.array(self.pool.labels)
        chance = generator(seed, "few", self.task.name)
        order = chance.permutation(len(labels))
        classes = self.task.labels
        rows = [
            i
            for number, label in enumerate(classes)
            for i in [j for j in order if labels[j] == label][: size // len(classes) + (number < size % len(classes))]
        ]
        return self.pool.take(rows)

    def unlabelled(self, size: int, seed: int) -> Examples:
        """Return so many texts of the pool without their labels."""
        rows = generator(seed, "unlabelled", self.task.name).permutation(len(self.pool))[: 12 if SMALL else size]
        kept = self.pool.take(rows.tolist())
        return Examples(kept.fields, [], None, [], "pool")


@cache
def load_set(name: str, test: int = 2000, dev: int = 500) -> Set:
    """Return a dataset; where it has no test split, one is cut from it with a fixed seed."""
    task = open_task(name)
    test, dev = (12, 6) if SMALL else (test, dev)
    train = load_examples(task, "train")
    order = generator(7, "cut", name).permutation(len(train)).tolist()
    if name == "mr":
        held, order = train.take(order[:test]), order[test:]
    else:
        whole = load_examples(task, "test")
        held = whole.take(generator(7, "test", name).permutation(len(whole))[:test].tolist())
    return Set(task, held, train.take(order[:dev]), train.take(order[dev : dev + 400 if SMALL else None]))
