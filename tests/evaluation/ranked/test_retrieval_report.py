from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.data.tasks.retrieval_collection import read_collection
from mirrormask.evaluation.evaluate import evaluate
from mirrormask.evaluation.ranked.ranking import Hits
from mirrormask.evaluation.ranked.retrieval_report import search_collection
from mirrormask.evaluation.ranked.searchers import BM25, EncoderSearcher, WordSearcher
from mirrormask.search.index import Index

THINGS = ("river", "stone", "cloud", "garden", "letter", "window", "morning", "forest", "silver", "winter", "harbor")


def write(where: Path, *, asks: str = "tell me of the") -> Path:
    """Write a collection in which a query names its document by one word, and another document is a little relevant."""
    where.mkdir(parents=True)
    documents = [{"id": f"d{row:02}", "text": f"{word} and nothing else"} for row, word in enumerate(THINGS)]
    queries = [{"id": f"q{row}", "text": f"{asks} {word}"} for row, word in enumerate(THINGS)]
    judged = [f"q{row}\td{row:02}\t2\nq{row}\td{(row + 1) % 11:02}\t1\n" for row in range(11)]
    for name, rows in (("docs", documents), ("queries", queries)):
        (where / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (where / "qrels.tsv").write_text("".join(judged))
    return where


def by_word(texts: Sequence[str]) -> NDArray[np.float32]:
    return np.array([[word in text for word in THINGS] + [0.01] for text in texts], dtype=np.float32)


def blind(texts: Sequence[str]) -> NDArray[np.float32]:
    return np.random.default_rng(len(texts)).normal(size=(len(texts), 6)).astype(np.float32)


class Backwards:
    """A searcher of one's own: all documents in the opposite order."""

    def search(self, queries: Sequence[str], top: int) -> list[Hits]:
        ids = [f"d{row:02}" for row in reversed(range(11))]
        return [(ids[:top], np.arange(len(ids), 0, -1.0)) for _ in queries]


def test_encoders_words_and_a_searcher_side_by_side(tmp_path: Path) -> None:
    folders = [write(tmp_path / "one"), write(tmp_path / "two", asks="where is a")]
    found = evaluate(
        [blind, by_word, Backwards()], data=folders, names=["blind", "by word", "backwards"], resamples=100
    )
    report = found.retrieval
    assert report is not None
    assert report.models == ("blind", "by word", "backwards", BM25), "BM25 is there without being asked for"
    assert (found.own, found.sts, found.geometry) == (None, None, None)
    content = json.loads(json.dumps(found.to_dict(), allow_nan=False))["retrieval"]
    assert content["average"]["over"] == ["one", "two"]
    mean = content["average"]["scores"]
    for metric in ("ndcg_at_10_percent", "mrr_at_10_percent", "recall_at_100_percent"):
        parts = [content["collections"][name]["scores"]["by word"][metric]["value"] for name in ("one", "two")]
        assert mean["by word"][metric]["value"] == pytest.approx(np.mean(parts))
    assert mean["by word"]["mrr_at_10_percent"]["value"] == mean[BM25]["mrr_at_10_percent"]["value"] == 100
    assert mean["backwards"]["recall_at_100_percent"]["value"] == 100
    assert mean["by word"]["ndcg_at_10_percent"]["low"] <= mean["by word"]["ndcg_at_10_percent"]["value"]
    assert "the mean over one, two" in found.verdict()[0]
    first, *others = found.tables()
    assert [row[0] for row in first.rows] == ["one", "two", "mean"]
    assert len(others) == 2
    page = found.html()
    assert page.count("<figure>") == 1
    assert "Queries of two, won and lost" in page
    assert "by word against blind" in page


def test_one_collection_has_no_mean_and_bm25_may_stand_first(tmp_path: Path) -> None:
    found = evaluate(["bm25", by_word], data=write(tmp_path / "one"), resamples=50)
    assert found.retrieval is not None
    assert found.retrieval.models == (BM25, "model 2")
    (table,) = found.tables()
    assert [row[0] for row in table.rows] == ["nDCG@10", "MRR@10", "recall@100"]
    assert "11 queries among 11 documents" in table.note
    assert len(found.verdict()) == 1
    found.save(tmp_path / "report.md")
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "| nDCG@10 |" in text and "nDCG@10 on one" in text


def test_the_same_whatever_the_blocks_and_with_prompts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collection = read_collection(write(tmp_path / "one"))
    seen: list[str] = []

    class Prompted:
        prompts = {"query": "ask: ", "document": "read: "}  # noqa: RUF012

        def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
            seen.extend(texts)
            return by_word(texts)

    whole = search_collection(collection, EncoderSearcher(Prompted(), collection))
    assert {text.split()[0] for text in seen[:11]} == {"ask:"}
    assert {text.split()[0] for text in seen[11:]} == {"read:"}
    monkeypatch.setattr("mirrormask.evaluation.ranked.searchers._BLOCK", 3)
    parts = search_collection(collection, EncoderSearcher(by_word, collection))
    assert parts.ranks.tolist() == whole.ranks.tolist()


def test_an_encoder_reads_no_more_tokens_than_asked(
    tmp_path: Path, tiny: Callable[..., Any], sentences: list[str]
) -> None:
    where = write(tmp_path / "long")
    long = [{"id": f"d{row:02}", "text": f"{sentences[0]} {sentences[0]} {sentences[row]}"} for row in range(11)]
    (where / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in long))
    collection = read_collection(where)
    cut, full = (
        search_collection(collection, EncoderSearcher(tiny(), collection, max_length=length)) for length in (8, 10_000)
    )
    assert cut.ranks.tolist() == [11 - int(d[1:]) for found in collection.relevant for d in found], "all are the same"
    assert full.ranks.tolist() != cut.ranks.tolist()


def test_words_find_nothing_without_a_word_in_common(tmp_path: Path) -> None:
    collection = read_collection(write(tmp_path / "one"))
    (ids, scores), (nothing, _) = WordSearcher(collection).search(["the winter river river", "zebra"], top=3)
    assert ids == ["d00", "d09"]
    assert scores[0] > scores[1] > 0
    assert nothing == []


def test_what_cannot_be_measured_is_said(tmp_path: Path) -> None:
    where = write(tmp_path / "one")
    pairs = tmp_path / "faq.csv"
    pairs.write_text("query,document\n" + "".join(f"a{n},b{n}\n" for n in range(12)))
    with pytest.raises(MirrormaskError, match="BM25 ranks documents and gives no vectors"):
        evaluate(["bm25"], data=[where, pairs])
    with pytest.raises(MirrormaskError, match="takes one file beside folders"):
        evaluate([by_word], data=[pairs, pairs])
    with pytest.raises(DataError, match="Two collections are called 'one'"):
        evaluate([by_word], data=[where, where])
    (where / "qrels.tsv").write_text("q1\td01\t1\n")
    with pytest.raises(DataError, match="has 1 queries with a relevant document, and at least 10"):
        evaluate([by_word], data=where)


def test_a_file_and_a_folder_go_together(tmp_path: Path) -> None:
    pairs = tmp_path / "faq.csv"
    pairs.write_text("query,document\n" + "".join(f"{word} now,the {word}\n" for word in THINGS))
    found = evaluate([by_word], data=[pairs, write(tmp_path / "one")], resamples=20)
    assert found.own is not None and found.retrieval is not None
    assert len(found.verdict()) == 2
    assert found.html().count("<figure>") == 4


def test_an_index_stands_among_the_models(tmp_path: Path, tiny_folder: Path) -> None:
    where = write(tmp_path / "one")
    index = Index.build(where / "docs.jsonl", tmp_path / "my-index", model=str(tiny_folder))
    found = evaluate([str(tmp_path / "my-index"), by_word], data=where, resamples=20)
    assert found.retrieval is not None
    assert found.retrieval.models == ("my-index", "model 2", BM25)
    first, _ = index.rank([f"tell me of the {THINGS[0]}"], top=11)[0][0]
    scores = found.retrieval.average.values["mrr_at_10_percent"]
    assert scores[0] > 0.3
    assert first == "d00"
    other = write(tmp_path / "two")
    lines = (other / "docs.jsonl").read_text().replace('"d', '"e')
    (other / "docs.jsonl").write_text(lines)
    (other / "qrels.tsv").write_text("".join(f"q{row}\te{row:02}\t1\n" for row in range(11)))
    with pytest.raises(DataError, match="The index my-index does not hold the documents of .*mirrormask index"):
        evaluate([str(tmp_path / "my-index")], data=other)
