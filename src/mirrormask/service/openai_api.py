"""OpenAI's embeddings, so that clients made for them work by changing an address."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import numpy as np
from fastapi import APIRouter

from mirrormask.core.errors import MirrormaskError
from mirrormask.core.similarity import unit_rows
from mirrormask.service.answering import NotFound, Service
from mirrormask.service.bodies import MOST_TEXTS, EmbeddingsBody
from mirrormask.service.json_answer import JsonAnswer
from mirrormask.service.served import Served

EXAMPLE = {
    "object": "list",
    "data": [{"object": "embedding", "index": 0, "embedding": [0.0137, -0.0481]}],
    "model": "mini-sentence",
    "usage": {"prompt_tokens": 5, "total_tokens": 5},
}


def openai_routes(service: Service, said: Callable[..., dict[int | str, dict[str, Any]]]) -> APIRouter:
    """Return the paths below /v1.

    Args:
        service: what answers.
        said: how answers are shown in the documentation.
    """
    router = APIRouter(prefix="/v1", tags=["OpenAI's shape"])

    @router.post("/embeddings", summary="Vectors of texts, as OpenAI's clients ask for them", responses=said(EXAMPLE))
    async def embeddings(body: EmbeddingsBody) -> JsonAnswer:
        """Vectors have length 1. Where one model is served, `model` may be any name."""
        served = _model(service, body.model)
        texts = _texts(body)
        width = int(served.model.get_embedding_dimension())
        if body.dimensions not in (None, width):
            raise MirrormaskError(f"The vectors of {served.name} have {width} numbers. Leave out 'dimensions'.")
        vectors, tokens = await service.encode(served, texts)
        units = unit_rows(vectors)
        shown: list[Any]
        if body.encoding_format == "base64":
            shown = [base64.b64encode(row.tobytes()).decode() for row in units.astype("<f4")]
        else:
            shown = np.round(units, 8).tolist()
        data = [{"object": "embedding", "index": place, "embedding": each} for place, each in enumerate(shown)]
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return JsonAnswer({"object": "list", "data": data, "model": served.name, "usage": usage})

    @router.get("/models", summary="The models that are served", responses=said({"object": "list", "data": []}))
    async def models() -> JsonAnswer:
        """Every index and model that is served, by its name."""
        data = [{"id": each.name, "object": "model", "created": 0, "owned_by": "mirrormask"} for each in service.served]
        return JsonAnswer({"object": "list", "data": data})

    return router


def _model(service: Service, name: str) -> Served:
    if len(service.served) == 1:
        return service.served[0]
    for each in service.served:
        if each.name == name:
            return each
    there = ", ".join(each.name for each in service.served)
    raise NotFound(f"There is no model {name!r:.100} here. Name one of: {there}.")


def _texts(body: EmbeddingsBody) -> list[str]:
    texts = [body.input] if isinstance(body.input, str) else list(body.input)
    if not texts or len(texts) > MOST_TEXTS:
        raise MirrormaskError(f"'input' may hold 1 to {MOST_TEXTS:,} texts. Got {len(texts):,}.")
    if not all(isinstance(text, str) for text in texts):
        raise MirrormaskError(
            "'input' holds token numbers, which are of another tokenizer than this model's. Send texts; in LangChain "
            "that is check_embedding_ctx_length=False."
        )
    return [text for text in texts if isinstance(text, str)]
