"""What is answered: each question of the service as one call of the library, in a thread beside the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import DataError, MirrormaskError, ModelError
from mirrormask.core.wording import counted
from mirrormask.data.text.sentences import is_chinese
from mirrormask.exploring.duplicates import find_duplicates
from mirrormask.exploring.text_map import FEWEST, draw_map
from mirrormask.exploring.texts import Texts
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.models.names import CHINESE_MODEL, DEFAULT_MODEL
from mirrormask.probing.sentence import probe_sentence, split
from mirrormask.search.hits import Hit
from mirrormask.service.batcher import Batcher
from mirrormask.service.bodies import MOST_WORDS
from mirrormask.service.limits import Limits
from mirrormask.service.meters import Meters
from mirrormask.service.served import Generation, Served

Answer = TypeVar("Answer")

MAPPED, COMPARED = 5_000, 20_000
"""Documents that a map shows, and among which duplicates are looked for; of more, a sample."""

_PATIENCE = 2.0  # seconds that a request waits for a map


class NotFound(MirrormaskError):
    """Something that is not there."""


class Service:
    """Everything that answers, and the threads it answers in.

    Args:
        served: indexes and models.
        limits: how much is taken on.
    """

    def __init__(self, served: Sequence[Served], limits: Limits | None = None) -> None:
        self.served, self.limits, self.meters = list(served), limits or Limits(), Meters()
        self.batcher = Batcher(self.limits.waiting, self.meters.encoded)
        self.ending = False
        self._searching = ThreadPoolExecutor(4, thread_name_prefix="searching")
        self._probing = ThreadPoolExecutor(1, thread_name_prefix="probing")
        self._masked: dict[bool, tuple[str, MaskedLM]] = {}  # for Chinese and for all else, used in one thread

    @property
    def indexes(self) -> list[Served]:
        """Return what can be searched."""
        return [each for each in self.served if each.generation is not None]

    def index(self, name: str | None = None) -> Served:
        """Return an index by its name; the first by default."""
        return self._named(self.indexes, name, "index")

    def encoder(self, name: str | None = None) -> Served:
        """Return anything that is served, since everything encodes."""
        return self._named(self.served, name, "model")

    def _named(self, among: Sequence[Served], name: str | None, what: str) -> Served:
        if not among:
            raise NotFound("Only models are served here, and this needs an index: mirrormask serve INDEX.")
        for each in among:
            if name in (None, "", each.name):
                return each
        there = ", ".join(each.name for each in among)
        raise NotFound(f"There is no {what} {name!r:.100} here. Name one of: {there}.")

    async def search(self, served: Served, query: str, **options: Any) -> list[dict[str, Any]]:
        """Return the hits of a query, as `search --json` shows them."""
        if not query.strip():
            raise MirrormaskError("The query is empty. Say what to look for.")

        async def ask(generation: Generation) -> list[list[Hit]]:
            vectors = None
            if options["mode"] != "words":
                vectors, _ = await self.batcher.encode(generation.queries, [query])
            return await self.run(partial(generation.index.search_many, [query], vectors=vectors, **options))

        return [hit.to_dict() for hit in (await self._asked(served, ask))[0]]

    async def similar(self, served: Served, identity: str, **options: Any) -> list[dict[str, Any]]:
        """Return documents like one."""

        async def ask(generation: Generation) -> list[Hit]:
            return await self.run(partial(generation.index.like, identity, **options))

        try:
            return [hit.to_dict() for hit in await self._asked(served, ask)]
        except DataError as error:
            raise NotFound(str(error)) from None

    async def _asked(self, served: Served, ask: Callable[[Generation], Awaitable[Answer]]) -> Answer:
        """Ask an index; where it was replaced and a file is gone that was not read yet, the one in its place."""
        try:
            return await ask(_generation(served))
        except FileNotFoundError:
            await self.run(served.refresh)
            return await ask(_generation(served))

    async def encode(self, served: Served, texts: Sequence[str]) -> tuple[NDArray[np.float32], int]:
        """Return the vectors of texts and how many tokens they were."""
        return await self.batcher.encode(served.texts, texts)

    async def probe(self, sentence: str) -> dict[str, Any]:
        """Return what masks say of a sentence, by the model that is served where it has a language model's head."""
        words = split(sentence)
        if len(words) > MOST_WORDS:
            raise MirrormaskError(
                f"A sentence may have {MOST_WORDS} words, since every two are masked. Got {len(words)}."
            )
        return await asyncio.get_running_loop().run_in_executor(self._probing, partial(self._probed, words))

    def _probed(self, words: Sequence[str]) -> dict[str, Any]:
        chinese = is_chinese("".join(words))
        if chinese not in self._masked:
            wanted = (CHINESE_MODEL, CHINESE_MODEL) if chinese else self._own_model()
            try:
                self._masked[chinese] = wanted[0], MaskedLM.load(wanted[1])
            except ModelError:  # an encoder without a head: what structure is, any masked LM shows
                self._masked[chinese] = DEFAULT_MODEL, MaskedLM.load(DEFAULT_MODEL)
        name, lm = self._masked[chinese]
        return {**probe_sentence(words, model=lm).to_dict(), "model": name}

    def _own_model(self) -> tuple[str, str]:
        return self.served[0].encoder_name, self.served[0].model_folder

    async def text_map(self, served: Served) -> dict[str, Any] | None:
        """Return the map of an index; None while it is being made."""
        documents = len(_generation(served).index)
        if documents < FEWEST:
            raise NotFound(f"A map needs {FEWEST} documents, and {served.name} has {documents}.")
        return await self._made(served, "map", _map_of)

    async def duplicates(self, served: Served) -> dict[str, Any] | None:
        """Return what repeats in an index; None while it is looked for."""
        return await self._made(served, "duplicates", _duplicates_of)

    async def _made(
        self, served: Served, what: str, make: Callable[[str, Generation], dict[str, Any]]
    ) -> dict[str, Any] | None:
        generation = _generation(served)
        future: Future[dict[str, Any]] = generation.once(what, partial(make, served.name, generation))
        done, _ = await asyncio.wait([asyncio.wrap_future(future)], timeout=_PATIENCE)
        return future.result() if done else None

    async def run(self, work: Callable[[], Any]) -> Any:
        """Run something short beside the loop."""
        return await asyncio.get_running_loop().run_in_executor(self._searching, work)

    async def watch(self, every: float = 0.5) -> None:
        """Open indexes again as they are replaced, until cancelled."""
        while True:
            await asyncio.sleep(every)
            for each in self.indexes:
                await self.run(each.refresh)

    def gauges(self) -> dict[str, tuple[str, str, float]]:
        """Return what metrics say of now."""
        found: dict[str, tuple[str, str, float]] = {
            "mirrormask_waiting_texts": ("gauge", "Texts that wait to be encoded.", self.batcher.waiting)
        }
        for what, kind, meaning in (
            ("documents", "gauge", "Documents of an index."),
            ("reloads_total", "counter", "Times that a replaced index was opened."),
            ("reload_failures_total", "counter", "Times that a replaced index could not be opened."),
        ):
            for each in self.indexes:
                value = {"documents": len(_generation(each).index), "reloads_total": each.reloads}.get(what)
                shown = each.name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
                count = each.failures if value is None else value
                found[f'mirrormask_index_{what}{{index="{shown}"}}'] = (kind, meaning, count)
        return found

    def close(self) -> None:
        """End the threads, once they have answered."""
        self.batcher.close()
        for pool in (self._searching, self._probing):
            pool.shutdown(cancel_futures=True)


def _generation(served: Served) -> Generation:
    assert served.generation is not None
    return served.generation


def _texts_of(name: str, generation: Generation, most: int) -> tuple[Texts, dict[str, int]]:
    ids, texts, vectors = generation.index.documents(most)
    left = len(generation.index) - len(ids)
    notes = (f"A sample: {counted(left, 'document')} more are not here.",) if left else ()
    return Texts(name, texts, ids, notes, vectors), {"left_out": left}


def _map_of(name: str, generation: Generation) -> dict[str, Any]:
    texts, left = _texts_of(name, generation, MAPPED)
    found = draw_map(texts, most=MAPPED)
    drawn, places = found.drawing(), found.places.astype(float).round(4).tolist()
    rows = zip(texts.ids, places, found.groups.tolist(), drawn["texts"], strict=True)
    points = [{"id": own, "x": x, "y": y, "group": group, "text": text} for own, (x, y), group, text in rows]
    groups = [{**group, "x": x, "y": y} for group, (x, y) in zip(found.to_dict()["groups"], drawn["at"], strict=True)]
    return {"texts": len(points), **left, "points": points, "groups": groups}


def _duplicates_of(name: str, generation: Generation) -> dict[str, Any]:
    texts, left = _texts_of(name, generation, COMPARED)
    found = find_duplicates(texts).to_dict()
    return {**{key: value for key, value in found.items() if key not in ("schema", "notes")}, **left}
