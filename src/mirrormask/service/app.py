"""The HTTP service: what `search`, `encode`, `similarity`, `probe`, `map` and `duplicates` do, as JSON.

    GET  /                 the page; its files under /page/
    GET  /docs             this list with examples, /openapi.json for programs
    GET  /health           {"status": "ok"}; 503 {"status": "ending"} while it ends
    GET  /metrics          for Prometheus, as text
    GET  /api/about        {"version", "served": [...], "compare", "probe", "limits", "keys"}; each served has name,
                           kind (index or model), model, dimension, backend, and an index documents, passages, modes,
                           generation, map, duplicates, and columns: [{"name", "numeric", "different", "low", "high",
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
needed: Authorization: Bearer KEY), 404, 408 (it came too slowly), 413 (too large), 421 (called by another name), 422 (a
body of another shape; 400 below /v1), 429 (too much waits, and Retry-After says when) or 503 (it took too long).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

import numpy as np
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from mirrormask import __version__
from mirrormask.core.errors import MirrormaskError, ModelError, Unreachable
from mirrormask.core.similarity import paired_cosine, unit_rows
from mirrormask.exploring.text_map import FEWEST
from mirrormask.service import examples
from mirrormask.service.answering import NotFound, Service
from mirrormask.service.api_page import STYLE, api_page
from mirrormask.service.batcher import Full
from mirrormask.service.bodies import (
    MOST_HITS,
    MOST_TEXTS,
    MOST_WORDS,
    CompareBody,
    EncodeBody,
    ProbeBody,
    SearchBody,
    SimilarBody,
    SimilarityBody,
)
from mirrormask.service.errors_json import error_response, without_paths
from mirrormask.service.gate import Door, Gate
from mirrormask.service.json_answer import JsonAnswer
from mirrormask.service.keys import Keys
from mirrormask.service.openai_api import openai_routes
from mirrormask.service.page_files import KINDS, PageFiles


def make_app(
    service: Service,
    *,
    keys: Keys | None = None,
    hosts: frozenset[str] | None = None,
    origins: Sequence[str] = (),
) -> FastAPI:
    """Return the application.

    Args:
        service: what answers.
        keys: of those who may ask; none: everyone.
        hosts: names under which it may be called; None: any.
        origins: web pages of other addresses that may ask from a browser.
    """
    keys = keys or Keys()

    @contextlib.asynccontextmanager
    async def living(app: FastAPI) -> AsyncIterator[None]:
        watching = asyncio.create_task(service.watch())
        yield
        watching.cancel()

    app = FastAPI(
        title="mirrormask",
        version=__version__,
        summary="Search by words and by meaning, and sentence vectors.",
        docs_url=None,
        redoc_url=None,
        lifespan=living,
    )
    meters = service.meters
    wait = service.batcher.wait
    app.add_middleware(Gate, keys=keys, limits=service.limits, hosts=hosts, meters=meters, wait=wait)
    if origins:
        allowed = ["authorization", "content-type", "x-api-key"]
        app.add_middleware(
            CORSMiddleware, allow_origins=list(origins), allow_methods=["GET", "POST"], allow_headers=allowed
        )
    app.add_middleware(Door, meters=meters, ending=lambda: service.ending)
    _answer_errors(app, service)
    _pages(app, service)
    _questions(app, service, bool(keys))
    _texts(app, service)
    app.include_router(openai_routes(service, examples.said))
    return app


def _answer_errors(app: FastAPI, service: Service) -> None:
    @app.exception_handler(MirrormaskError)
    async def refused(request: Any, error: MirrormaskError) -> JsonAnswer:
        names = {path: name for each in service.served for path, name in each.hidden().items()}
        message = without_paths(str(error), names)
        if isinstance(error, NotFound):
            return error_response(404, message, "not_found")
        if isinstance(error, Unreachable):
            return error_response(503, message, "unreachable")
        if isinstance(error, ModelError):
            return error_response(500, message, "model_error")
        return error_response(400, message, "invalid_value")

    @app.exception_handler(Full)
    async def full(request: Any, error: Full) -> JsonAnswer:
        return error_response(429, str(error), "too_many_texts", retry_after=error.seconds)

    @app.exception_handler(RequestValidationError)
    async def misshapen(request: Any, error: RequestValidationError) -> JsonAnswer:
        first = error.errors()[0]
        place = [str(part) for part in first["loc"][1:]]  # after where it stands: body or query
        where = ".".join(place)[:100].encode("utf-8", "replace").decode()
        status = 400 if request.url.path.startswith("/v1") else 422
        if first["type"] == "json_invalid":
            return error_response(400, "The body is no JSON. Send it with Content-Type: application/json.", "no_json")
        said = str(first["msg"]).encode("utf-8", "replace").decode()
        return error_response(status, f"{where or 'The body'}: {said}.", "invalid_body", param=where or None)

    @app.exception_handler(HTTPException)
    async def http(request: Any, error: HTTPException) -> JsonAnswer:
        said = {404: "There is nothing under this path. /docs lists what there is.", 405: "Not with this method."}
        message = said.get(error.status_code, str(error.detail))
        return error_response(error.status_code, message, "http_error", headers=error.headers)


def _pages(app: FastAPI, service: Service) -> None:
    page = PageFiles()

    @app.get("/", include_in_schema=False)
    async def start() -> Response:
        return page.response("index.html")

    @app.get("/page/{name}", include_in_schema=False)
    async def part(name: str) -> Response:
        if name not in page:
            raise NotFound("There is no such file of the page.")
        return page.response(name)

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return Response(api_page(app.openapi()), media_type=KINDS["html"])

    @app.get("/docs.css", include_in_schema=False)
    async def style() -> Response:
        return Response(STYLE, media_type=KINDS["css"])

    @app.get("/health", tags=["The service"], summary="Is it there", responses=examples.plain({"status": "ok"}))
    async def health() -> JsonAnswer:
        """Answers without a key; 503 while the server ends."""
        return JsonAnswer({"status": "ending"}, 503) if service.ending else JsonAnswer({"status": "ok"})

    @app.get("/metrics", tags=["The service"], summary="Counters for Prometheus", response_class=Response)
    async def metrics() -> Response:
        """Requests, batches, what waits, and reloads, as text."""
        return Response(service.meters.text(service.gauges()), media_type="text/plain; version=0.0.4; charset=utf-8")


def _questions(app: FastAPI, service: Service, keys: bool) -> None:
    @app.get("/api/about", tags=["Search"], summary="What is served", responses=examples.said(examples.ABOUT))
    async def about() -> JsonAnswer:
        """Indexes and models by name, their columns with what stands in them, and how much may be asked."""
        found = [each.about() for each in service.served]
        for each in found:
            if each["kind"] == "index":
                each |= {"map": each["documents"] >= FEWEST, "duplicates": each["documents"] >= 2}
        limits = {"texts": MOST_TEXTS, "hits": MOST_HITS, "words": MOST_WORDS, "bytes": service.limits.size}
        more = {"compare": len(service.indexes) > 1, "probe": True, "limits": limits, "keys": keys}
        return JsonAnswer({"version": __version__, "served": found, **more})

    @app.post("/api/search", tags=["Search"], summary="Find documents", responses=examples.said(examples.SEARCH))
    async def search(body: SearchBody) -> JsonAnswer:
        """The best documents, each with its best passage, the words that match, and what was found by which part."""
        served = service.index(body.index)
        options = {"mode": body.mode, "top": body.top, "where": body.where}
        hits = await service.search(served, body.query, **options)
        return JsonAnswer({"index": served.name, "query": body.query, **options, "hits": hits})

    @app.post("/api/similar", tags=["Search"], summary="More like one", responses=examples.said(examples.SIMILAR))
    async def similar(body: SimilarBody) -> JsonAnswer:
        """Documents like the one with an id."""
        served = service.index(body.index)
        hits = await service.similar(served, body.id, mode=body.mode, top=body.top, where=body.where)
        return JsonAnswer({"index": served.name, "id": body.id, "hits": hits})

    @app.post("/api/compare", tags=["Search"], summary="Side by side", responses=examples.said(examples.COMPARE))
    async def compare(body: CompareBody) -> JsonAnswer:
        """One query, answered by every index that is served."""
        indexes = service.indexes
        if len(indexes) < 2:
            raise NotFound("Side by side needs two indexes: mirrormask serve ONE-INDEX OTHER-INDEX.")
        options = {"mode": body.mode, "top": body.top, "where": body.where}
        found = await asyncio.gather(*[service.search(each, body.query, **options) for each in indexes])
        answers = [
            {"index": each.name, "model": each.encoder_name, "hits": hits}
            for each, hits in zip(indexes, found, strict=True)
        ]
        return JsonAnswer({"query": body.query, **options, "answers": answers})

    @app.get("/api/map", tags=["Look"], summary="The map of an index", responses=examples.made(examples.MAP))
    async def text_map(index: str | None = None) -> JsonAnswer:
        """Documents in the plane, what is alike together; 202 until it is made."""
        return _or_later(await service.text_map(service.index(index)))

    @app.get("/api/duplicates", tags=["Look"], summary="What repeats", responses=examples.made(examples.DUPLICATES))
    async def duplicates(index: str | None = None) -> JsonAnswer:
        """Groups of documents that say the same; 202 until they are found."""
        return _or_later(await service.duplicates(service.index(index)))

    @app.post("/api/probe", tags=["Look"], summary="A sentence probed", responses=examples.said(examples.PROBE))
    async def probe(body: ProbeBody) -> JsonAnswer:
        """How much masking one word moves another, and the trees read from that."""
        return JsonAnswer(await service.probe(body.sentence))


def _texts(app: FastAPI, service: Service) -> None:
    @app.post("/api/encode", tags=["Texts"], summary="Vectors of texts", responses=examples.said(examples.ENCODE))
    async def encode(body: EncodeBody) -> JsonAnswer:
        """The vectors that `mirrormask encode` writes."""
        served = service.encoder(body.model)
        vectors, tokens = await service.encode(served, body.texts)
        shown = unit_rows(vectors) if body.normalize else vectors.astype(np.float64)
        found = {"model": served.name, "dimension": vectors.shape[1], "tokens": tokens}
        return JsonAnswer({**found, "vectors": np.round(shown, 7).tolist()})

    @app.post("/api/similarity", tags=["Texts"], summary="How alike", responses=examples.said(examples.SIMILARITY))
    async def similarity(body: SimilarityBody) -> JsonAnswer:
        """The cosine of two texts, or of many pairs."""
        served = service.encoder(body.model)
        single = body.a is not None and body.b is not None
        if single == (body.pairs is not None) or (body.pairs is not None and (body.a, body.b) != (None, None)):
            raise MirrormaskError('Give either "a" and "b", or "pairs".')
        pairs = [(body.a or "", body.b or "")] if single else body.pairs or []
        vectors, _ = await service.encode(served, [text for pair in pairs for text in pair])
        cosines = paired_cosine(vectors[::2], vectors[1::2]).round(6).tolist()
        return JsonAnswer({"model": served.name, **({"cosine": cosines[0]} if single else {"cosines": cosines})})


def _or_later(found: dict[str, Any] | None) -> JsonAnswer:
    return JsonAnswer({"status": "computing"}, 202, {"retry-after": "2"}) if found is None else JsonAnswer(found)
