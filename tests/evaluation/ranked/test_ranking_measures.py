from __future__ import annotations

import math

import numpy as np
import pytest
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator
from sklearn.metrics import ndcg_score

from mirrormask.evaluation.ranked.ranking import Hits, places_of
from mirrormask.evaluation.ranked.ranking_measures import ranking_scores

QUERIES, DOCUMENTS = 40, 60
Run = dict[str, dict[str, float]]


def made(seed: int, *, ties: bool, graded: bool) -> tuple[Run, Run]:
    """Return the scores of a run, a third of the documents missing, and judgements with gains from 0 to 3."""
    random = np.random.default_rng(seed)
    run: Run = {}
    qrels: Run = {}
    for query in range(QUERIES):
        scores = random.normal(size=DOCUMENTS)
        scores = np.round(scores) if ties else scores
        run[f"q{query}"] = {f"d{d}": float(scores[d]) for d in range(DOCUMENTS) if random.random() < 2 / 3}
        judged = random.choice(DOCUMENTS, size=12, replace=False)
        gains = random.integers(0, 4 if graded else 2, size=12)
        gains[0] = 1
        qrels[f"q{query}"] = {f"d{d}": float(gain) for d, gain in zip(judged, gains, strict=True)}
    return run, qrels


def measured(run: Run, qrels: Run) -> dict[str, list[float]]:
    lists: list[Hits] = [(list(found), np.array(list(found.values()), dtype=np.float32)) for found in run.values()]
    relevant = [{document: gain for document, gain in judged.items() if gain > 0} for judged in qrels.values()]
    return {name: values.tolist() for name, values in ranking_scores(places_of(lists, relevant), [5, 100]).items()}


def trec_eval(run: Run, qrels: Run) -> dict[str, list[float]]:
    """Compute the measures as trec_eval's C code does, a query at a time."""
    found: dict[str, list[float]] = {
        "ndcg_at_10_percent": [], "mrr_at_10_percent": [], "recall_at_5_percent": [], "recall_at_100_percent": []
    }  # fmt: skip
    for query, scores in run.items():
        by_id = sorted(scores, reverse=True)
        order = sorted(by_id, key=lambda document: -scores[document])
        gains = [qrels[query].get(document, 0.0) for document in order]
        ideal = sorted(qrels[query].values(), reverse=True)
        relevant = sum(gain > 0 for gain in ideal)
        dcg, best = (sum(g / math.log2(i + 2) for i, g in enumerate(of[:10])) for of in (gains, ideal))
        found["ndcg_at_10_percent"].append(dcg / best)
        first = next((place for place, gain in enumerate(gains, 1) if gain > 0), 1000)
        found["mrr_at_10_percent"].append(1 / first if first <= 10 else 0.0)
        for k in (5, 100):
            found[f"recall_at_{k}_percent"].append(sum(gain > 0 for gain in gains[:k]) / relevant)
    return found


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("graded", [False, True])
def test_every_query_scores_as_in_trec_eval(ties: bool, graded: bool) -> None:
    run, qrels = made(1, ties=ties, graded=graded)
    ours, theirs = measured(run, qrels), trec_eval(run, qrels)
    assert set(ours) == set(theirs)
    for metric, values in theirs.items():
        np.testing.assert_allclose(ours[metric], values, atol=1e-12, err_msg=metric)


@pytest.mark.parametrize("ties", [False, True])
def test_every_query_scores_as_in_ir_measures(ties: bool) -> None:
    peer = pytest.importorskip("ir_measures")
    run, qrels = made(2, ties=ties, graded=True)
    whole = {query: {document: int(gain) for document, gain in judged.items()} for query, judged in qrels.items()}
    metrics = {"ndcg_at_10_percent": peer.nDCG @ 10, "mrr_at_10_percent": peer.RR @ 10}
    metrics["recall_at_100_percent"] = peer.R @ 100
    ours = measured(run, qrels)
    theirs = {(str(each.measure), each.query_id): each.value for each in peer.iter_calc(metrics.values(), whole, run)}
    for name, metric in metrics.items():
        expected = [theirs[str(metric), query] for query in run]
        np.testing.assert_allclose(ours[name], expected, atol=1e-6, err_msg=name)


def test_ndcg_is_scikit_learns() -> None:
    run, qrels = made(3, ties=False, graded=True)
    for query, place in zip(run, range(QUERIES), strict=True):
        everything = sorted({*run[query], *qrels[query]})
        truth = [[qrels[query].get(document, 0.0) for document in everything]]
        guess = [[run[query].get(document, -100.0) for document in everything]]
        listed = {query: {document: run[query].get(document, -100.0) for document in everything}}
        own = measured(listed, {query: qrels[query]})["ndcg_at_10_percent"][0]
        assert own == pytest.approx(ndcg_score(truth, guess, k=10)), place


def test_all_scores_are_sentence_transformers() -> None:
    run, qrels = made(4, ties=False, graded=False)
    links = {query: {document for document, gain in judged.items() if gain > 0} for query, judged in qrels.items()}
    queries, documents = ({name: name for name in names} for names in (run, (f"d{d}" for d in range(DOCUMENTS))))
    peer = InformationRetrievalEvaluator(
        queries, documents, links, mrr_at_k=[10], ndcg_at_k=[10], precision_recall_at_k=[5, 100]
    )
    hits = [
        [{"corpus_id": d, "score": s} for d, s in sorted(found.items(), key=lambda each: -each[1])]
        for found in run.values()
    ]
    expected, ours = peer.compute_metrics(hits), measured(run, qrels)
    for k in (5, 100):
        assert np.mean(ours[f"recall_at_{k}_percent"]) == pytest.approx(expected["recall@k"][k])
    assert np.mean(ours["mrr_at_10_percent"]) == pytest.approx(expected["mrr@k"][10])
    assert np.mean(ours["ndcg_at_10_percent"]) == pytest.approx(expected["ndcg@k"][10])
