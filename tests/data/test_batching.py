"""Any batch of any epoch, the same every time, split among processes without loss or repetition."""

from __future__ import annotations

import gc
import itertools
import threading
import time

import numpy as np
import pytest

from mirrormask.core.batch import Batch, Frame, Ids
from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.data.batching import Batches, prefetch
from mirrormask.data.held_out import Rest
from mirrormask.data.pairs import Examples, Rows

FRAME = Frame(np.array([101]), np.array([102]))


class Numbers(Examples):
    """Example i has the anchor [i, i, …] of i % 7 tokens and, as a positive, i with the seed's last digit."""

    def __init__(self, count: int, broken_at: int | None = None) -> None:
        self.count = count
        self.broken_at = broken_at

    def __len__(self) -> int:
        return self.count

    def columns(self, examples: Rows, seed: int) -> tuple[list[Ids], ...]:
        if self.broken_at in examples.tolist():
            raise ValueError("this example is broken")
        return (
            [np.full(i % 7, i, dtype=np.uint16) for i in examples.tolist()],
            [np.array([i, seed % 10], dtype=np.uint16) for i in examples.tolist()],
        )


def batches(count: int, batch_size: int, *, seed: int = 1, drop_last: bool = False, min_rows: int = 2) -> Batches:
    return Batches(
        Numbers(count), FRAME, batch_size=batch_size, max_length=6, seed=seed, drop_last=drop_last, min_rows=min_rows
    )


def ids_of(batch: Batch) -> list[int]:
    return [int(row[1]) for row in batch.columns[1].rows]


def test_rows_are_framed_and_cut() -> None:
    batch = batches(20, 8).at(0)
    assert len(batch) == 8
    assert len(batch.columns) == 2
    for i, anchor, positive in zip(ids_of(batch), *(column.rows for column in batch.columns), strict=True):
        assert anchor.tolist() == [101, *[i] * min(i % 7, 4), 102]
        assert positive.tolist()[:2] == [101, i]


@pytest.mark.parametrize(
    ("count", "size", "drop_last", "steps"),
    [(20, 8, False, 3), (17, 8, False, 2), (16, 8, False, 2), (18, 8, False, 3), (23, 8, True, 2), (5, 8, False, 1)],
)
def test_an_epoch_holds_every_row_at_most_once(count: int, size: int, drop_last: bool, steps: int) -> None:
    source = batches(count, size, drop_last=drop_last)
    assert len(source) == steps
    for epoch in range(3):
        seen = [i for step in range(steps) for i in ids_of(source.at(epoch * steps + step))]
        assert len(seen) == len(set(seen)) <= count
        assert count - len(seen) == (count % size if drop_last else count % size == 1)


def test_labels_and_numbers_of_texts_come_along() -> None:
    class Labelled(Numbers):
        def labels(self, examples: Rows) -> Rows:
            return examples % 3

    source = Batches(Labelled(40), FRAME, batch_size=16, max_length=6, seed=1)
    batch = source.at(0)
    assert batch.labels is not None
    assert batch.text_ids is not None
    assert batch.labels.tolist() == [i % 3 for i in ids_of(batch)]
    assert batches(40, 16).at(0).labels is None
    rows = [[tuple(row.tolist()) for row in column.rows] for column in batch.columns]
    for i, j in itertools.product(range(16), repeat=2):  # an empty anchor is the same text as any other
        assert (batch.text_ids[i, 0] == batch.text_ids[j, 0]) == (rows[0][i] == rows[0][j])
        assert (batch.text_ids[i, 0] == batch.text_ids[j, 1]) == (rows[0][i] == rows[1][j])
    parts = [source.at(0, rank=rank, world=3) for rank in range(3)]
    assert [row for part in parts for row in part.text_ids.tolist()] == batch.text_ids.tolist()  # type: ignore[union-attr]
    assert [row for part in parts for row in part.labels.tolist()] == batch.labels.tolist()  # type: ignore[union-attr]


def test_epochs_and_seeds_differ() -> None:
    source = batches(64, 8)
    first, second = ([ids_of(source.at(epoch * 8 + step)) for step in range(8)] for epoch in (0, 1))
    assert first != second
    assert first != [ids_of(batches(64, 8, seed=2).at(step)) for step in range(8)]
    digits = {int(row[2]) for epoch in range(20) for row in source.at(epoch * 8).columns[1].rows}
    assert len(digits) > 3  # what a pairing draws changes with the epoch


def test_any_step_without_the_ones_before() -> None:
    one, other = batches(100, 8), batches(100, 8)
    expected = [ids_of(one.at(step)) for step in range(30)]
    assert [ids_of(other.at(step)) for step in (29, 3, 17)] == [expected[29], expected[3], expected[17]]


@pytest.mark.parametrize("world", [1, 2, 3, 5])
def test_processes_share_a_batch(world: int) -> None:
    source = batches(46, 16, min_rows=5)
    for step in range(len(source) + 2):
        whole = source.at(step)
        parts = [source.at(step, rank=rank, world=world) for rank in range(world)]
        assert list(itertools.chain.from_iterable(map(ids_of, parts))) == ids_of(whole)
        sizes = [len(part) for part in parts]
        assert max(sizes) - min(sizes) <= 1
        for column in range(2):
            rows = [row for part in parts for row in part.columns[column].rows]
            assert all(np.array_equal(a, b) for a, b in zip(rows, whole.columns[column].rows, strict=True))
    assert sum(len(source.at(2, rank=rank, world=world)) for rank in range(world)) == 14


def test_bad_settings() -> None:
    with pytest.raises(MirrormaskError, match=r"'batch_size' must be at least 2, because a row alone .* Got 1\."):
        batches(10, 1)
    with pytest.raises(DataError, match=r"5 examples do not fill a batch of 8\. Lower 'batch_size'"):
        batches(5, 8, drop_last=True)
    with pytest.raises(MirrormaskError, match=r"'max_length' of batches must be at least 3\. Got 2"):
        Batches(Numbers(9), FRAME, batch_size=4, max_length=2, seed=0)


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "mirrormask-batches"]


def test_prefetched_batches_are_the_same() -> None:
    source = batches(50, 8)
    assert [ids_of(batch) for batch in source.stream(3, 40)] == [ids_of(source.at(step)) for step in range(3, 40)]
    assert [ids_of(batch) for batch in source.stream(3, 9, 1, 2)] == [
        ids_of(source.at(step, rank=1, world=2)) for step in range(3, 9)
    ]
    assert list(source.stream(5, 5)) == []
    assert threads() == []


def test_prefetching_stays_bounded_and_ends_when_closed() -> None:
    class Counting(Numbers):
        drawn = 0

        def columns(self, examples: Rows, seed: int) -> tuple[list[Ids], ...]:
            self.drawn += 1
            return super().columns(examples, seed)

    examples = Counting(1000)
    source = Batches(examples, FRAME, batch_size=4, max_length=6, seed=0)
    stream = prefetch(source, 0, 200, ahead=3)
    next(stream)
    time.sleep(0.2)
    assert examples.drawn <= 5
    assert len(threads()) == 1
    stream.close()  # type: ignore[attr-defined]
    assert threads() == []
    stream = prefetch(source, 0, 200)
    next(stream)
    del stream
    gc.collect()
    assert threads() == []


def test_errors_come_through_in_their_place() -> None:
    source = Batches(Numbers(40, broken_at=11), FRAME, batch_size=4, max_length=6, seed=0)
    order = [ids_of(batches(40, 4, seed=0).at(step)) for step in range(10)]
    bad = next(step for step, ids in enumerate(order) if 11 in ids)
    seen = []
    with pytest.raises(ValueError, match="this example is broken"):
        for batch in source.stream(0, 10):
            seen.append(ids_of(batch))
    assert seen == order[:bad]
    assert threads() == []


def test_leaving_early_by_an_error_ends_the_thread() -> None:
    with pytest.raises(RuntimeError):
        for _ in batches(400, 4).stream(0, 90):
            raise RuntimeError
    gc.collect()
    assert threads() == []


def test_rows_that_belong_together_come_in_one_batch() -> None:
    examples = Numbers(640)
    examples.together = 8
    rest = Rest(examples, 64, seed=3)
    made = Batches(rest, FRAME, batch_size=32, max_length=6, seed=5)
    seen: list[int] = []
    for step in range(len(made)):
        numbers = np.array(ids_of(made.at(step)))
        runs, sizes = np.unique(numbers // 8, return_counts=True)
        assert len(runs) == 4
        assert set(sizes.tolist()) == {8}
        seen += numbers.tolist()
    assert len(set(seen)) == len(seen) == 576
    assert ids_of(made.at(0)) != ids_of(made.at(len(made)))  # every epoch anew
