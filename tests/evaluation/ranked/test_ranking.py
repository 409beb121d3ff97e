from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from mirrormask.evaluation.ranked import ranking
from mirrormask.evaluation.ranked.ranking import MISSED, as_hits, nearest, places_of

Vectors = tuple[NDArray[np.float32], NDArray[np.float32]]


@pytest.fixture
def vectors() -> Vectors:
    random = np.random.default_rng(0)
    documents = random.normal(size=(50, 8)).astype(np.float32)
    return documents[:30] + 1.5 * random.normal(size=(30, 8)).astype(np.float32), documents


def blocks(documents: NDArray[np.float32], size: int) -> list[NDArray[np.float32]]:
    return [documents[start : start + size] for start in range(0, len(documents), size)]


@pytest.mark.parametrize("size", [1, 7, 50])
@pytest.mark.parametrize("held", [1, 100, 1 << 20])
def test_the_best_are_those_of_a_sorted_list_whatever_the_blocks(
    vectors: Vectors, size: int, held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking, "_BLOCK", held)
    queries, documents = vectors
    rows, scores = nearest(queries, blocks(documents, size), top=12)
    units = [v / np.linalg.norm(v, axis=1, keepdims=True) for v in vectors]
    cosines = units[0] @ units[1].T
    for query in range(len(queries)):
        expected = sorted(range(len(documents)), key=lambda row: -cosines[query, row])[:12]
        assert rows[query].tolist() == expected
        np.testing.assert_allclose(scores[query], cosines[query, expected], atol=1e-6)


def test_fewer_documents_than_asked_for_are_all_there(vectors: Vectors) -> None:
    rows, _ = nearest(vectors[0], blocks(vectors[1], 20), top=1000)
    assert rows.shape == (30, 50)
    assert sorted(rows[3]) == list(range(50))


def test_places_and_what_is_not_found(vectors: Vectors) -> None:
    ids = [f"d{row}" for row in range(50)]
    rows, scores = nearest(vectors[0], [vectors[1]], top=5)
    wanted = [{ids[rows[query, 2]]: 1.0, "elsewhere": 2.0} for query in range(30)]
    places = places_of(as_hits(rows, scores, ids), wanted)
    assert places.ranks.tolist() == [3, MISSED] * 30
    assert places.gains.tolist() == [1.0, 2.0] * 30
    assert places.best().tolist() == [3] * 30


def test_what_ties_stands_by_falling_id_as_in_trec_eval() -> None:
    hits = (["10", "9", "b", "a"], np.array([1.0, 1.0, 2.0, 2.0], dtype=np.float32))
    places = places_of([hits], [{"9": 1.0, "10": 1.0, "a": 1.0, "b": 1.0}])
    assert places.ranks.tolist() == [3, 4, 2, 1], "ids are texts: '9' is higher than '10'"


def test_without_ids_what_ties_and_is_not_relevant_goes_first() -> None:
    hits = (["0", "1", "2", "3"], np.array([1.0, 1.0, 1.0, 0.5], dtype=np.float32))
    places = places_of([hits], [{"0": 1.0, "2": 1.0}], against_relevant=True)
    assert places.ranks.tolist() == [2, 3]
