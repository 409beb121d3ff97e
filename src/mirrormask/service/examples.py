"""Answers as the documentation shows them."""

from __future__ import annotations

from typing import Any

Responses = dict[int | str, dict[str, Any]]

HIT: dict[str, Any] = {
    "id": "d3",
    "score": 4.08,
    "passage": "You get your money back within 30 days.",
    "place": [0, 39],
    "matches": [[13, 18], [19, 23]],
    "shares": {"words": 0.27, "vectors": 0.73},
    "metadata": {"year": 2021, "lang": "en"},
}
COLUMN = {
    "name": "lang",
    "numeric": False,
    "different": 1,
    "values": [{"value": "en", "count": 500, "where": '`lang` = "en"'}],
}
ABOUT: dict[str, Any] = {
    "version": "0.1.0",
    "served": [
        {
            "name": "my-index",
            "kind": "index",
            "model": "mini-sentence",
            "dimension": 384,
            "backend": "torch, fp32",
            "documents": 500,
            "passages": 620,
            "generation": "g000001",
            "modes": ["both", "words", "vectors"],
            "columns": [COLUMN],
            "map": True,
            "duplicates": True,
        }
    ],
    "compare": False,
    "probe": True,
    "limits": {"texts": 2048, "hits": 1000, "words": 64, "bytes": 8_000_000},
    "keys": False,
}
_ASKED = {"query": "how do I get my money back", "mode": "both", "top": 5, "where": "year >= 2020"}
SEARCH: dict[str, Any] = {"index": "my-index", **_ASKED, "hits": [HIT]}
SIMILAR: dict[str, Any] = {"index": "my-index", "id": "d4", "hits": [HIT]}
COMPARE: dict[str, Any] = {**_ASKED, "answers": [{"index": "my-index", "model": "mini-sentence", "hits": [HIT]}]}
MAP: dict[str, Any] = {
    "texts": 1,
    "left_out": 0,
    "points": [{"id": "d3", "x": 0.31, "y": 0.72, "group": 0, "text": "You get your money back."}],
    "groups": [{"name": "money, back, days", "texts": 1, "x": 0.31, "y": 0.72}],
}
DUPLICATES: dict[str, Any] = {
    "texts": 500,
    "left_out": 0,
    "repeated": 1,
    "threshold": 0.96,
    "reason": "Cosine of at least 0.960.",
    "words": 0.7,
    "groups": [{"kind": "exact", "similarity": 1.0, "members": [{"id": "d3", "text": "Tea."}]}],
}
PROBE: dict[str, Any] = {
    "model": "mini",
    "words": ["old", "boat"],
    "layer": -1,
    "measure": "euclidean",
    "impact": [[0.0, 10.81], [7.76, 0.0]],
    "heads": [1, -1],
    "spans": [[0, 2]],
    "brackets": "(old boat)",
}
ENCODE: dict[str, Any] = {"model": "mini-sentence", "dimension": 384, "tokens": 5, "vectors": [[0.9027, 0.827]]}
SIMILARITY: dict[str, Any] = {"model": "mini-sentence", "cosine": 0.797701}

_ERRORS = {
    400: "A value that cannot be, or no JSON.",
    401: "A key is needed, or it is wrong.",
    404: "It is not there.",
    408: "The request came too slowly.",
    413: "The request is too large.",
    421: "Called by a name that is not allowed.",
    422: "A body of another shape.",
    429: "Too much waits; Retry-After says when to try again.",
    503: "The answer took too long.",
}
_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type", "code"],
            "properties": {
                "message": {"type": "string"},
                "type": {"type": "string"},
                "param": {"type": ["string", "null"]},
                "code": {"type": "string"},
            },
        }
    },
}


def said(example: dict[str, Any]) -> Responses:
    """Return how an answer and the errors beside it are shown."""
    errors: Responses = {
        status: {"description": meaning, "content": {"application/json": {"schema": _ERROR}}}
        for status, meaning in _ERRORS.items()
    }
    return {**plain(example), **errors}


def made(example: dict[str, Any]) -> Responses:
    """Return how an answer is shown that may not be ready yet."""
    later = {"description": "It is being made.", "content": {"application/json": {"example": {"status": "computing"}}}}
    return {**said(example), 202: later}


def plain(example: dict[str, Any]) -> Responses:
    """Return how an answer without errors is shown."""
    shape = {"type": "object", "required": sorted(set(example) - {"cosine"})}
    return {200: {"description": "The answer.", "content": {"application/json": {"schema": shape, "example": example}}}}
