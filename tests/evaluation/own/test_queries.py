from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator
from sklearn.metrics import ndcg_score

from mirrormask.core.errors import DataError
from mirrormask.evaluation.own import queries as retrieval
from mirrormask.evaluation.own.queries import QueryDocuments, ranking_scores, relevant_ranks
from mirrormask.evaluation.statistics.bootstrap import on_all
from mirrormask.evaluation.vectors import TextVectors

QUERIES, DOCUMENTS = 30, 50


@pytest.fixture
def vectors() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    random = np.random.default_rng(0)
    documents = random.normal(size=(DOCUMENTS, 8)).astype(np.float32)
    queries = documents[:QUERIES] + 1.5 * random.normal(size=(QUERIES, 8)).astype(np.float32)
    return queries, documents


@pytest.fixture
def relevant() -> NDArray[np.int64]:
    """One, two or three documents for each query."""
    rows = [(query, (query + 7 * step) % DOCUMENTS) for query in range(QUERIES) for step in range(1 + query % 3)]
    return np.array(sorted(rows))


def loop(queries: NDArray[np.float32], documents: NDArray[np.float32], relevant: NDArray[np.int64]) -> list[list[int]]:
    """Return for every query the places of its relevant documents, by sorting its list."""
    found = []
    for query in range(len(queries)):
        cosines = [float(queries[query] @ d / np.linalg.norm(d)) for d in documents]
        order = sorted(range(len(documents)), key=lambda document: -cosines[document])
        own = {document for q, document in relevant if q == query}
        found.append([place for place, document in enumerate(order, 1) if document in own])
    return found


@pytest.mark.parametrize("block", [1, 120, 1 << 20])
def test_ranks_against_a_loop_whatever_the_block(
    vectors: tuple[NDArray[np.float32], NDArray[np.float32]],
    relevant: NDArray[np.int64],
    block: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(retrieval, "_BLOCK", block)
    ranks = relevant_ranks(*vectors, relevant)
    expected = loop(*vectors, relevant)
    for query in range(QUERIES):
        assert sorted(ranks[relevant[:, 0] == query]) == expected[query]


def test_scores_against_a_loop(
    vectors: tuple[NDArray[np.float32], NDArray[np.float32]], relevant: NDArray[np.int64]
) -> None:
    scores = ranking_scores(relevant_ranks(*vectors, relevant), relevant[:, 0], QUERIES)
    for query, places in enumerate(loop(*vectors, relevant)):
        for k in (1, 5, 10):
            assert scores[f"recall_at_{k}_percent"][query] == sum(place <= k for place in places) / len(places)
        assert scores["mrr_at_10_percent"][query] == (1 / places[0] if places[0] <= 10 else 0)
        gain = sum(1 / math.log2(place + 1) for place in places if place <= 10)
        ideal = sum(1 / math.log2(place + 1) for place in range(1, len(places) + 1))
        assert scores["ndcg_at_10_percent"][query] == pytest.approx(gain / ideal)


def test_ndcg_is_scikit_learns(
    vectors: tuple[NDArray[np.float32], NDArray[np.float32]], relevant: NDArray[np.int64]
) -> None:
    queries, documents = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in vectors)
    truth = np.zeros((QUERIES, DOCUMENTS))
    truth[relevant[:, 0], relevant[:, 1]] = 1
    scores = ranking_scores(relevant_ranks(*vectors, relevant), relevant[:, 0], QUERIES)
    assert scores["ndcg_at_10_percent"].mean() == pytest.approx(ndcg_score(truth, queries @ documents.T, k=10))


def test_all_scores_are_sentence_transformers(
    vectors: tuple[NDArray[np.float32], NDArray[np.float32]], relevant: NDArray[np.int64]
) -> None:
    names = {f"q{row}": f"query {row}" for row in range(QUERIES)}, {f"d{r}": f"document {r}" for r in range(DOCUMENTS)}
    links = {f"q{query}": {f"d{d}" for q, d in relevant if q == query} for query in range(QUERIES)}
    peer = InformationRetrievalEvaluator(*names, links, mrr_at_k=[10], ndcg_at_k=[10], precision_recall_at_k=[1, 5, 10])
    queries, documents = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in vectors)
    order = np.argsort(-(queries @ documents.T), axis=1)
    hits = [[{"corpus_id": f"d{d}", "score": -float(place)} for place, d in enumerate(row)] for row in order]
    expected = peer.compute_metrics(hits)
    scores = ranking_scores(relevant_ranks(*vectors, relevant), relevant[:, 0], QUERIES)
    for k in (1, 5, 10):
        assert scores[f"recall_at_{k}_percent"].mean() == pytest.approx(expected["recall@k"][k])
    assert scores["mrr_at_10_percent"].mean() == pytest.approx(expected["mrr@k"][10])
    assert scores["ndcg_at_10_percent"].mean() == pytest.approx(expected["ndcg@k"][10])


def test_a_model_that_tells_nothing_apart_finds_nothing() -> None:
    relevant = np.stack([np.arange(20), np.arange(20)], axis=1)
    ranks = relevant_ranks(np.ones((20, 3)), np.ones((20, 3)), relevant)
    np.testing.assert_array_equal(ranks, 20)


def test_relevant_documents_that_tie_take_one_place_each() -> None:
    queries = np.array([[1.0, 0.0]])
    documents = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    ranks = relevant_ranks(queries, documents, np.array([[0, 0], [0, 2]]))
    assert sorted(ranks) == [2, 3]  # the third that ties is not relevant and goes first
    perfect = relevant_ranks(queries, documents, np.array([[0, 0], [0, 1], [0, 2]]))
    assert ranking_scores(perfect, np.zeros(3, dtype=np.int64), 1)["ndcg_at_10_percent"] == pytest.approx(1.0)


def test_repeated_texts_are_the_same_query_and_the_same_document() -> None:
    queries = [f"query {row}" for row in range(10)]
    documents = [f"document {row % 5}" for row in range(10)]
    task = QueryDocuments("faq.csv", [*queries, "query 0", "query 0"], [*documents, "document 0", "document 3"])
    assert len(task.documents) == 5
    assert task.units == 10
    assert task.relevant.tolist()[:2] == [[0, 0], [0, 3]]
    assert task.notes == (
        "10 queries among 5 different documents",
        "1 row with the query and document of another left out",
        "recall@10 is 100 whatever the model, since there are no more than 10 documents",
    )


def test_a_model_gets_its_prompts() -> None:
    class Prompted:
        prompts = {"query": "find: ", "passage": "text: "}  # noqa: RUF012

        def __call__(self, texts: list[str]) -> NDArray[np.float32]:
            seen.extend(texts)
            return np.eye(40, dtype=np.float32)[[int(text.split()[-1]) for text in texts]]

    seen: list[str] = []
    words = [f"number {row}" for row in range(12)]
    task = QueryDocuments("faq.csv", words, words)
    vectors = TextVectors.encode(Prompted(), roles=task.roles())
    assert set(seen) == {prompt + word for prompt in ("find: ", "text: ") for word in words}
    assert on_all(task.statistics(vectors, seed=0)["recall_at_1_percent"], 12) == 1.0
    left, right = task.positives(vectors)
    np.testing.assert_array_equal(left, right)


def test_one_document_leaves_nothing_to_choose() -> None:
    with pytest.raises(DataError, match=r"All rows of faq.csv have the same document"):
        QueryDocuments("faq.csv", [f"query {row}" for row in range(10)], ["the answer"] * 10)


def test_too_few_queries_are_refused() -> None:
    with pytest.raises(DataError, match="has 1 queries, and at least 10 are needed"):
        QueryDocuments("faq.csv", ["a"] * 20, [str(row) for row in range(20)])
