"""The transfer suite: our evaluation against encoding each task with `SentenceTransformer.encode` and fitting folds.

Both read the same data, cut the same folds and run on the same encoder in one process. The peer encodes every row of
every task and fits scikit-learn's `LogisticRegression` fold by fold and penalty by penalty. Ours encodes each different
sentence once for all tasks, fits all folds and penalties of a task together, and includes the bootstrap intervals that
it reports by default. The accuracies of both are compared.

    python benchmarks/transfer_speed.py --model mini
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from typing import Any

import numpy as np


def peer(encoder: Any, tasks: list[str], folds: int) -> dict[str, float]:
    """Score every task as a straightforward user does."""
    from mirrormask.data.tasks.transfer_data import load_transfer

    scores = {}
    for name in tasks:
        data = load_transfer(name)
        x = encoder.encode(list(data.left), batch_size=64, show_progress_bar=False)
        if data.right:
            other = encoder.encode(list(data.right), batch_size=64, show_progress_bar=False)
            x = np.concatenate([np.abs(x - other), x * other], axis=1)
        scores[name] = 100 * fold_by_fold(x, data, folds)
    return scores


def fold_by_fold(x: Any, data: Any, folds: int) -> float:
    """Return the accuracy of scikit-learn's regressions, each fitted by itself, the penalty chosen on rows unseen."""
    from mirrormask.evaluation.suites.transfer_suite import cut

    y, (train, *others) = data.labels, data.splits.values()
    if len(others) == 2:
        return accuracy(x, y, train, others[1], best(x, y, [(train, others[0])]))
    if len(others) == 1:
        held = cut(y, train, folds)
        return accuracy(x, y, train, others[0], best(x, y, [(np.setdiff1d(train, each), each) for each in held]))
    right = 0.0
    for fold in cut(y, train, folds):
        rest = np.setdiff1d(train, fold)
        penalty = best(x, y, [(np.setdiff1d(rest, each), each) for each in cut(y, rest, folds)])
        right += accuracy(x, y, rest, fold, penalty) * len(fold)
    return right / len(train)


def best(x: Any, y: Any, splits: list[tuple[Any, Any]]) -> float:
    """Return the penalty with the highest mean accuracy on the second rows of each split."""
    from mirrormask.evaluation.suites.transfer_suite import PENALTIES

    scores = [np.mean([accuracy(x, y, rows, held, penalty) for rows, held in splits]) for penalty in PENALTIES]
    return PENALTIES[int(np.argmax(scores))]


def accuracy(x: Any, y: Any, train: Any, test: Any, penalty: float) -> float:
    """Fit one regression and return its accuracy."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1 / (penalty * len(train)), max_iter=1000)
    return float((model.fit(x[train], y[train]).predict(x[test]) == y[test]).mean())


def ours(encoder: Any, tasks: list[str], folds: int) -> dict[str, float]:
    """Score every task with our defaults."""
    from mirrormask.evaluation.suite_report import load_suite, score_suite
    from mirrormask.evaluation.suites.transfer_suite import Transfer
    from mirrormask.evaluation.vectors import TextVectors

    suite = Transfer(folds=folds)
    found, skipped = load_suite("transfer", suite, tasks)
    vectors = TextVectors.encode(encoder, (text for task in found for text in task.texts()))
    report = score_suite("transfer", suite, found, skipped, ["encoder"], [vectors])
    return {name: 100 * float(one.values["accuracy_percent"][0]) for name, one in report.scores.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", default="mini", help="a name or folder for mirrormask.load")
    parser.add_argument("--tasks", default="", help="transfer tasks, separated by commas; all whose data is there")
    parser.add_argument("--folds", type=int, default=10, help="outer and inner")
    asked = parser.parse_args()

    from mirrormask.data.tasks.transfer_data import TRANSFER_TASKS
    from mirrormask.data.text.sources import find_split
    from mirrormask.models.encoder import load
    from mirrormask.models.precision import best_precision

    there = [name for name, one in TRANSFER_TASKS.items() if find_split(one.dataset, one.splits[0])]
    tasks = asked.tasks.split(",") if asked.tasks else there
    encoder = load(asked.model)
    chosen = best_precision(encoder.device)
    print(f"{asked.model} on {encoder.device}; ours computes in {chosen.name}: {chosen.reason}")
    encoder.encode(["both start warm"] * 64, show_progress_bar=False)
    begun = time.perf_counter()
    our_scores = ours(encoder, tasks, asked.folds)
    our_time = time.perf_counter() - begun
    print(f"ours: {our_time:.1f} s", flush=True)
    begun = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's, about fits that it ends early
        peer_scores = peer(encoder, tasks, asked.folds)
    peer_time = time.perf_counter() - begun
    for name in tasks:
        print(f"{name}: ours {our_scores[name]:.2f}, peer {peer_scores[name]:.2f}")
    apart = max(abs(our_scores[name] - peer_scores[name]) for name in tasks)
    figures = {
        "name": "transfer_speed",
        "ratio": round(peer_time / our_time, 3),
        "ours_seconds": round(our_time, 2),
        "peer_seconds": round(peer_time, 2),
        "largest_accuracy_difference_points": round(apart, 3),
        "accuracies_equal_to_0.3_points": apart <= 0.3,
        "scores": {name: [round(our_scores[name], 2), round(peer_scores[name], 2)] for name in tasks},
        "folds": asked.folds,
        "tasks": tasks,
        "precision": chosen.name,
        "device": str(encoder.device),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
