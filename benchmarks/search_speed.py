"""An index against its parts: building vectors against faiss alone, hybrid queries against exact search with rank-bm25.

Vectors are clustered and texts are drawn from a Zipf vocabulary with topics, as real ones are; a query is a few words
of a passage and a vector near it. Both sides get the same vectors and texts, in one process, on the same cores. Ratios
are of CPU time, which other programs on the machine do not change much; wall time stands beside it.

    pip install rank-bm25
    python benchmarks/search_speed.py                     # 100,000 passages of 384 numbers
    python benchmarks/search_speed.py --memory 1000000    # peak memory of indexing that many
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

WORDS, TOPICS, LENGTH, BLOCK = 30_000, 500, 60, 4096


def named(number: int) -> str:
    """Return a word for a number: a letter for each of its digits."""
    return "z" + "".join(chr(ord("a") + int(digit)) for digit in str(number)) + "k"


def vectors_of(rows: int, width: int, seed: int) -> Any:
    """Return clustered vectors of length 1 (rows, width); some directions vary more than others, as in real ones."""
    fixed, rng = np.random.default_rng(0), np.random.default_rng(seed)
    spread = np.arange(1, width + 1, dtype=np.float32) ** -0.4
    centers = fixed.normal(size=(1000, width)).astype(np.float32)
    found = centers[rng.integers(0, len(centers), rows)] + 0.8 * rng.normal(size=(rows, width)).astype(np.float32)
    found *= spread
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def texts_of(rows: int, seed: int = 1) -> Iterator[str]:
    """Yield texts whose words follow Zipf's law, a third of them from a topic of the text's own."""
    rng = np.random.default_rng(seed)
    names = np.array([named(number) for number in range(WORDS)])
    for start in range(0, rows, BLOCK):
        count = min(BLOCK, rows - start)
        common = np.minimum(rng.zipf(1.3, size=(count, LENGTH)), WORDS) - 1
        topic = (rng.integers(0, TOPICS, (count, 1)) * 50 + rng.integers(0, 50, (count, LENGTH))) % WORDS
        for row in names[np.where(rng.random((count, LENGTH)) < 0.33, topic, common)]:
            yield " ".join(row)


COMMON = {named(number) for number in range(20)}


class Clock:
    """CPU and wall time of a block."""

    def __enter__(self) -> Clock:
        self._began = time.process_time(), time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.cpu, self.wall = time.process_time() - self._began[0], time.perf_counter() - self._began[1]


def built(vectors: Any, folder: Path) -> tuple[dict[str, float], Any]:
    """Build the same graph by faiss alone and by us, from vectors in memory to files on disk."""
    import faiss as library

    from mirrormask.search import dense
    from mirrormask.search.storing import Storing

    faiss: Any = library
    with Clock() as alone:
        graph = faiss.IndexHNSWSQ(
            vectors.shape[1], faiss.ScalarQuantizer.QT_fp16, dense.NEIGHBORS, faiss.METRIC_INNER_PRODUCT
        )
        graph.train(vectors)
        graph.add(vectors)
        faiss.write_index(graph, str(folder / "alone.faiss"))
    with Clock() as ours:
        writer = dense.DenseWriter(folder / "dense", Storing().fit(vectors[:BLOCK]))
        for start in range(0, len(vectors), BLOCK):
            writer.add(vectors[start : start + BLOCK])
        found = writer.finish()
    figures = {"build_faiss_s": alone.wall, "build_ours_s": ours.wall, "build_ratio": ours.cpu / alone.cpu}
    return {**figures, "build_wall_ratio": ours.wall / alone.wall, "breadth": found.breadth}, found


def asked(count: int, texts: list[str], vectors: Any, seed: int) -> tuple[list[str], Any]:
    """Return queries of five words of a passage, and vectors near that passage's."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, len(texts), count)
    telling = [sorted(set(texts[row].split()) - COMMON) for row in rows]  # as people ask, without the commonest words
    words = [" ".join(rng.choice(own, 5)) for own in telling]
    near = vectors[rows] + 0.7 * vectors_of(count, vectors.shape[1], seed=3)
    return words, (near / np.linalg.norm(near, axis=1, keepdims=True)).astype(np.float32)


def queried(texts: list[str], vectors: Any, dense: Any, folder: Path, count: int) -> dict[str, float]:
    """Ask hybrid queries of us, of all rows exactly, and of NumPy with rank-bm25."""
    from rank_bm25 import BM25Okapi

    from mirrormask.search.analysis import Analyzer
    from mirrormask.search.bm25 import BM25
    from mirrormask.search.postings import PostingsWriter
    from mirrormask.search.querying import Question, best_passages

    analyzer = Analyzer(stem=False)
    writer = PostingsWriter(folder / "words", analyzer)
    for text in texts:
        writer.add(text)
    words = BM25([writer.finish()], analyzer)
    both = [zip(*asked(count, texts, vectors, seed), strict=True) for seed in (2, 4)]
    questions, others = ([Question(text, vector, "both", None, None) for text, vector in each] for each in both)
    for question in others:  # pages of the files are read, and words known, as in a process that has run for a while
        best_passages(question, dense, words, 100)
    with Clock() as ours:
        found = [best_passages(question, dense, words, 100).rows[:10] for question in questions]
    everything: Any = Exact(vectors, dense)

    def agreement(depth: int) -> float:
        """Return the share of the first ten that a search without a graph has too, from so many candidates."""
        exact = [best_passages(one, everything, words, depth).rows[:10] for one in questions]
        return float(np.mean([len(set(a) & set(b)) / 10 for a, b in zip(found, exact, strict=True)]))

    recall, of_all = agreement(100), agreement(len(texts))
    peer = BM25Okapi([text.split() for text in texts])
    few = questions[: max(1, count // 10)]
    with Clock() as slow:
        for question in few:
            products = vectors @ question.vector
            scores = peer.get_scores(question.text.split())
            joint = (products - products.mean()) / products.std() + 0.3 * (scores - scores.mean()) / scores.std()
            np.argpartition(-joint, 10)[:10]
    ours_ms, peer_ms = 1000 * ours.cpu / count, 1000 * slow.cpu / len(few)
    wall = 1000 * ours.wall / count, 1000 * slow.wall / len(few)
    figures = {"query_ours_ms": ours_ms, "query_peer_ms": peer_ms, "query_ratio": peer_ms / ours_ms}
    return {**figures, "query_wall_ratio": wall[1] / wall[0], "recall_at_10": recall, "recall_at_10_of_all": of_all}


class Exact:
    """Vectors in memory, asked as those of an index are, and searched by their products with every row."""

    def __init__(self, vectors: Any, dense: Any) -> None:
        self._vectors, self._dense = vectors, dense
        self.moments, self.concentration = dense.moments, dense.concentration

    def search(self, queries: Any, top: int, allowed: Any = None) -> tuple[Any, Any]:
        products = queries @ self._vectors.T
        order = np.argsort(-products, axis=1)[:, :top]
        return np.take_along_axis(products, order, 1), order

    def compared(self, query: Any, rows: Any) -> tuple[Any, Any]:
        return self._vectors[rows] @ query, self._vectors[rows]


def peak_memory(rows: int, width: int) -> dict[str, float]:
    """Index that many passages by the whole way, with vectors that are drawn and not encoded; return the peak in MB."""
    from mirrormask.search import indexing
    from mirrormask.search.documents import Reading
    from mirrormask.search.storing import Storing
    from mirrormask.search.text_encoder import EncoderFacts, TextEncoder

    class Drawn(TextEncoder):
        def documents(self, texts: Any, progress: Any = None) -> Any:
            return vectors_of(len(texts), width, seed=len(texts[0]) * 7919 + sum(map(ord, texts[0])))

        def quickened(self, text: Any, rows: range) -> str:
            return ""

    facts = EncoderFacts("drawn", "0", "0", width, 256, "", "", True)
    indexing.TextEncoder.load = classmethod(lambda cls, name, **_: Drawn(facts, Path()))  # type: ignore
    with tempfile.TemporaryDirectory() as folder, Clock() as clock:
        source = ({"id": f"d{number}", "text": text} for number, text in enumerate(texts_of(rows)))
        indexing.build_index(
            source, Path(folder) / "index", Reading(), model="drawn", storing=Storing(), passage_words=LENGTH
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"rows": rows, "peak_mb": peak, "seconds": clock.wall}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=100_000, help="passages")
    parser.add_argument("--width", type=int, default=384, help="numbers of a vector")
    parser.add_argument("--queries", type=int, default=200, help="hybrid queries")
    parser.add_argument("--memory", type=int, default=0, help="only index this many passages and print the peak")
    given = parser.parse_args()
    if given.memory:
        print(json.dumps({"name": "search_memory", **peak_memory(given.memory, given.width)}))
        return
    vectors = vectors_of(given.rows, given.width, seed=1)
    texts = list(texts_of(given.rows))
    with tempfile.TemporaryDirectory() as name:
        figures, dense = built(vectors, Path(name))
        print(f"building: {figures['build_ratio']:.2f} times the CPU time of faiss alone", flush=True)
        figures |= queried(texts, vectors, dense, Path(name), given.queries)
    print(f"hybrid queries: {figures['query_ratio']:.0f} times as fast, recall@10 {figures['recall_at_10']:.3f}")
    rounded = {key: round(value, 4) for key, value in figures.items()}
    print(json.dumps({"name": "search_speed", "ratio": rounded["query_ratio"], "rows": given.rows, **rounded}))


if __name__ == "__main__":
    main()
