"""Collections to search in: documents, queries, and which documents people judged to answer which query.

A folder holds `docs.jsonl queries.jsonl qrels.tsv`, or BEIR's `corpus.jsonl queries.jsonl qrels/SPLIT.tsv`, plain or
compressed. Documents are streamed and never held, so a collection may be larger than memory.

Paper: Thakur et al. 2021, "BEIR: A Heterogenous Benchmark for Zero-shot Evaluation of Information Retrieval Models"
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mirrormask.core.errors import DataError, did_you_mean
from mirrormask.core.wording import counted
from mirrormask.data.tasks.qrels import Judgements, read_qrels
from mirrormask.data.text.files import records
from mirrormask.data.text.sources import COMPRESSIONS, dataset_roots

DOCUMENTS, QUERIES, QRELS = ("docs", "documents", "corpus"), ("queries",), "qrels"
SPLIT = "test"
"""The judgements that are read where a folder `qrels` holds several."""

_TABLES = (".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")
_JUDGED = (".tsv", ".txt", "")
_IDS, _TEXTS = ("id", "_id", "docid", "doc_id", "query_id"), ("text", "contents", "body", "query")
_LAYOUT = "docs.jsonl (or corpus.jsonl), queries.jsonl and qrels.tsv (or qrels/test.tsv), plain or compressed"


@dataclass(frozen=True)
class Collection:
    """Documents and judged queries.

    Args:
        name: what tables call it.
        source: its folder.
        file: of the documents.
        documents: their ids, in the file's order.
        query_ids, queries: ids and texts of the queries that have a relevant document.
        relevant: for each of these queries the documents that answer it, with their gain (1 or more).
        notes: what was left out.
    """

    name: str
    source: str
    file: Path
    documents: tuple[str, ...] = field(repr=False)
    query_ids: tuple[str, ...] = field(repr=False)
    queries: tuple[str, ...] = field(repr=False)
    relevant: tuple[Mapping[str, float], ...] = field(repr=False)
    notes: tuple[str, ...] = ()

    def texts(self) -> Iterator[str]:
        """Yield the text of every document in order, title first, read anew from the file."""
        return (text for _, text in _different(self.file))

    def texts_of(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the texts of some documents; those that the collection does not hold are left out."""
        wanted = set(ids)
        return {number: text for number, text in _rows(self.file) if number in wanted}


def find_collection(name: Path | str) -> Path | None:
    """Return the folder that a path or a name such as `retrieval/cranfield` means, or None where it is no folder."""
    try:
        places = [Path(name), *(root / name for root in dataset_roots())]
        return next((place for place in places if place.is_dir()), None)
    except OSError:  # too long for a path
        return None


def read_collection(name: Path | str, *, split: str = SPLIT) -> Collection:
    """Read a collection by its folder, or by its name under a folder of MIRRORMASK_DATA.

    Args:
        name: a path, or a name such as `retrieval/cranfield`.
        split: the file to read where `qrels` is a folder of several.

    Raises:
        DataError: a file is missing or damaged, an id repeats, or no query has a relevant document.
    """
    folder = find_collection(name)
    if folder is None:
        raise DataError(f"There is no folder {name}. Give a folder with {_LAYOUT}.")
    file, asked, judged = (
        _file(folder, DOCUMENTS, _TABLES),
        _file(folder, QUERIES, _TABLES),
        _qrels_file(folder, split),
    )
    documents = tuple(number for number, _ in _different(file))
    judgements = read_qrels(judged)
    queries = dict(_different(asked))
    kept, notes = _judged_queries(judgements, list(queries), set(documents), judged)
    return Collection(
        folder.resolve().name,
        str(folder),
        file,
        documents,
        tuple(kept),
        tuple(queries[number] for number in kept),
        tuple(kept.values()),
        (f"{len(kept):,} queries among {len(documents):,} documents", *notes),
    )


def _judged_queries(
    judgements: Judgements, queries: Sequence[str], documents: set[str], source: Path
) -> tuple[dict[str, Mapping[str, float]], list[str]]:
    """Return what is relevant to each query that has anything, in the order of the queries, and what was left out."""
    relevant = {query: {doc: gain for doc, gain in found.items() if gain > 0} for query, found in judgements.items()}
    kept: dict[str, Mapping[str, float]] = {query: relevant[query] for query in queries if relevant.get(query)}
    if not kept:
        raise DataError(
            f"No query has a relevant document in {source}: the ids of its first column are no ids of the queries, or "
            "all gains are 0. Give lines of query id, document id and gain, with tabs between."
        )
    notes = []
    if left := len(queries) - len(kept):
        notes.append(f"{left:,} {'query' if left == 1 else 'queries'} without a relevant document left out")
    if unknown := len(relevant.keys() - set(queries)):
        notes.append(f"judgements of {unknown:,} that are not among the queries left out")
    if missing := {doc for found in kept.values() for doc in found} - documents:
        if len(missing) == len({doc for found in kept.values() for doc in found}):
            raise DataError(
                f"None of the documents that {source} judges is among the documents. Check that its second column "
                "holds their ids."
            )
        notes.append(f"{counted(len(missing), 'relevant document')} not in the collection count as not found")
    return kept, notes


def _file(folder: Path, stems: Sequence[str], formats: Sequence[str]) -> Path:
    candidates = (
        folder / f"{stem}{kind}{packed}" for stem, kind, packed in itertools.product(stems, formats, COMPRESSIONS)
    )
    found = next((path for path in candidates if path.is_file()), None)
    if found is None:
        there = ", ".join(sorted(child.name for child in folder.iterdir())[:8]) or "nothing"
        raise DataError(
            f"{folder} is no collection to search in, because it has no {' or '.join(stems)} (it holds {there}). Give "
            f"a folder with {_LAYOUT}."
        )
    return found


def _qrels_file(folder: Path, split: str) -> Path:
    inside = folder / QRELS
    if not inside.is_dir():
        return _file(folder, (QRELS,), _JUDGED)
    files = {child.name.split(".")[0]: child for child in sorted(inside.iterdir()) if child.is_file()}
    if split in files:
        return files[split]
    if len(files) == 1 and split == SPLIT:
        return next(iter(files.values()))
    there = ", ".join(files) or "nothing"
    raise DataError(
        f"{inside} has no judgements {split!r} (it holds {there}).{did_you_mean(split, files)} "
        f"Say which to read with --split."
    )


def _rows(path: Path) -> Iterator[tuple[str, str]]:
    """Yield id and text of every row; a title stands before the text, as BEIR has it."""
    for number, row in enumerate(records(path), 1):
        text = _cell(row, _TEXTS, path, number, empty=True)
        title = row.get("title")
        yield _cell(row, _IDS, path, number), f"{title} {text}".strip() if isinstance(title, str) and title else text


def _different(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the same, a row that repeats another one only once.

    Raises:
        DataError: two rows have one id and different texts.
    """
    seen: dict[str, int] = {}
    for number, text in _rows(path):
        if number not in seen:
            seen[number] = hash(text)
            yield number, text
        elif seen[number] != hash(text):
            raise DataError(f"The id {number!r} has two different texts in {path}. Give every text an id of its own.")


def _cell(row: Mapping[str, Any], names: Sequence[str], path: Path, number: int, *, empty: bool = False) -> str:
    name = next((each for each in names if each in row), None)
    if name is None:
        raise DataError(
            f"Row {number} of {path} has no {names[0]!r}.{did_you_mean(names[0], row)} Give every row an 'id' and a "
            f"'text'; it has {', '.join(map(str, row))}."
        )
    value = row[name]
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if value is None and empty:
        return ""
    if not isinstance(value, str) or not (empty or value.strip()):
        raise DataError(f"Row {number} of {path}: {name!r} must be a text. Got {value!r:.60}.")
    return value
