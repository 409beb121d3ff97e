"""The user's own file: which kind of data it is, told from its columns or asked, and its rows, checked one by one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from mirrormask.core.errors import DataError, did_you_mean, one_of
from mirrormask.data.tasks.classified import TEXT_COLUMNS
from mirrormask.data.tasks.retrieval_collection import read_collection
from mirrormask.data.tasks.scored_pairs import ScoredPairs
from mirrormask.data.text.columns import LABEL_COLUMNS
from mirrormask.data.text.files import columns_of, records
from mirrormask.evaluation.own.labelled import LabelledTexts
from mirrormask.evaluation.own.pairs_task import PairsTask
from mirrormask.evaluation.own.queries import QueryDocuments
from mirrormask.evaluation.own.task import OwnTask

Roles = dict[str, tuple[str, ...]]

KINDS: dict[str, Roles] = {
    "pairs": {
        "sentence1": (
            "sentence1",
            "sentence_1",
            "sentence_a",
            "sentencea",
            "sent1",
            "text1",
            "text_a",
            "question1",
            "s1",
        ),
        "sentence2": (
            "sentence2",
            "sentence_2",
            "sentence_b",
            "sentenceb",
            "sent2",
            "text2",
            "text_b",
            "question2",
            "s2",
        ),
        "score": ("score", "similarity", "similarity_score", "relatedness", "relatedness_score", "gold", "label"),
    },
    "retrieval": {
        "query": ("query", "question", "anchor", "title"),
        "document": ("document", "doc", "passage", "positive", "answer", "context", "body"),
    },
    "labels": {
        "text": TEXT_COLUMNS,
        "label": LABEL_COLUMNS,
    },
}
"""For each kind its roles, and for each role the column names that are taken for it, likelier ones first."""


def read_own(path: Path | str, *, kind: str | None = None, columns: Mapping[str, str] | None = None) -> OwnTask:
    """Read a file of scored pairs, query–document pairs or labelled texts.

    Args:
        path: any format of `data.text.files`.
        kind: "pairs", "retrieval" or "labels"; by default what the columns say.
        columns: the column of each role, such as {"query": "headline", "document": "story"}; others are told by name.

    Raises:
        DataError: the file cannot be read, its kind cannot be told, or a row is not as it should be.
    """
    there = columns_of(path)
    kind, chosen = find_columns(there, source=str(path), kind=kind, columns=columns)
    values: dict[str, list[Any]] = {role: [] for role in chosen}
    for number, row in enumerate(records(path, list(dict.fromkeys(chosen.values()))), 1):
        for role, column in chosen.items():
            values[role].append(_READ[role](row[column], column, number, str(path)))
    return _BUILD[kind](str(path), *values.values())


def load_pairs(path: Path | str) -> ScoredPairs:
    """Return a file of scored pairs, for `sts_spearman` and choosing a checkpoint."""
    return cast(PairsTask, read_own(path, kind="pairs")).pairs


def read_dev(path: Path | str) -> PairsTask | QueryDocuments:
    """Return what to choose checkpoints by: scored pairs, or queries with their documents in a file without scores.

    A folder is a collection with judged queries; what is relevant to them is taken, whatever its gain.
    """
    if Path(path).is_dir():
        collection = read_collection(path)
        texts = collection.texts_of([number for found in collection.relevant for number in found])
        judged = zip(collection.queries, collection.relevant, strict=True)
        pairs = [(query, texts[number]) for query, found in judged for number in found if number in texts]
        return QueryDocuments(str(path), *zip(*pairs, strict=True))
    there = columns_of(path)
    queries = _match(KINDS["pairs"], there, {}) is None and _match(KINDS["retrieval"], there, {}) is not None
    return cast(PairsTask | QueryDocuments, read_own(path, kind="retrieval" if queries else "pairs"))


def find_columns(
    there: Sequence[str], *, source: str, kind: str | None = None, columns: Mapping[str, str] | None = None
) -> tuple[str, dict[str, str]]:
    """Return the kind of data and the column of each of its roles.

    Example:
        >>> find_columns(["Question", "answer", "url"], source="faq.csv")
        ('retrieval', {'query': 'Question', 'document': 'answer'})
    """
    given = dict(columns or {})
    _check_roles(given, there, source, kind)
    wanted = [one_of("kind", kind, KINDS, of="own data")] if kind else [k for k in KINDS if set(given) <= set(KINDS[k])]
    fits = {name: found for name in wanted if (found := _match(KINDS[name], there, given)) is not None}
    if len(fits) == 1:
        return next(iter(fits.items()))
    listed = ", ".join(map(repr, there))
    if fits:
        raise DataError(
            f"The columns of {source} ({listed}) fit several kinds of data: {', '.join(fits)}. Say which with --kind."
        )
    needed = "; ".join(f"{name}: {', '.join(KINDS[name])}" for name in wanted)
    example = " ".join(f"--column {role}=NAME" for role in KINDS[wanted[0]])
    raise DataError(
        f"The columns of {source} are {listed}, and none of these sets is among them: {needed}. "
        f"Name them with {example}."
    )


def _check_roles(given: Mapping[str, str], there: Sequence[str], source: str, kind: str | None) -> None:
    roles = [role for name, roles in KINDS.items() if kind in (None, name) for role in roles]
    for role, column in given.items():
        one_of("column", role, roles, of=f"{kind} data" if kind else "own data")
        if column not in there:
            raise DataError(
                f"{source} has no column {column!r}.{did_you_mean(column, there)} Its columns are: {', '.join(there)}."
            )
    if kind is None and not any(set(given) <= set(roles) for roles in KINDS.values()):
        raise DataError(f"The roles {', '.join(given)} belong to different kinds of data. Say which with --kind.")


def _match(roles: Roles, there: Sequence[str], given: Mapping[str, str]) -> dict[str, str] | None:
    """Return the column of every role, or None where one is not there."""
    names = {column.strip().lower(): column for column in reversed(there) if column not in given.values()}
    found: dict[str, str] = {}
    for role, synonyms in roles.items():
        column = given.get(role) or next((names[name] for name in synonyms if name in names), None)
        if column is None:
            return None
        found[role] = column
    return found


def _text(value: Any, column: str, row: int, source: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{source}, row {row}: {column!r} must be a text that is not empty. Got {value!r}.")
    return value.strip()


def _number(value: Any, column: str, row: int, source: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise DataError(f"{source}, row {row}: {column!r} must be a number. Got {value!r}.")
    return number


def _label(value: Any, column: str, row: int, source: str) -> str:
    empty = value is None or (isinstance(value, float) and math.isnan(value))
    text = "" if empty else f"{value:g}" if isinstance(value, float) else str(value).strip()
    if not text or text.lower() == "nan":
        raise DataError(f"{source}, row {row}: {column!r} must be a label that is not empty. Got {value!r}.")
    return text


_READ: dict[str, Callable[[Any, str, int, str], Any]] = {
    "sentence1": _text,
    "sentence2": _text,
    "score": _number,
    "query": _text,
    "document": _text,
    "text": _text,
    "label": _label,
}


def _pairs(source: str, left: Sequence[str], right: Sequence[str], scores: Sequence[float]) -> PairsTask:
    values = np.array(scores, dtype=np.float64)
    return PairsTask(ScoredPairs(Path(source).name, "", tuple(left), tuple(right), values, single=True, source=source))


_BUILD: dict[str, Callable[..., OwnTask]] = {
    "pairs": _pairs,
    "retrieval": QueryDocuments,
    "labels": LabelledTexts,
}
