"""Search on ten judged collections: plain BM25, our words, encoders alone, and both together with nothing to choose.

nDCG@10 × 100, documents as the files have them, texts cut at 256 tokens. Choices were made on the first five
collections; the others stand apart. Needs MIRRORMASK_DATA with `retrieval/`.

    python benchmarks/retrieval.py mini-sentence sentence-transformers/all-MiniLM-L6-v2 --vectors cache

A vector that was computed once is read from the cache: NAME/COLLECTION.docs.npy and NAME/COLLECTION.queries.npy, and
below NAME-idf those with tokens weighted, which is how `index` makes them by default.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from mirrormask.models.bulk import encode_texts
from mirrormask.search.analysis import Analyzer
from mirrormask.search.bm25 import BM25
from mirrormask.search.fusion import concentration, search_both
from mirrormask.search.text_encoder import TextEncoder
from mirrormask.search.token_weights import SAMPLE

CHOSEN_ON = ("cranfield", "cisi", "cosqa_dev", "stackfaq_a", "trecqa_wang")
APART = ("cacm", "npl", "fiqa_small", "medquad_liveqa", "qatarliving_train")
DEPTH, TOKENS = 100, 256


class Plain(Analyzer):
    """Lower-cased words without stop words and stems: what a BM25 of a few lines has."""

    def terms(self, text: str) -> list[str]:
        return [word for word in re.findall(r"\w+", text.lower()) if word not in ENGLISH_STOP_WORDS]

    query = terms


class Collection:
    """Documents, queries that have a relevant one, and the gains of their documents, all by row."""

    def __init__(self, folder: Path) -> None:
        documents, queries = (_rows(folder / f"{name}.jsonl.gz") for name in ("docs", "queries"))
        rows: dict[str, list[int]] = {}
        for row, document in enumerate(documents):
            rows.setdefault(document["id"], []).append(row)  # an id may come twice, with the same text
        gains: dict[str, dict[str, float]] = {}
        with gzip.open(folder / "qrels.tsv.gz", "rt", encoding="utf-8") as stream:
            for query, name, gain in (line.rstrip("\n").split("\t") for line in stream):
                if float(gain) > 0:
                    gains.setdefault(query, {})[name] = float(gain)
        self.name, self.documents = folder.name, [document["text"] for document in documents]
        self.asked = [number for number, query in enumerate(queries) if query["id"] in gains]
        self.all_queries = [query["text"] for query in queries]
        self.queries = [self.all_queries[number] for number in self.asked]
        own = [gains[queries[number]["id"]] for number in self.asked]
        self.gains = [{row: gain for name, gain in each.items() for row in rows[name]} for each in own]
        self.best = [_dcg(sorted(each.values(), reverse=True)[:10]) for each in own]

    def ndcg(self, scores: Any) -> float:
        """Return the mean nDCG@10 of scores of all documents for each query (q, n), in percent."""
        order = np.argsort(-scores, axis=1, kind="stable")[:, :10].tolist()
        found = [_dcg([gains.get(row, 0.0) for row in top]) for top, gains in zip(order, self.gains, strict=True)]
        return 100 * float(np.mean(np.array(found) / np.array(self.best)))


class Exact:
    """All vectors of a collection, as `search_both` asks for them."""

    def __init__(self, vectors: Any) -> None:
        self.all, self.mean = vectors, vectors.mean(0)
        self.spread = (vectors - self.mean).T @ (vectors - self.mean) / len(vectors)

    def search(self, queries: Any, top: int, allowed: Any = None) -> tuple[Any, Any]:
        scores = queries @ self.all.T
        order = np.argsort(-scores, axis=1, kind="stable")[:, :top]
        return np.take_along_axis(scores, order, 1), order

    def compared(self, query: Any, rows: Any) -> tuple[Any, Any]:
        return self.all[rows] @ query, self.all[rows]

    def moments(self, queries: Any) -> tuple[Any, Any]:
        return queries @ self.mean, np.sqrt(((queries @ self.spread) * queries).sum(1))


def together(collection: Collection, words: BM25, queries: Any, documents: Any) -> Any:
    """Return the scores of words and vectors together (q, n); what neither part has among its first is last."""
    vectors, own = Exact(documents), concentration(documents)
    scores = np.full((len(queries), len(documents)), -np.inf, dtype=np.float32)
    for row, text, query in zip(scores, collection.queries, queries, strict=True):
        found = search_both(words, vectors, text, query, depth=DEPTH, concentrated=own)
        row[found.rows] = found.scores
    return scores


def encoded(name: str, collection: Collection, cache: Path, tokens: str) -> tuple[Any, Any]:
    """Return the vectors of queries and documents, of length 1, as an index with these `tokens` has them."""
    found, encoder = [], None
    for part, texts in (("queries", collection.all_queries), ("docs", collection.documents)):
        ending = "" if tokens == "equal" else f"-{tokens}"
        file = cache / (Path(name).name + ending) / f"{collection.name}.{part}.npy"
        if not file.is_file():
            encoder = encoder or _fitted(name, tokens, collection.documents)
            file.parent.mkdir(parents=True, exist_ok=True)
            prompt = encoder.facts.query_prompt if part == "queries" else encoder.facts.document_prompt
            computed = encode_texts(encoder.pooled, [prompt + text for text in texts], precision="fp32")
            np.save(file, computed.astype(np.float16))
        vectors = np.load(file).astype(np.float32)
        found.append(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9))
    return found[0][collection.asked], found[1]


def _fitted(name: str, tokens: str, documents: list[str]) -> TextEncoder:
    encoder = TextEncoder.load(name, tokens=tokens)
    encoder.model.max_seq_length = min(TOKENS, encoder.model.max_seq_length or TOKENS)
    return encoder.fitted(documents[:SAMPLE])


def _rows(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def _dcg(gains: list[float]) -> float:
    return sum(gain / float(np.log2(place + 2)) for place, gain in enumerate(gains))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("encoders", nargs="*", default=["mini-sentence"])
    parser.add_argument("--vectors", type=Path, default=Path("vectors"))
    parser.add_argument("--only", nargs="*", default=[*CHOSEN_ON, *APART])
    options = parser.parse_args()
    names = [Path(encoder).name for encoder in options.encoders]
    each = ("{}", "{} and words, tokens equal", "{} and words")
    columns = ["plain BM25", "our words", *(column.format(name) for name in names for column in each)]
    print("| collection |", " | ".join(columns), "|\n|---|" + "---:|" * len(columns))
    table: dict[str, dict[str, float]] = {}
    for folder in options.only:
        collection = Collection(Path(os.environ["MIRRORMASK_DATA"]) / "retrieval" / folder)
        words = BM25.of(collection.documents)
        plain = BM25.of(collection.documents, Plain(), k1=0.9, b=0.4)
        found = [collection.ndcg(each.scores(collection.queries)) for each in (plain, words)]
        for encoder in options.encoders:
            for tokens in ("equal", "idf"):
                queries, documents = encoded(encoder, collection, options.vectors, tokens)
                if tokens == "equal":
                    found.append(collection.ndcg(queries @ documents.T))
                found.append(collection.ndcg(together(collection, words, queries, documents)))
        table[folder] = dict(zip(columns, found, strict=True))
        print(f"| {folder} |", " | ".join(f"{value:.1f}" for value in found), "|", flush=True)
    means = {}
    for title, some in (("chosen on", CHOSEN_ON), ("apart", APART), ("all", (*CHOSEN_ON, *APART))):
        own = [table[name] for name in some if name in table]
        if own:
            means[title] = {column: float(np.mean([row[column] for row in own])) for column in columns}
            print(f"| **mean, {title}** |", " | ".join(f"{means[title][column]:.1f}" for column in columns), "|")
    print(json.dumps({"means": means, "collections": table}))


if __name__ == "__main__":
    main()
