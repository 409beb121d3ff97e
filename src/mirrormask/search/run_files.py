"""Many queries from a file, their answers to a file: a TREC run, or JSON lines with passages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mirrormask.core.errors import DataError
from mirrormask.core.storage import atomic_file
from mirrormask.data.text.compression import split_suffix
from mirrormask.data.text.files import records
from mirrormask.search.documents import IDS
from mirrormask.search.hits import Reranker
from mirrormask.search.searching import SearchIndex

_TEXTS = ("query", "text", "question", "title")
_QUERY_IDS = ("query_id", "qid", *IDS)
_BLOCK = 256


def read_queries(path: Path) -> list[tuple[str, str]]:
    """Return the ids and texts of the queries of a file; a line of a `.txt` file is a query, its number the id.

    Raises:
        DataError: it has no column of queries, or an empty query.
    """
    found: list[tuple[str, str]] = []
    for number, row in enumerate(records(path), 1):
        column = next((name for name in _TEXTS if name in row), None)
        if column is None:
            raise DataError(f"{path} has no column of queries. Name one of its columns query: {', '.join(row)}.")
        text = row[column]
        if not isinstance(text, str) or not text.strip():
            if split_suffix(path)[0] == ".txt":
                continue
            raise DataError(f"The query in row {number} of {path} is empty. Fill it, or leave the row out.")
        identity = next((row[name] for name in _QUERY_IDS if row.get(name) not in (None, "")), number)
        found.append((str(identity), text))
    if not found:
        raise DataError(f"{path} holds no query. Write one on each line.")
    twice = len(found) - len({identity for identity, _ in found})
    if twice:
        raise DataError(f"{path} gives {twice} of its queries an id that another has. Give every query its own id.")
    return found


def answer_queries(
    index: SearchIndex,
    queries: Path,
    out: Path,
    *,
    top: int,
    mode: str,
    where: str | None,
    weight: float | None,
    reranker: Reranker | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Search for every query of a file and write the answers: `.jsonl` with passages, anything else as a TREC run.

    Args:
        index: where to search.
        queries: the file.
        out: replaced once all queries are answered.
        top, mode, where, weight: as for `Index.search`.
        reranker: orders the first hits anew.
        progress: called with the number of queries just done, and of all.
    """
    asked = read_queries(queries)
    hits = 0
    with atomic_file(out) as stream:
        for line in _lines(index, asked, out.suffix == ".jsonl", top, mode, where, weight, reranker, progress):
            stream.write(line + "\n")
            hits += 1
    return {"queries": len(asked), "hits": hits, "file": str(out), "mode": mode, "weight": weight}


def _lines(
    index: SearchIndex,
    asked: list[tuple[str, str]],
    as_json: bool,
    top: int,
    mode: str,
    where: str | None,
    weight: float | None,
    reranker: Reranker | None,
    progress: Callable[[int, int], None] | None,
) -> Iterator[str]:
    for start in range(0, len(asked), _BLOCK):
        block = asked[start : start + _BLOCK]
        texts = [text for _, text in block]
        answers = index.search_many(texts, top=top, mode=mode, where=where, weight=weight, rerank=reranker)
        for (identity, text), found in zip(block, answers, strict=True):
            for rank, hit in enumerate(found, 1):
                if as_json:
                    yield json.dumps({"query_id": identity, "query": text, "rank": rank, **hit.to_dict()}, default=str)
                else:
                    yield f"{_word(identity)} Q0 {_word(hit.id)} {rank} {hit.score:.6f} mirrormask"
            if progress is not None:
                progress(1, len(asked))


def _word(identity: str) -> str:
    """Return an id as a TREC run can hold it: without white space."""
    return "_".join(identity.split()) or "_"
