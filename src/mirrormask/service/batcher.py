"""Requests that wait together are encoded together: what is queued goes through the model as one batch of tokens."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.batch import Tokens

Floats = NDArray[np.float32]

_CHUNK_TEXTS, _CHUNK_SIZE = 256, 8192  # texts and characters after which a large request lets others in


class Reads(Protocol):
    """What turns texts into tokens and tokens into vectors."""

    @property
    def budget(self) -> int:
        """Return how many tokens go through the model at once, where as many wait."""

    def rows(self, texts: Sequence[str]) -> Tokens:
        """Return the tokens of texts, with what frames them."""

    def vectors(self, texts: Sequence[str], tokens: Tokens) -> Floats:
        """Return one vector for each text."""


class Full(Exception):
    """Too much waits already.

    Args:
        seconds: after which it is worth trying again.
    """

    def __init__(self, seconds: int) -> None:
        super().__init__(f"More waits than can be answered soon. Try again in {seconds} s.")
        self.seconds = seconds


@dataclass
class _Job:
    encoder: Reads
    texts: Sequence[str]
    done: Future[tuple[Floats, int]] = field(default_factory=Future)


class Batcher:
    """One thread that encodes what waits, in the order in which it came.

    Args:
        most: texts that may wait.
        told: called with the texts, the tokens and the seconds of every batch.
    """

    def __init__(self, most: int, told: Callable[[int, int, float], None] | None = None) -> None:
        self.most, self.waiting = most, 0
        self._told = told
        self._jobs: deque[_Job] = deque()
        self._news = threading.Condition()
        self._ends = False
        self._rate = 0.0  # texts a second, lately
        self._thread = threading.Thread(target=self._work, name="encoding", daemon=True)
        self._thread.start()

    async def encode(self, encoder: Reads, texts: Sequence[str]) -> tuple[Floats, int]:
        """Return the vectors of texts (n, d) and how many tokens they were.

        Raises:
            Full: there is no room for them now; a request larger than the queue is taken where nothing waits.
        """
        if self.waiting and self.waiting + len(texts) > self.most:
            raise Full(self.wait())
        self.waiting += len(texts)
        left = len(texts)
        try:
            found, tokens = [], 0
            for chunk in _chunks(texts):
                job = _Job(encoder, chunk)
                with self._news:
                    self._jobs.append(job)
                    self._news.notify()
                vectors, count = await asyncio.wrap_future(job.done)
                found.append(vectors)
                tokens += count
                self.waiting -= len(chunk)
                left -= len(chunk)
            return (found[0] if len(found) == 1 else np.concatenate(found)), tokens
        finally:
            self.waiting -= left

    def wait(self) -> int:
        """Return in how many seconds what waits now will be done, at least 1 and at most 60."""
        return max(1, min(60, math.ceil(self.waiting / self._rate))) if self._rate else 1

    def close(self) -> None:
        """Encode what was taken and end."""
        with self._news:
            self._ends = True
            self._news.notify()
        self._thread.join()

    def _work(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(lambda: self._jobs or self._ends)
                if not self._jobs:
                    return
            began = time.perf_counter()
            batch, rows = self._batch()
            if batch:
                self._answer(batch, rows, began)

    def _batch(self) -> tuple[list[_Job], list[Any]]:
        """Take jobs of one encoder out of the queue until their tokens are enough; others stay in their order."""
        batch: list[_Job] = []
        rows: list[Any] = []
        tokens = 0
        later: list[_Job] = []
        while not batch or tokens < batch[0].encoder.budget:
            with self._news:
                if not self._jobs:
                    break
                job = self._jobs.popleft()
            if batch and job.encoder is not batch[0].encoder:
                later.append(job)
                continue
            if not job.done.set_running_or_notify_cancel():  # whoever asked has gone
                continue
            try:
                own = job.encoder.rows(job.texts)
            except Exception as error:
                job.done.set_exception(error)
                continue
            batch.append(job)
            rows.extend(own.rows)
            tokens += int(own.lengths.sum())
        with self._news:
            self._jobs.extendleft(reversed(later))
        return batch, rows

    def _answer(self, batch: list[_Job], rows: list[Any], began: float) -> None:
        tokens = Tokens.of(rows)
        try:
            vectors = batch[0].encoder.vectors([text for job in batch for text in job.texts], tokens)
        except BaseException as error:
            for job in batch:
                job.done.set_exception(error)
            return
        start = 0
        for job in batch:
            end = start + len(job.texts)
            job.done.set_result((vectors[start:end], int(tokens.lengths[start:end].sum())))
            start = end
        seconds = time.perf_counter() - began
        rate = len(rows) / max(seconds, 1e-6)
        self._rate = rate if not self._rate else 0.8 * self._rate + 0.2 * rate
        if self._told is not None:
            self._told(len(rows), int(tokens.lengths.sum()), seconds)


def _chunks(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    start = size = 0
    for place, text in enumerate(texts):
        size += len(text)
        if place - start + 1 == _CHUNK_TEXTS or size >= _CHUNK_SIZE:
            yield texts[start : place + 1]
            start, size = place + 1, 0
    if start < len(texts):
        yield texts[start:]
