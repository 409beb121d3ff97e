"""The HTTP service: what `search`, `encode`, `similarity`, `probe`, `map` and `duplicates` do, as JSON.

    GET  /                 the page; its files under /page/
    GET  /docs             this list with examples, /openapi.json for programs
    GET  /health           {"status": "ok"}; 503 while it ends
    GET  /metrics          for Prometheus, as text
    GET  /api/about        {"version", "served": [...], "compare", "probe", "limits", "keys"}; each served has name,
                           kind (index or model), model, dimension, and an index documents, passages, generation, modes,
                           map, duplicates, and columns: [{"name", "numeric", "different", "low", "high",
                           "values": [{"value", "count", "where"}]}], `where` being the condition that asks for a value
    POST /api/search       {"query", "mode"?, "top"?, "where"?, "index"?} -> {"index", "query", "mode", "where", "hits"}
                           a hit: {"id", "score", "passage", "place": [begin, end], "matches": [[begin, end], ...] in
                           the passage in characters (not UTF-16 units), "shares": {"words", "vectors"}, "metadata"}
    POST /api/similar      {"id", "mode"?, "top"?, "where"?, "index"?} -> {"index", "id", "hits"}
    POST /api/compare      {"query", "mode"?, "top"?, "where"?} -> {"query", "answers": [{"index", "model", "hits"}]}
    GET  /api/map?index=   {"texts", "left_out", "points": [{"id", "x", "y", "group", "text"}], "groups": [{"name",
                           "texts", "x", "y"}]}, x and y in the unit square; 202 {"status": "computing"} until then
    GET  /api/duplicates?index=   {"texts", "left_out", "repeated", "threshold", "reason", "groups": [{"kind",
                           "similarity", "members": [{"id", "text"}]}]}; 202 likewise
    POST /api/probe        {"sentence"} -> {"model", "words", "impact": n rows of n numbers, "heads": [-1 is the root],
                           "spans": [[begin, end], ...] of words, "brackets", "layer", "measure"}
    POST /api/encode       {"texts", "normalize"?, "model"?} -> {"model", "dimension", "tokens", "vectors"}
    POST /api/similarity   {"a", "b"} -> {"model", "cosine"}, or {"pairs": [[a, b], ...]} -> {"model", "cosines"}
    POST /v1/embeddings    as OpenAI's, vectors of length 1; GET /v1/models

An error is {"error": {"message", "type", "param", "code"}} with a status of 400 (a value that cannot be), 401 (a key is
needed: Authorization: Bearer KEY), 404, 413 (too large), 422 (a body of another shape), 429 (too much waits, and
Retry-After says when) or 503 (it took too long).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from typing import Any

import numpy as np
from fastapi import FastAPI
from fastapi.responses import JSONResponse, Response

from mirrormask import __version__
from mirrormask.core.errors import MirrormaskError
from mirrormask.core.similarity import paired_cosine, unit_rows
from mirrormask.exploring.duplicates import find_duplicates
from mirrormask.exploring.text_map import FEWEST, TextMap, draw_map
from mirrormask.exploring.texts import Texts
from mirrormask.service.batcher import Batcher
from mirrormask.service.bodies import (
    CompareBody,
    EncodeBody,
    ProbeBody,
    SearchBody,
    SimilarBody,
    SimilarityBody,
)
from mirrormask.service.served import Served

KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
MAPPED, COMPARED = 5_000, 20_000
"""Documents that a map shows, and among which duplicates are looked for; of more, a sample."""


class NotFound(MirrormaskError):
    """Something that is not there."""


class Service:
    """Everything that answers, and the threads it answers in.

    Args:
        served: indexes and models.
        queue: texts that may wait to be encoded.
    """

    def __init__(self, served: Sequence[Served], *, queue: int = 4096) -> None:
        self.served = list(served)
        self.batcher = Batcher(queue)
        self.quick = ThreadPoolExecutor(4, thread_name_prefix="search")
        self.slow = ThreadPoolExecutor(1, thread_name_prefix="map")

    def index(self, name: str | None = None) -> Served:
        """Return an index by its name; the first by default."""
        return self._named([each for each in self.served if each.generation is not None], name, "index")

    def encoder(self, name: str | None = None) -> Served:
        """Return anything that is served, since everything encodes."""
        return self._named(self.served, name, "model")

    def _named(self, among: Sequence[Served], name: str | None, what: str) -> Served:
        if not among:
            raise NotFound("Only a model is served here, and this needs an index: mirrormask serve INDEX.")
        for each in among:
            if name in (None, "", each.name):
                return each
        there = ", ".join(each.name for each in among)
        raise NotFound(f"There is no {what} {name!r} here. Name one of: {there}.")

    async def hits(self, served: Served, body: SearchBody | CompareBody) -> list[dict[str, Any]]:
        """Return the hits of a query."""
        await self.run(served.refresh)
        generation = served.generation
        assert generation is not None
        vectors = None
        if body.mode != "words":
            vectors = (await self.batcher.encode(generation.queries, [body.query]))[0]
        options: dict[str, Any] = {"top": body.top, "mode": body.mode, "where": body.where, "vectors": vectors}
        found = await self.run(lambda: generation.index.search_many([body.query], **options)[0])
        return [hit.to_dict() for hit in found]

    def close(self) -> None:
        """End the threads, once they have answered."""
        self.batcher.close()
        self.quick.shutdown()
        self.slow.shutdown(cancel_futures=True)

    async def run(self, work: Callable[[], Any]) -> Any:
        """Run something short beside the loop."""
        return await asyncio.get_running_loop().run_in_executor(self.quick, work)


def make_app(service: Service) -> FastAPI:
    """Return the application."""
    app = FastAPI(title="mirrormask", version=__version__, docs_url=None, redoc_url=None)
    page = files("mirrormask.service") / "page"

    @app.exception_handler(MirrormaskError)
    async def refused(request: Any, error: MirrormaskError) -> JSONResponse:
        status = 404 if isinstance(error, NotFound) else 400
        return JSONResponse({"error": {"message": str(error), "type": "invalid_request_error"}}, status)

    @app.get("/", include_in_schema=False)
    async def start() -> Response:
        return Response((page / "index.html").read_bytes(), media_type=KINDS[".html"])

    @app.get("/page/{name}", include_in_schema=False)
    async def part(name: str) -> Response:
        kinds = {each.name: KINDS.get("." + each.name.rpartition(".")[2]) for each in page.iterdir() if each.is_file()}
        if kinds.get(name) is None:
            raise NotFound(f"There is no file {name!r} here.")
        return Response((page / name).read_bytes(), media_type=kinds[name])

    @app.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/api/about")
    async def about() -> JSONResponse:
        found = [each.about() for each in service.served]
        for each in found:
            if each["kind"] == "index":
                each |= {"map": each["documents"] >= FEWEST, "duplicates": each["documents"] >= 2}
        indexes = sum(each["kind"] == "index" for each in found)
        return JSONResponse({"version": __version__, "served": found, "compare": indexes > 1, "probe": True})

    @app.post("/api/search")
    async def search(body: SearchBody) -> JSONResponse:
        served = service.index(body.index)
        hits = await service.hits(served, body)
        asked = {"index": served.name, "query": body.query, "mode": body.mode, "where": body.where}
        return JSONResponse({**asked, "hits": hits})

    @app.post("/api/similar")
    async def similar(body: SimilarBody) -> JSONResponse:
        served = service.index(body.index)
        await service.run(served.refresh)
        options = {"top": body.top, "mode": body.mode, "where": body.where}
        found = await service.run(lambda: served.generation.index.like(body.id, **options))
        return JSONResponse({"index": served.name, "id": body.id, "hits": [hit.to_dict() for hit in found]})

    @app.post("/api/compare")
    async def compare(body: CompareBody) -> JSONResponse:
        indexes = [each for each in service.served if each.generation is not None]
        if len(indexes) < 2:
            raise NotFound("Side by side needs two indexes: mirrormask serve ONE-INDEX OTHER-INDEX.")
        found = await asyncio.gather(*[service.hits(each, body) for each in indexes])
        answers = [
            {"index": each.name, "model": each.encoder_name, "hits": hits}
            for each, hits in zip(indexes, found, strict=True)
        ]
        return JSONResponse({"query": body.query, "mode": body.mode, "where": body.where, "answers": answers})

    @app.get("/api/map")
    async def text_map(index: str | None = None) -> JSONResponse:
        return await made(index, "map", _map_of)

    @app.get("/api/duplicates")
    async def duplicates(index: str | None = None) -> JSONResponse:
        return await made(index, "duplicates", _duplicates_of)

    async def made(name: str | None, what: str, make: Callable[[Served], Any]) -> JSONResponse:
        served = service.index(name)
        await service.run(served.refresh)
        generation = served.generation
        assert generation is not None
        future = generation.once(what, lambda: make(served), service.slow)
        done, _ = await asyncio.wait([asyncio.wrap_future(future)], timeout=2)
        if not done:
            return JSONResponse({"status": "computing"}, 202, {"retry-after": "2"})
        return JSONResponse(future.result())

    @app.post("/api/probe")
    async def probe(body: ProbeBody) -> JSONResponse:
        from mirrormask.probing.sentence import probe_sentence

        found = await asyncio.get_running_loop().run_in_executor(service.slow, lambda: probe_sentence(body.sentence))
        return JSONResponse(found.to_dict())

    @app.post("/api/encode")
    async def encode(body: EncodeBody) -> JSONResponse:
        served = service.encoder(body.model)
        vectors, tokens = await service.batcher.encode(served.texts, body.texts)
        vectors = unit_rows(vectors) if body.normalize else vectors
        found = {"model": served.name, "dimension": vectors.shape[1], "tokens": tokens}
        return JSONResponse({**found, "vectors": np.round(vectors.astype(float), 7).tolist()})

    @app.post("/api/similarity")
    async def similarity(body: SimilarityBody) -> JSONResponse:
        served = service.encoder(body.model)
        single = body.a is not None and body.b is not None
        if single == (body.pairs is not None):
            raise MirrormaskError('Give either "a" and "b", or "pairs".')
        pairs = [(body.a or "", body.b or "")] if single else body.pairs or []
        vectors, _ = await service.batcher.encode(served.texts, [text for pair in pairs for text in pair])
        cosines = paired_cosine(vectors[::2], vectors[1::2]).round(6).tolist()
        return JSONResponse({"model": served.name, **({"cosine": cosines[0]} if single else {"cosines": cosines})})

    return app


def _texts_of(served: Served, most: int) -> tuple[Texts, int]:
    assert served.generation is not None
    index = served.generation.index
    ids, texts, vectors = index.documents(most)
    return Texts(served.name, texts, ids, (), vectors), len(index) - len(ids)


def _map_of(served: Served) -> dict[str, Any]:
    texts, left = _texts_of(served, MAPPED)
    return {**_as_points(draw_map(texts, most=MAPPED)), "left_out": left}


def _as_points(found: TextMap) -> dict[str, Any]:
    places = found.places.astype(float).round(4).tolist()
    data = found.drawing()
    points = [
        {"id": identity, "x": x, "y": y, "group": group, "text": text}
        for identity, (x, y), group, text in zip(data["ids"], places, found.groups.tolist(), data["texts"], strict=True)
    ]
    groups = [{**group, "x": x, "y": y} for group, (x, y) in zip(found.to_dict()["groups"], data["at"], strict=True)]
    return {"texts": len(points), "points": points, "groups": groups}


def _duplicates_of(served: Served) -> dict[str, Any]:
    texts, left = _texts_of(served, COMPARED)
    found = find_duplicates(texts).to_dict()
    return {**{key: value for key, value in found.items() if key not in ("schema", "notes")}, "left_out": left}
