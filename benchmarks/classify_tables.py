"""Cross-entropy, supervised contrast and label-aware contrast on the label-aware paper's datasets, as far as at hand.

python benchmarks/classify_tables.py --set sst5 --out tables/sst5.jsonl
python benchmarks/classify_tables.py --set goemotions:16 --set goemotions:hard-a --out tables/go.jsonl

A set is a task, or one with a subset of its classes: the 4, 8 or 16 most frequent ones, or a hard set by its letter.
The rate is chosen on the dev texts for every objective by a seed that is not reported, the epoch of a run likewise.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from labelled_runs import LENGTH, Prepared, Records, Task, task, trained, vectors_of

from mirrormask.heads.class_scores import scores_of
from mirrormask.heads.classifier import Classifier
from mirrormask.heads.held_out_labels import HeldOutLabels
from mirrormask.heads.learner import Learner
from mirrormask.models.copies import copy_of
from mirrormask.models.encoder import build_encoder
from mirrormask.views import Vocabulary
from mirrormask.views.synonyms import Synonyms

OBJECTIVES = ("cross-entropy", "sup-con", "lcl")
RATES = (1e-4, 4e-4)
SEARCHED, EPOCHS = 1000, 4
HARD = {
    "a": ("anger", "annoyance", "disapproval", "disgust"),
    "b": ("sadness", "disappointment", "remorse", "grief"),
    "c": ("joy", "excitement", "amusement", "love"),
    "d": ("fear", "nervousness", "confusion", "surprise"),
}
"""Four sets of four classes of GoEmotions that mean nearly the same, in place of the paper's of another dataset."""


def chosen(name: str) -> Task:
    """Return the texts of a set."""
    base, _, subset = name.partition(":")
    data = task(base)
    if not subset:
        return data
    if subset.startswith("hard-"):
        return data.of(HARD[subset.removeprefix("hard-")])
    counts = Counter(label for _, label in data.train)
    return data.of([label for label, _ in counts.most_common(int(subset))])


def one(
    start: Any, data: Prepared, objective: str, seed: int, rate: float, batch: int, *, augment: bool
) -> dict[str, Any]:
    """Return the dev accuracy of the epoch that was kept, and the test scores of its classifier."""
    torch.manual_seed(seed)
    encoder = copy_of(start)
    classifier = Classifier(encoder, data.labels)
    other = Classifier(copy_of(start), data.labels) if objective == "lcl" else None
    view = Synonyms() if augment else None
    if view is not None:
        view.attach(encoder, None)
    learner = Learner(classifier, objective, weighting=other, view=view, vocabulary=Vocabulary.of(encoder))
    judge = HeldOutLabels(classifier, data.dev, max_length=LENGTH)
    steps = EPOCHS * max(1, len(data.train) // batch)
    how = {"steps": steps, "batch_size": batch, "learning_rate": rate, "evaluate_every": max(1, steps // EPOCHS)}
    result = trained(learner, data.train, data.frame, seed=seed, evaluate=judge, **how)
    judge.calibrate()
    logits = classifier.logits_from(vectors_of(encoder, data.test))
    found = classifier.calibrated(logits)
    scores = scores_of(data.test.classes, classifier.chosen(found), found, data.labels)
    kept = ("accuracy_percent", "macro_f1_percent", "weighted_f1_percent", "calibration_error", "entropy_bits")
    return {
        "dev": result.best_score,
        **{key: scores[key] for key in kept},
        "most_confused": scores["most_confused"][:3],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", dest="sets", action="append", required=True)
    parser.add_argument("--start", default="mini")
    parser.add_argument("--objective", dest="objectives", action="append", choices=OBJECTIVES, help="all by default")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--augment", action="store_true", help="double every batch with synonyms")
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    records = Records(given.out, given.seconds)
    start = build_encoder(given.start)
    start.max_seq_length = LENGTH
    for name in given.sets:
        data = Prepared.of(chosen(name), start)
        batch = 2 * given.batch if len(data.train) > 15_000 else given.batch
        known = {"set": name, "start": given.start, "classes": len(data.labels), "texts": len(data.train)}
        known |= {"batch": batch, "augment": given.augment}
        best: dict[str, float] = {}
        objectives = given.objectives or OBJECTIVES
        for objective in objectives:
            devs = {}
            for rate in RATES:
                if records.over:
                    return
                begun = time.monotonic()
                devs[rate] = one(start, data, objective, SEARCHED, rate, batch, augment=given.augment)["dev"]
                row = {**known, "objective": objective, "rate": rate, "dev": devs[rate]}
                records.add({"phase": "search", **row, "seconds": round(time.monotonic() - begun, 2)})
            best[objective] = max(devs, key=lambda rate: devs[rate])
        for seed in range(given.seeds):
            for objective in objectives:
                if records.over:
                    return
                begun = time.monotonic()
                found = one(start, data, objective, seed, best[objective], batch, augment=given.augment)
                row = {**known, "objective": objective, "rate": best[objective], "seed": seed, **found}
                records.add({"phase": "test", **row, "seconds": round(time.monotonic() - begun, 2)})


if __name__ == "__main__":
    main()
