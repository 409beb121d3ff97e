"""What waits together is encoded together, in order, and nobody pays for another's mistake."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mirrormask.core.batch import Tokens
from mirrormask.service.batcher import Batcher, Full


class Lengths:
    """An encoder whose tokens are letters and whose vectors count them; it can be held."""

    budget = 100

    def __init__(self) -> None:
        self.free = threading.Event()
        self.free.set()
        self.began = threading.Event()
        self.batches: list[list[str]] = []

    def rows(self, texts: Sequence[str]) -> Tokens:
        if any("bad" in text for text in texts):
            raise ValueError("a text that cannot be read")
        return Tokens.of([np.ones(len(text), dtype=np.int64) for text in texts])

    def vectors(self, texts: Sequence[str], tokens: Tokens) -> NDArray[np.float32]:
        self.began.set()
        self.free.wait(20)
        self.batches.append(list(texts))
        if any("broken" in text for text in texts):
            raise RuntimeError("the model broke")
        return tokens.lengths[:, None].astype(np.float32)


async def held(encoder: Lengths, batcher: Batcher) -> Any:
    """Keep the thread busy with one text, so that others wait."""
    encoder.free.clear()
    first = asyncio.create_task(batcher.encode(encoder, ["first"]))
    await asyncio.to_thread(encoder.began.wait, 20)
    return first


def test_requests_that_wait_share_a_batch_and_get_their_own_rows() -> None:
    encoder, told = Lengths(), []
    batcher = Batcher(100, lambda *facts: told.append(facts[:2]))

    async def ask() -> list[Any]:
        first = await held(encoder, batcher)
        others = [asyncio.create_task(batcher.encode(encoder, ["a" * n, "b" * (n + 1)])) for n in range(1, 6)]
        await asyncio.sleep(0)
        encoder.free.set()
        return await asyncio.gather(first, *others)

    found = asyncio.run(ask())
    batcher.close()
    assert [each[0][:, 0].tolist() for each in found] == [[5.0], *[[n, n + 1.0] for n in range(1, 6)]]
    assert [each[1] for each in found] == [5, *[2 * n + 1 for n in range(1, 6)]]
    assert [len(batch) for batch in encoder.batches] == [1, 10] and told == [(1, 5), (10, 35)]


def test_a_batch_ends_where_its_tokens_are_enough_and_encoders_are_kept_apart() -> None:
    one, other = Lengths(), Lengths()
    batcher = Batcher(100)

    async def ask() -> None:
        first = await held(one, batcher)
        texts = [(one, "a" * 60), (other, "b" * 5), (one, "c" * 60), (one, "d" * 60), (other, "e")]
        others = [asyncio.create_task(batcher.encode(encoder, [text])) for encoder, text in texts]
        await asyncio.sleep(0)
        one.free.set()
        await asyncio.gather(first, *others)

    asyncio.run(ask())
    batcher.close()
    assert [[text[0] for text in batch] for batch in one.batches] == [["f"], ["a", "c"], ["d"]]
    assert other.batches == [["bbbbb", "e"]]


def test_a_large_request_lets_others_in() -> None:
    encoder = Lengths()
    batcher = Batcher(10_000)

    async def ask() -> None:
        first = await held(encoder, batcher)
        large = asyncio.create_task(batcher.encode(encoder, ["x"] * 600))
        await asyncio.sleep(0)
        small = asyncio.create_task(batcher.encode(encoder, ["small"]))
        await asyncio.sleep(0)
        encoder.free.set()
        await small
        assert not large.done()
        vectors, tokens = await large
        assert vectors.shape == (600, 1) and tokens == 600
        await first

    asyncio.run(ask())
    batcher.close()
    assert batcher.waiting == 0


def test_a_full_queue_refuses_and_says_when_to_come_again() -> None:
    encoder = Lengths()
    batcher = Batcher(3)

    async def ask() -> None:
        first = await held(encoder, batcher)
        second = asyncio.create_task(batcher.encode(encoder, ["a", "b"]))
        await asyncio.sleep(0)
        with pytest.raises(Full, match=r"Try again in 1 s\."):
            await batcher.encode(encoder, ["c"])
        encoder.free.set()
        await asyncio.gather(first, second)
        assert len((await batcher.encode(encoder, ["d"] * 5))[0]) == 5  # larger than the queue, and nothing waits

    asyncio.run(ask())
    batcher.close()


def test_errors_and_departures_are_each_request_own() -> None:
    encoder = Lengths()
    batcher = Batcher(100)

    async def ask() -> None:
        first = await held(encoder, batcher)
        good, bad, gone = (asyncio.create_task(batcher.encode(encoder, [text])) for text in ("good", "bad", "gone"))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
        encoder.free.set()
        assert (await good)[0].tolist() == [[4.0]]
        with pytest.raises(ValueError, match="cannot be read"):
            await bad
        with pytest.raises(asyncio.CancelledError):
            await gone
        await first
        with pytest.raises(RuntimeError, match="the model broke"):
            await batcher.encode(encoder, ["broken"])
        assert (await batcher.encode(encoder, ["after"]))[0].tolist() == [[5.0]]

    asyncio.run(ask())
    batcher.close()
    assert ["gone"] not in encoder.batches and batcher.waiting == 0
