from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from mirrormask.core.batch import Frame, Ids
from mirrormask.data.batching import Batches
from mirrormask.data.pairs import Examples, Rows
from mirrormask.heads.task_batches import TaskBatches

SIZES = {"large": 800, "small": 200, "tiny": 8}


class Numbers(Examples):
    """Row i is the text i."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def columns(self, examples: Rows, seed: int) -> tuple[list[Ids], ...]:
        return ([np.array([number + 2]) for number in examples.tolist()],)


def batches(sampling: str, steps: int = 2000) -> TaskBatches:
    frame = Frame(np.array([0]), np.array([1]))
    tasks = {
        name: Batches(Numbers(size), frame, batch_size=8, max_length=8, seed=1, min_rows=1)
        for name, size in SIZES.items()
    }
    return TaskBatches(tasks, sampling=sampling, steps=steps, seed=5)


def test_together_every_task_has_a_batch_and_small_ones_begin_anew() -> None:
    source = batches("together")
    assert len(source) == 100, "until the largest is through"
    seen: dict[str, Counter[int]] = {name: Counter() for name in SIZES}
    for batch in source.stream(0, 100):
        assert list(batch) == list(SIZES)
        for name, each in batch.items():
            seen[name].update(int(row[1]) for row in each.columns[0].rows)
    assert {name: set(each.values()) for name, each in seen.items()} == {"large": {1}, "small": {4}, "tiny": {100}}
    assert all(len(each) == SIZES[name] for name, each in seen.items())


@pytest.mark.parametrize(("sampling", "power"), [("proportional", 1.0), ("square-root", 0.5)])
def test_one_task_a_step_is_drawn_by_its_size(sampling: str, power: float) -> None:
    source = batches(sampling)
    assert len(source) == 126
    drawn = Counter(next(iter(source.at(step))) for step in range(2000))
    sizes = np.array([*SIZES.values()], dtype=float) ** power
    expected = dict(zip(SIZES, sizes / sizes.sum(), strict=True))
    assert {name: drawn[name] / 2000 for name in SIZES} == pytest.approx(expected, abs=0.035)


def test_annealed_sampling_ends_nearly_even() -> None:
    source = batches("annealed", steps=12_600)
    first, last = (Counter(next(iter(source.at(s))) for s in steps) for steps in (range(1000), range(11_600, 12_600)))
    assert first["large"] > 720
    assert last["tiny"] > 130
    assert last["large"] < 560


def test_a_drawn_task_goes_through_its_rows_in_order() -> None:
    source = batches("square-root")
    steps = [step for step in range(300) if "small" in source.at(step)][:25]
    rows = [int(row[1]) for step in steps for row in source.at(step)["small"].columns[0].rows]
    assert sorted(rows) == list(range(2, 202)), "an epoch of it, no row twice"
    again = batches("square-root")
    assert [next(iter(again.at(step))) for step in range(50)] == [next(iter(source.at(step))) for step in range(50)]
