"""Words and vectors together: the same from first hits as from everything, and weights that follow who stands out."""

from __future__ import annotations

import numpy as np
import pytest

from mirrormask.search.asked import Floats, Mask, Rows
from mirrormask.search.bm25 import BM25
from mirrormask.search.feedback import HITS, expanded, shares
from mirrormask.search.fusion import concentration, search_both, word_weight

_WORDS = "amber basin cedar delta ember fjord glade heath islet knoll lagoon marsh oasis prairie quarry ridge"


class Exact:
    """Vectors in memory, looked at one by one."""

    def __init__(self, vectors: Floats) -> None:
        self.all = vectors

    def search(self, queries: Floats, top: int, allowed: Mask | None = None) -> tuple[Floats, Rows]:
        scores = queries @ self.all.T
        if allowed is not None:
            scores = np.where(allowed, scores, -np.inf)
        order = np.argsort(-scores, axis=1)[:, :top]
        best = np.take_along_axis(scores, order, 1)
        return best, np.where(np.isfinite(best), order, -1)

    def compared(self, query: Floats, rows: Rows) -> tuple[Floats, Floats]:
        return self.all[rows] @ query, self.all[rows]

    def moments(self, queries: Floats) -> tuple[Floats, Floats]:
        scores = queries @ self.all.T
        return scores.mean(1), scores.std(1)


@pytest.fixture(scope="module")
def collection() -> tuple[list[str], Exact, BM25]:
    draw = np.random.default_rng(3)
    names = np.array(_WORDS.split())
    texts = [" ".join(draw.choice(names, size=draw.integers(3, 20))) for _ in range(300)]
    vectors = draw.standard_normal((300, 32), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return texts, Exact(vectors), BM25.of(texts)


def by_all(
    texts: list[str], exact: Exact, words: BM25, query: str, vector: Floats, weight: float, seen: Rows
) -> Floats:
    """Score everything with everything, and ask once more, by scores as long as the first on what was seen."""
    near = exact.all @ vector
    near = (near - near.mean()) / near.std()

    own = words.scores([query])[0]
    scores = near + weight * (own - own.mean()) / own.std()
    best = np.argsort(-scores, kind="stable")[:HITS]
    heard = np.exp(scores[best]) / np.exp(scores[best]).sum()
    more = expanded(words, words.counts(query), best, heard)
    again = np.zeros(len(texts), dtype=np.float32)
    words.add_scores(more, again)
    again *= np.linalg.norm(own[seen]) / np.linalg.norm(again[seen])
    nearer = exact.all @ vector + 0.3 * exact.all @ (heard @ exact.all[best])
    nearer = near[seen].mean() + (nearer - nearer[seen].mean()) * near[seen].std() / nearer[seen].std()
    return nearer + weight * (again - own.mean()) / own.std()


@pytest.mark.parametrize("weight", [0.2, 1.0, 3.0])
def test_first_hits_have_the_scores_that_everything_gives(
    collection: tuple[list[str], Exact, BM25], weight: float
) -> None:
    texts, exact, words = collection
    vector = exact.all[7] + 0.5 * exact.all[19]
    for depth in (40, 300):
        found = search_both(words, exact, "amber oasis oasis", vector, depth=depth, weight=weight)
        expected = by_all(texts, exact, words, "amber oasis oasis", vector, weight, found.rows)
        np.testing.assert_allclose(found.scores, expected[found.rows], rtol=1e-3, atol=1e-3)
        assert np.argmax(expected) in found.rows
        assert len(found.rows) <= 2 * depth


def test_the_chosen_weight_is_that_of_the_rule(collection: tuple[list[str], Exact, BM25]) -> None:
    _, exact, words = collection
    vector = exact.all[7]
    scores = np.sort(words.scores(["fjord marsh"])[0])[::-1]
    standard = (scores - scores.mean()) / scores.std()
    near = exact.all @ vector
    weight = word_weight(1 - standard[9] / standard[0], float((near.max() - near.mean()) / near.std()), 1.5)
    chosen = search_both(words, exact, "fjord marsh", vector, depth=50, concentrated=1.5)
    given = search_both(words, exact, "fjord marsh", vector, depth=50, weight=weight)
    np.testing.assert_array_equal(chosen.rows, given.rows)
    np.testing.assert_allclose(chosen.scores, given.scores, rtol=1e-3)


def test_only_what_is_allowed_is_found(collection: tuple[list[str], Exact, BM25]) -> None:
    _, exact, words = collection
    allowed = np.arange(300) % 7 == 0
    found = search_both(words, exact, "heath knoll", exact.all[1], depth=60, allowed=allowed)
    assert len(found.rows) == allowed.sum()
    assert allowed[found.rows].all()


def test_words_that_nobody_has_leave_the_vectors_alone(collection: tuple[list[str], Exact, BM25]) -> None:
    _, exact, words = collection
    for query in ("walrus", "", "?!"):
        found = search_both(words, exact, query, exact.all[5], depth=20)
        assert found.by_words.tolist() == [0.0] * 20
        assert found.rows[np.argmax(found.scores)] == 5


def test_a_rare_word_that_one_passage_holds_weighs_as_much_as_it_can() -> None:
    texts = [f"the amber basin number {number}" for number in range(50)]
    texts[30] += " walrus"
    exact = Exact(np.random.default_rng(0).standard_normal((50, 16), dtype=np.float32))
    found = search_both(BM25.of(texts), exact, "walrus", exact.all[2], depth=50)
    assert found.rows[np.argmax(found.by_words)] == 30
    assert found.rows[np.argmax(found.scores)] == 30


def test_words_weigh_more_where_they_stand_out_and_vectors_do_not() -> None:
    plain = word_weight(0.4, 4.0, 1.0)
    assert word_weight(0.8, 4.0, 1.0) == pytest.approx(2 * plain)
    assert word_weight(0.4, 8.0, 1.0) == pytest.approx(plain / 2)
    assert word_weight(0.4, 4.0, 2.0) == pytest.approx(plain / 4)
    assert word_weight(0.4, 0.1, 1.0) == word_weight(0.4, 1.0, 1.0)


def test_neighbors_that_stand_out_concentrate_and_pieces_of_one_document_do_not() -> None:
    draw = np.random.default_rng(1)
    chance = draw.standard_normal((900, 48), dtype=np.float32)
    pairs = draw.standard_normal((450, 48), dtype=np.float32)
    apart = np.concatenate([pairs, pairs + 0.3 * draw.standard_normal((450, 48), dtype=np.float32)])
    beside = np.stack([apart[:450], apart[450:]], axis=1).reshape(900, 48)
    assert concentration(chance) == pytest.approx(1.0, abs=0.15)
    assert concentration(apart) > 1.5 * concentration(chance)
    assert concentration(beside) == pytest.approx(1.0, abs=0.15)
    assert concentration(chance[:3]) == 1.0


def test_the_first_hits_lend_their_telling_words() -> None:
    texts = ["the otter swims in the river", "the otter hunts fish in the river", "the fox runs", "the owl sleeps"]
    words = BM25.of(texts * 3)
    counts = words.counts("otter")
    weights = expanded(words, counts, np.arange(2), shares(np.array([2.0, 1.0], dtype=np.float32)))
    assert weights["otter"] > 0.7 > weights["river"] > weights["fish"] > 0
    assert "the" not in weights
    assert "fox" not in weights
    assert sum(weights.values()) == pytest.approx(1.0)
    assert expanded(words, {}, np.arange(4), shares(np.zeros(4, dtype=np.float32))) == {}


def test_shares_are_a_softmax_that_no_score_overflows() -> None:
    np.testing.assert_allclose(shares(np.array([1000.0, 999.0], dtype=np.float32)), [0.731, 0.269], atol=1e-3)
    assert len(shares(np.zeros(0, dtype=np.float32))) == 0
