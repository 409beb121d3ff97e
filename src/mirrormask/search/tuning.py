"""The weight of words beside vectors, chosen by queries whose documents are known."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mirrormask.core.errors import DataError
from mirrormask.data.text.files import check_columns, records
from mirrormask.search.searching import SearchIndex

WEIGHTS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.2, 2.0, 4.0)


@dataclass(frozen=True)
class Chosen:
    """A weight with what it reached.

    Args:
        weight: of words.
        score: nDCG@10 of the queries with it.
        plain: nDCG@10 without it, weights chosen for each query.
        queries: how many.
    """

    weight: float | None
    score: float
    plain: float
    queries: int

    def sentence(self) -> str:
        """Return what was chosen, in words."""
        if self.weight is None:
            score = f"nDCG@10 {100 * self.plain:.1f}"
            return f"No weight does better on {self.queries} queries than one chosen for each ({score})."
        return (
            f"Words weigh {self.weight:g}, chosen by {self.queries} queries: nDCG@10 {100 * self.score:.1f}, without "
            f"them {100 * self.plain:.1f}. Keep it with --weight {self.weight:g}."
        )


def weight_by(index: SearchIndex, dev: Path, *, where: str | None = None) -> Chosen:
    """Return the weight with which the documents of a file's queries come first, if one beats those chosen per query.

    Args:
        index: where to search.
        dev: a file with columns `query` and `document`, an id or the whole text of a document of the index.
        where: a condition that holds for all of them.

    Raises:
        DataError: no document of the file is in the index.
    """
    wanted: dict[str, set[str]] = {}
    for row in records(dev):
        check_columns(dev, ["query", "document"], list(row))
        found = index.id_of(str(row["document"]))
        if found is not None and str(row["query"]).strip():
            wanted.setdefault(str(row["query"]), set()).add(found)
    if not wanted:
        raise DataError(f"No document of {dev} is in the index. Give ids or texts of its documents.")
    queries = list(wanted)

    def reached(weight: float | None) -> float:
        ranked = index.rank(queries, top=10, where=where, weight=weight)
        return float(
            np.mean(
                [
                    _ndcg([one for one, _ in answer], wanted[query])
                    for query, answer in zip(queries, ranked, strict=True)
                ]
            )
        )

    plain = reached(None)
    scores = [reached(weight) for weight in WEIGHTS]
    best = int(np.argmax(scores))
    if scores[best] <= plain:
        return Chosen(None, plain, plain, len(queries))
    return Chosen(WEIGHTS[best], scores[best], plain, len(queries))


def _ndcg(ids: list[str], wanted: set[str]) -> float:
    gains = [1 / np.log2(place + 2) for place, one in enumerate(ids) if one in wanted]
    return float(sum(gains) / sum(1 / np.log2(place + 2) for place in range(min(len(wanted), 10))))
