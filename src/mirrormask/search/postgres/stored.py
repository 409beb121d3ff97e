"""An index in a database as a search asks for it: candidates, scores and statistics in SQL, in one snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mirrormask.search.analysis import Analyzer
from mirrormask.search.asked import FIRST, Floats, Rows, Told, WordHits
from mirrormask.search.bm25 import K1, B, counts_of, idf
from mirrormask.search.dense import EXACT, scores_by
from mirrormask.search.filters import parse
from mirrormask.search.postgres.conditions import Part, to_sql
from mirrormask.search.postgres.index_tables import State, Tables

_BREADTH, _BROADEST = 128, 1000  # of a search in the graph: at least, and what pgvector takes
_SOME = 5000  # ids that one may have been meant to be
_LOWER = """
SELECT collname FROM pg_collation JOIN unnest('{und-x-icu,pg_c_utf8,C.utf8,en_US.utf8}'::name[]) WITH ORDINALITY
    AS good(collname, place) USING (collname) ORDER BY place LIMIT 1
"""

# Scores of all passages that hold a term. The best of them that are allowed (0), rows that are asked for (1), the
# highest of all (2), and the sums from which mean and deviation follow (3, 4).
_FIRST = """
WITH scored AS MATERIALIZED (
    SELECT each.row, sum(asked.value * each.times / (each.times + %(flat)s + %(slope)s * each.length)) AS score
    FROM unnest(%(terms)s::text[], %(values)s::float8[]) AS asked(term, value)
    JOIN {words} AS held USING (term), unnest(held.rows, held.times, held.lengths) AS each(row, times, length)
    GROUP BY each.row
)
(SELECT 0, row, score FROM ({best}) AS best)
UNION ALL (SELECT 1, row, score FROM scored WHERE row = ANY(%(beside)s))
UNION ALL (SELECT 2, 0, score FROM scored ORDER BY score DESC LIMIT {first})
UNION ALL (SELECT 3, 0, COALESCE(sum(score), 0) FROM scored)
UNION ALL (SELECT 4, 0, COALESCE(sum(score * score), 0) FROM scored)
"""
_BEST = "SELECT row, score FROM scored ORDER BY score DESC, row LIMIT %(depth)s"
_ALLOWED = """
SELECT scored.row, score FROM (SELECT * FROM scored ORDER BY score DESC, row) AS scored
CROSS JOIN LATERAL (SELECT 1 FROM {passages} AS own WHERE own.row = scored.row AND {condition} LIMIT 1) AS met
LIMIT %(depth)s
"""
_TERMS = """
SELECT own.row, own.length, term, cardinality(places) FROM {passages} AS own,
    unnest(own.words) AS held(term, places, weights)
WHERE own.row = ANY(%s)
"""


class StoredWords:
    """The terms of passages in a database.

    Args:
        cursor: of a snapshot.
        tables: of the index.
        analyzer: the one that made the terms.
    """

    def __init__(self, cursor: Any, tables: Tables, analyzer: Analyzer) -> None:
        self._cursor, self._tables, self._analyzer = cursor, tables, analyzer
        found = cursor.execute(
            f"SELECT COALESCE(sum(passages), 0)::bigint, COALESCE(sum(terms), 0)::bigint FROM {tables.parts}"
        ).fetchone()
        self.passages, terms = found
        mean = terms / self.passages if terms else 1.0
        self._flat, self._slope = K1 * (1 - B), K1 * B / mean

    def counts(self, query: str) -> dict[str, float]:
        """Return how often a query names each term."""
        return counts_of(query, self._analyzer)

    def first(self, weights: Mapping[str, float], depth: int, allowed: Part | None, beside: Rows) -> WordHits:
        """Return the `depth` best passages above 0 for weighted terms, and those `beside` them with their scores."""
        worth = self._worth(weights)
        values: dict[str, Any] = {"terms": list(worth), "values": list(worth.values()), "beside": beside.tolist()}
        values |= {"flat": self._flat, "slope": self._slope, "depth": depth}
        best = _BEST
        if allowed is not None:
            named = {f"met{place}": value for place, value in enumerate(allowed.values)}
            condition = allowed.sql.replace("%s", "{}").format(*(f"%({name})s" for name in named))
            best, values = _ALLOWED.format(passages=self._tables.passages, condition=condition), values | named
        sql = _FIRST.format(words=self._tables.words, best=best, first=FIRST)
        found = self._cursor.execute(sql, values).fetchall()
        scores = dict.fromkeys(beside.tolist(), 0.0) | {row: score for kind, row, score in found if kind < 2}
        rows = np.array(sorted(scores), dtype=np.int64)
        highest = np.sort(np.array([score for kind, _, score in found if kind == 2], dtype=np.float32))
        total, squares = (next(score for kind, _, score in found if kind == own) for own in (3, 4))
        mean = total / max(self.passages, 1)
        deviation = max(squares / max(self.passages, 1) - mean**2, 1e-12) ** 0.5
        own = np.array([scores[row] for row in rows.tolist()], dtype=np.float32)
        return WordHits(rows, own, highest, mean, deviation)

    def scores_of(self, weights: Mapping[str, float], rows: Rows) -> Floats:
        """Return what terms with weights give some passages (m,), in ascending order."""
        worth = self._worth(weights)
        sql = _TERMS.format(passages=self._tables.passages) + " AND term = ANY(%s)"
        scores = np.zeros(len(rows), dtype=np.float32)
        for row, length, term, times in self._cursor.execute(sql, (rows.tolist(), list(worth))):
            scores[np.searchsorted(rows, row)] += worth[term] * times / (times + self._flat + self._slope * length)
        return scores

    def telling(self, rows: Rows, shares: Floats, most: int) -> dict[str, float]:
        """Return how telling the terms of some passages are, idf times how much of their scores they could be."""
        share = dict(zip(rows.tolist(), shares.tolist(), strict=True))
        gains: dict[str, float] = {}
        for row, length, term, times in self._cursor.execute(
            _TERMS.format(passages=self._tables.passages), (rows.tolist(),)
        ):
            gains[term] = gains.get(term, 0.0) + share[row] * times / (times + self._flat + self._slope * length)
        known = self._idf(list(gains))
        found = {term: gain * known.get(term, 0.0) for term, gain in sorted(gains.items())}
        return dict(sorted(found.items(), key=lambda item: -item[1])[:most])

    def _worth(self, weights: Mapping[str, float]) -> dict[str, float]:
        """Return what each term that some passage holds is worth."""
        return {term: value * (K1 + 1) * weights[term] for term, value in self._idf(list(weights)).items()}

    def _idf(self, terms: list[str]) -> dict[str, float]:
        found = self._cursor.execute(
            f"SELECT term, sum(holding)::float8 FROM {self._tables.words} WHERE term = ANY(%s) GROUP BY term", (terms,)
        ).fetchall()
        values = idf(np.array([holding for _, holding in found], dtype=np.float64), self.passages).tolist()
        return {term: value for (term, _), value in zip(found, values, strict=True)}


class StoredVectors:
    """The vectors of passages in a database.

    Args:
        cursor: of a snapshot.
        tables: of the index.
        state: of the index.
    """

    def __init__(self, cursor: Any, tables: Tables, state: State) -> None:
        self._cursor, self._tables, self._state = cursor, tables, state
        self._storing = state.storing
        self.concentration = float(state.arrays["concentration"])

    def search(self, queries: Floats, top: int, allowed: Part | None = None) -> tuple[Floats, Rows]:
        """Return scores and rows of the nearest vectors of each query (q, top), best first; row -1 is none."""
        found = [self._nearest(query, top, allowed) for query in self._storing.shortened(queries)]
        most = max((len(rows) for _, rows in found), default=0)
        scores = np.full((len(found), most), -np.inf, dtype=np.float32)
        rows = np.full((len(found), most), -1, dtype=np.int64)
        for place, (own, numbers) in enumerate(found):
            scores[place, : len(own)], rows[place, : len(own)] = own, numbers
        return scores, rows

    def compared(self, query: Floats, rows: Rows) -> tuple[Floats, Floats]:
        """Return how near some rows are to a query (n,), and their vectors (n, d)."""
        held = self.vectors(rows)
        return held @ self._storing.shortened(query[None])[0], held

    def moments(self, queries: Floats) -> tuple[Floats, Floats]:
        """Return mean and standard deviation of all rows' scores for each query."""
        return scores_by(self._state.arrays["moments"], self._storing.shortened(queries))

    def vectors(self, rows: Rows) -> Floats:
        """Return the vectors of some rows (n, d), in their order."""
        found = dict(
            self._cursor.execute(
                f"SELECT row, embedding FROM {self._tables.passages} WHERE row = ANY(%s)", (rows.tolist(),)
            )
        )
        return np.array([_floats(found[row]) for row in rows.tolist()], np.float32).reshape(len(rows), -1)

    def _nearest(self, query: Floats, top: int, allowed: Part | None) -> tuple[Floats, Rows]:
        """Search by the graph; exactly where there are few, or where a condition leaves the graph too few."""
        many = int(self._state.record["counts"]["passages"])
        found = self._ordered(query, top, allowed, exact=many <= EXACT)
        if len(found) < min(top, many) and many > EXACT:
            found = self._ordered(query, top, allowed, exact=True)
        rows = np.array([row for row, _ in found], dtype=np.int64)
        held = np.array([_floats(vector) for _, vector in found], np.float32).reshape(len(found), -1)
        scores = held @ query if len(found) else np.zeros(0, np.float32)
        order = np.lexsort((rows, -scores))
        return scores[order], rows[order]

    def _ordered(self, query: Floats, top: int, allowed: Part | None, *, exact: bool) -> list[tuple[int, Any]]:
        from pgvector import HalfVector

        breadth = min(max(top, _BREADTH), _BROADEST)
        self._cursor.execute(
            f"SELECT set_config('hnsw.ef_search', '{breadth}', true), set_config('enable_indexscan', "
            f"'{'off' if exact else 'on'}', true), set_config('hnsw.iterative_scan', 'relaxed_order', true)"
        )
        where, values = ("", ()) if allowed is None else (f"WHERE {allowed.sql}", allowed.values)
        found = self._cursor.execute(
            f"SELECT row, embedding FROM {self._tables.passages} {where} ORDER BY embedding <#> %s LIMIT %s",
            (*values, HalfVector(query), top),
        ).fetchall()
        self._cursor.execute("SELECT set_config('enable_indexscan', 'on', true)")
        return list(found)


class Stored:
    """An index in a database at one moment: what may be found is a condition in SQL.

    Args:
        cursor: of a snapshot.
        tables: of the index.
        state: of the index.
        analyzer: of its words.
    """

    def __init__(self, cursor: Any, tables: Tables, state: State, analyzer: Analyzer) -> None:
        self._cursor, self._tables, self._state = cursor, tables, state
        self.words = StoredWords(cursor, tables, analyzer)
        self.vectors = StoredVectors(cursor, tables, state)

    def __len__(self) -> int:
        return self.words.passages

    def allowed(self, where: str | None, but: Rows | None = None) -> Part | None:
        """Return what meets a condition, some rows left out; without either, what is there."""
        parts = []
        if where is not None:
            known = self._cursor.execute(_LOWER).fetchone()
            parts.append(to_sql(parse(where), self._state.numeric, f'COLLATE "{known[0]}"' if known else ""))
        if but is not None:
            parts.append(Part("row <> ALL(%s)", (but.tolist(),)))
        if not parts and self.words.passages > self._state.record["counts"]["passages"]:
            return Part("true")  # postings still name passages that are gone
        if not parts:
            return None
        return Part(" AND ".join(each.sql for each in parts), sum((each.values for each in parts), ()))

    def owners(self, rows: Rows) -> Rows:
        """Return the number of the document of each row."""
        return np.array(self._of(rows, "document"), dtype=np.int64)

    def documents(self, allowed: Part | None) -> int:
        """Return how many documents may be found."""
        where, values = ("", ()) if allowed is None else (f"WHERE {allowed.sql}", allowed.values)
        sql = f"SELECT count(DISTINCT document) FROM {self._tables.passages} {where}"
        return int(self._cursor.execute(sql, values).fetchone()[0])

    def rows_of(self, identity: str) -> Rows:
        """Return the rows of the passages of a document; none where there is no such document."""
        sql = f"SELECT row FROM {self._tables.passages} WHERE id = %s ORDER BY row"
        return np.array([row for (row,) in self._cursor.execute(sql, (identity,))], dtype=np.int64)

    def some_ids(self) -> list[str]:
        """Return some ids, to offer one for an id that is not there."""
        sql = f"SELECT id FROM {self._tables.passages} WHERE row = document ORDER BY row LIMIT {_SOME}"
        return [identity for (identity,) in self._cursor.execute(sql)]

    def ids(self, rows: Rows) -> list[str]:
        """Return the id of the document of each row."""
        return self._of(rows, "id")

    def told(self, rows: Rows) -> list[Told]:
        """Return what is told of some passages."""
        found = self._of(rows, "ROW(id, text, begins, ends, metadata)")
        return [Told(one, text, (begins, ends), metadata) for one, text, begins, ends, metadata in found]

    def mean_vector(self, rows: Rows) -> Floats:
        """Return the mean of the vectors of some passages (d,)."""
        found: Floats = self.vectors.vectors(rows).mean(0)
        return found

    def _of(self, rows: Rows, what: str) -> list[Any]:
        """Return something of each row, in order."""
        sql = f"SELECT row, {what} FROM {self._tables.passages} WHERE row = ANY(%s)"
        found = dict(self._cursor.execute(sql, (rows.tolist(),)))
        return [found[row] for row in rows.tolist()]


def _floats(vector: Any) -> Any:
    return vector.to_numpy()
