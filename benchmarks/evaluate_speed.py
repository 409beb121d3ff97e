"""The STS suite: our evaluation against encoding both sides of every pair with `SentenceTransformer.encode`.

Both load the same data, give the same scores and run on the same encoder, turn by turn in one process.
Ours encodes each different sentence once, sorted by true length, in the precision the device is good at, and
includes the bootstrap intervals it reports by default.

    python benchmarks/evaluate_speed.py --model mini --repeats 3
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

TASKS = "sts12,sts13,sts14,sts15,stsb"


def peer(encoder: Any, tasks: list[str]) -> dict[str, float]:
    """Score every task as a straightforward user does: encode one side, encode the other, correlate the cosines."""
    from scipy.stats import spearmanr
    from sentence_transformers.util import pairwise_cos_sim

    from mirrormask.data.tasks.sts_tasks import load_sts

    scores = {}
    for name in tasks:
        task = load_sts(name)
        left = encoder.encode(list(task.sentence1), batch_size=64, show_progress_bar=False)
        right = encoder.encode(list(task.sentence2), batch_size=64, show_progress_bar=False)
        scores[name] = 100 * float(spearmanr(pairwise_cos_sim(left, right).numpy(), task.scores).statistic)
    return scores


def ours(encoder: Any, tasks: list[str]) -> dict[str, float]:
    """Score every task with our defaults."""
    from mirrormask.evaluation.sts import evaluate_sts

    report = evaluate_sts([encoder], tasks)
    return {name: 100 * float(one.comparison.values["spearman_all_percent"][0]) for name, one in report.tasks.items()}


def timed(run: Callable[[Any, list[str]], dict[str, float]], encoder: Any, tasks: list[str]) -> tuple[float, dict]:
    start = time.perf_counter()
    scores = run(encoder, tasks)
    return time.perf_counter() - start, scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", default="mini", help="a name or folder for mirrormask.load")
    parser.add_argument("--tasks", default=TASKS, help="STS tasks, separated by commas")
    parser.add_argument("--repeats", type=int, default=3, help="turns of each")
    asked = parser.parse_args()

    from mirrormask.data.tasks.sts_tasks import load_sts
    from mirrormask.models.encoder import load
    from mirrormask.models.precision import best_precision

    tasks = asked.tasks.split(",")
    encoder = load(asked.model)
    chosen = best_precision(encoder.device)
    print(f"{asked.model} on {encoder.device}; ours computes in {chosen.name}: {chosen.reason}")
    ours(encoder, tasks[-1:])  # both start warm: kernels chosen, data in the disk cache
    peer(encoder, tasks[-1:])
    seconds: dict[str, list[float]] = {"ours": [], "peer": []}
    for turn in range(asked.repeats):
        our_time, our_scores = timed(ours, encoder, tasks)
        peer_time, peer_scores = timed(peer, encoder, tasks)
        seconds["ours"].append(our_time)
        seconds["peer"].append(peer_time)
        print(f"turn {turn + 1}: ours {our_time:.1f} s, peer {peer_time:.1f} s, ratio {peer_time / our_time:.2f}")
    loaded = [load_sts(name) for name in tasks]
    different = len({text for task in loaded for side in (task.sentence1, task.sentence2) for text in side})
    apart = max(abs(our_scores[name] - peer_scores[name]) for name in tasks)
    for name in tasks:
        print(f"{name}: ours {our_scores[name]:.2f}, peer {peer_scores[name]:.2f}")
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    figures = {
        "name": "evaluate_speed",
        "ratio": round(medians["peer"] / medians["ours"], 3),
        "ours_seconds": round(medians["ours"], 2),
        "peer_seconds": round(medians["peer"], 2),
        "repeats": asked.repeats,
        "ours_turns": [round(value, 2) for value in seconds["ours"]],
        "peer_turns": [round(value, 2) for value in seconds["peer"]],
        "sentences": 2 * sum(map(len, loaded)),
        "different_sentences": different,
        "largest_score_difference_points": round(apart, 3),
        "scores_equal_to_0.1_points": apart <= 0.1,
        "precision": chosen.name,
        "device": str(encoder.device),
        "tasks": tasks,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
