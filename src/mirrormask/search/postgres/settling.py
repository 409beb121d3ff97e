"""What is done once documents are written: words joined, columns and vectors looked over, the graph built."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from mirrormask.search.beginning import Progress
from mirrormask.search.dense import EXACT, moments_of
from mirrormask.search.fusion import concentration
from mirrormask.search.postgres.batches import PART, POSTINGS
from mirrormask.search.postgres.connecting import psycopg
from mirrormask.search.postgres.index_tables import State, Tables

_GONE = 0.2  # share of the passages in postings that may be gone before all are written anew
_LINKS = 16  # of a row in the graph
_BREADTH = 64  # of the search for them
_MEMORY = (64, 2048)  # megabytes for building the graph

# Columns of which every value that is there is a number, or the text of one.
_NUMERIC = """
SELECT cell.name FROM {passages} AS own, jsonb_each(metadata) AS cell(name, value)
WHERE row = document AND value NOT IN ('null', '""')
GROUP BY cell.name HAVING bool_and(COALESCE(jsonb_typeof(numbers->cell.name) = 'number', false))
"""


def settle(cursor: Any, tables: Tables, state: State, report: Progress) -> State:
    """Bring everything that is kept beside the passages up to them, and return what the index says of itself then."""
    if state.record["settled"]:
        return state
    report("settling", 0, None)
    with cursor.connection.transaction():
        _join_parts(cursor, tables, state)
        numeric = cursor.execute(_NUMERIC.format(passages=tables.passages)).fetchall()
        state.record["numeric"] = [name for (name,) in numeric]
        some = _evenly(cursor, tables)
        state.arrays["moments"] = moments_of(some)
        state.arrays["concentration"] = np.array(concentration(some))
    _build_graph(cursor, tables, state)
    cursor.execute(f"ANALYZE {tables.passages}, {tables.words}")
    state.record["settled"] = True
    with cursor.connection.transaction():
        state.write(cursor, tables, arrays=True)
    return State.read(cursor, tables)


def _join_parts(cursor: Any, tables: Tables, state: State) -> None:
    """Make one of the newest parts of the words while each is not much larger than those after it.

    So there are few parts, and a large one is seldom written again; all are where many of their passages are gone.
    """
    parts = cursor.execute(f"SELECT part, last, passages FROM {tables.parts} ORDER BY part").fetchall()
    held = sum(passages for _, _, passages in parts)
    many = state.record["counts"]["passages"]
    first, size = len(parts) - 1, parts[-1][2] if parts else 0
    while first > 0 and (parts[first - 1][2] <= 2 * size or held - many > _GONE * held):
        first -= 1
        size += parts[first][2]
    joined = [part for part, _, _ in parts[max(first, 0) :]]
    if len(joined) < 2 and held - many <= _GONE * held:
        state.record["counts"]["deleted"] = held - many
        return
    names = {"passages": tables.passages, "words": tables.words, "parts": tables.parts}
    for table in (tables.words, tables.parts):
        cursor.execute(f"DELETE FROM {table} WHERE part = ANY(%s)", (joined,))
    whole = {"part": joined[0], "last": parts[-1][1]}
    cursor.execute(POSTINGS.format(**names), whole)
    cursor.execute(PART.format(**names), whole)
    held = cursor.execute(f"SELECT sum(passages)::bigint FROM {tables.parts}").fetchone()[0]
    state.record["counts"]["deleted"] = held - many


def _evenly(cursor: Any, tables: Tables) -> Any:
    """Return vectors of evenly spaced passages in their order (n, d)."""
    rows = [row for (row,) in cursor.execute(f"SELECT row FROM {tables.passages} ORDER BY row").fetchall()]
    places = np.unique(np.linspace(0, len(rows) - 1, min(EXACT, len(rows))).astype(np.int64)).tolist()
    sql = f"SELECT embedding FROM {tables.passages} WHERE row = ANY(%s) ORDER BY row"
    found = cursor.execute(sql, ([rows[place] for place in places],)).fetchall()
    return np.array([vector.to_numpy() for (vector,) in found], dtype=np.float32)


def _build_graph(cursor: Any, tables: Tables, state: State) -> None:
    there = cursor.execute(
        "SELECT 1 FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid JOIN pg_am ON pg_am.oid = relam "
        "WHERE indrelid = to_regclass(%s) AND amname = 'hnsw' AND indisvalid",
        (tables.passages,),
    ).fetchone()
    if there is not None:
        return
    many, width = state.record["counts"]["passages"], state.record["vectors"]["width"]
    needed = many * (2 * width + 12 * _LINKS * 2) * 1.3 / 2**20
    memory = int(min(max(needed, _MEMORY[0]), _MEMORY[1]))
    errors = psycopg().errors
    for workers in (None, 0):  # helpers need shared memory, of which a container may have little
        with contextlib.suppress(*((errors.DiskFull, errors.OutOfMemory) if workers is None else ())):
            with cursor.connection.transaction():
                cursor.execute(f"SET LOCAL maintenance_work_mem = '{memory}MB'")
                if workers is not None:
                    cursor.execute(f"SET LOCAL max_parallel_maintenance_workers = {workers}")
                cursor.execute(
                    f"CREATE INDEX ON {tables.passages} USING hnsw (embedding halfvec_ip_ops) "
                    f"WITH (m = {_LINKS}, ef_construction = {_BREADTH})"
                )
            return
