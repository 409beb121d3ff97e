from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from mirrormask.core.errors import DataError
from mirrormask.evaluation.own.queries import QueryDocuments
from mirrormask.evaluation.statistics.bootstrap import on_all
from mirrormask.evaluation.vectors import TextVectors


def test_a_model_that_tells_nothing_apart_finds_nothing() -> None:
    texts = [f"text {row}" for row in range(40)]
    task = QueryDocuments("faq.csv", texts[:20], texts[20:])
    blank = TextVectors(texts, np.ones((40, 3), dtype=np.float32))
    assert task.best_places(blank).tolist() == [20] * 20
    assert {on_all(each, 20) for each in task.statistics(blank, seed=0).values()} == {0.0}


def test_relevant_documents_that_tie_take_one_place_each() -> None:
    queries, documents = [f"q{row}" for row in range(10)], ["a", "b", "c", "d"]
    rows = [(query, document) for query in queries for document in "ac"]
    task = QueryDocuments("faq.csv", *zip(*rows, strict=True))  # only these two are documents of the file
    same = TextVectors([*queries, *documents], np.ones((14, 2), dtype=np.float32))
    assert task.best_places(same).tolist() == [1] * 10
    assert on_all(task.statistics(same, seed=0)["ndcg_at_10_percent"], 10) == pytest.approx(1.0)


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
