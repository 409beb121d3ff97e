"""Few labels: contrast and then a linear head, beside plain fine-tuning, SetFit's procedure and frozen vectors.

python benchmarks/few_labels.py --task sst2 --out few/sst2.jsonl
python benchmarks/few_labels.py --task mr --start all-MiniLM-L6-v2 --sizes 8 --out few/mr-other.jsonl
python benchmarks/few_labels.py --table few/*.jsonl

Every method gets the same texts, the same start and the same search: each rate with each number of steps, chosen by the
mean accuracy on dev texts over seeds that are not reported. SetFit's procedure is written out here (pairs drawn half
from one class, half from two; cosine against 1 or 0; scikit-learn's logistic regression as it comes), because its
package needs two more than the machine has.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from labelled_runs import LENGTH, Prepared, Records, some_of, task, trained, vectors_of
from torch import Tensor, nn
from torch.nn import functional as F

from mirrormask.core.batch import Batch, Tokens
from mirrormask.core.seeding import generator
from mirrormask.evaluation.statistics.significance import sign_flip_p
from mirrormask.heads.classifier import Classifier
from mirrormask.heads.held_out_labels import LabelledRows
from mirrormask.heads.label_splits import few_each
from mirrormask.heads.learner import Learner
from mirrormask.heads.linear_fit import fit_linear
from mirrormask.models.copies import copy_of
from mirrormask.models.encoder import load
from mirrormask.training.forward import encode
from mirrormask.views import Vocabulary
from mirrormask.views.dropout import Dropout

TASKS = ("sst2", "mr", "cr", "ag")
METHODS = ("contrast", "fine-tuning", "setfit")
RATES, STEPS = (1e-5, 3e-5, 1e-4, 3e-4), (30, 90)
SEARCHED, SEEDS = (1000, 1001, 1002), tuple(range(10))
PAIRS = 16
FEWEST = 6
"""Seeds of a task below which no p-value can be small."""


class Pairs:
    """SetFit's batches: pairs of texts, half of them of one class."""

    def __init__(self, rows: LabelledRows, frame: Any, seed: int) -> None:
        self.rows, self.frame, self.seed = rows, frame, seed

    def __len__(self) -> int:
        return 1

    def stream(self, start: int, stop: int, rank: int, world: int) -> Iterator[Batch]:
        labels = self.rows.classes
        same = labels[:, None] == labels
        kinds = [np.argwhere(np.triu(same, 1)), np.argwhere(np.triu(~same, 1))]
        for step in range(start, stop):
            random = generator(self.seed, "pairs", step)
            drawn = np.concatenate([random.choice(kind, PAIRS // 2) for kind in kinds])
            columns = [self.frame.around_each([self.rows.rows[i] for i in side], LENGTH) for side in drawn.T.tolist()]
            labels_of = torch.tensor([1] * (PAIRS // 2) + [0] * (PAIRS // 2))
            yield Batch(tuple(Tokens.of(column) for column in columns), labels_of)


class CosinePairs(nn.Module):
    """The squared difference of a pair's cosine from 1 or 0."""

    def __init__(self, encoder: Any) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, batch: Batch, seed: int = 0) -> Tensor:
        one, other = batch.columns
        vectors = encode(self.encoder, one + other, pad_id=self.encoder.tokenizer.pad_token_id or 0).float()
        left, right = vectors[: len(one)], vectors[len(one) :]
        assert batch.labels is not None
        return F.mse_loss(F.cosine_similarity(left, right), batch.labels.to(left.device).float())


def accuracies(
    start: Any, data: Prepared, method: str, size: int, seed: int, rate: float, steps: int, parts: Sequence[str]
) -> dict[str, float]:
    """Return the accuracy in percent of one classifier on the parts asked for."""
    few = some_of(data.train, few_each(data.train.classes, size, seed))
    encoder = copy_of(start)
    unit = method in ("contrast", "frozen")
    torch.manual_seed(seed)
    classifier = Classifier(encoder, data.labels, unit=unit)
    how: dict[str, Any] = {"seed": seed, "steps": steps, "learning_rate": rate}
    if method == "fine-tuning":
        trained(Learner(classifier, "cross-entropy"), few, data.frame, batch_size=64, **how)
    elif method == "contrast":
        learner = Learner(classifier, "contrast", view=Dropout(), vocabulary=Vocabulary.of(encoder))
        trained(learner, few, data.frame, batch_size=64, **how)
    elif method == "setfit":
        trained(CosinePairs(encoder), Pairs(few, data.frame, seed), data.frame, batch_size=PAIRS, **how)  # type: ignore[arg-type]
    found = {part: vectors_of(encoder, getattr(data, part)) for part in parts}
    if method == "setfit":
        from sklearn.linear_model import LogisticRegression

        head = LogisticRegression().fit(vectors_of(encoder, few), few.classes)
        chosen = {part: head.predict(vectors) for part, vectors in found.items()}
    else:
        if unit:
            fit_linear(classifier, vectors_of(encoder, few), few.classes)
        chosen = {part: classifier.logits_from(vectors).argmax(axis=1) for part, vectors in found.items()}
    return {part: 100 * float((chosen[part] == getattr(data, part).classes).mean()) for part in parts}


def measure(name: str, start: str, sizes: Sequence[int], seeds: Sequence[int], records: Records) -> None:
    """Search, then report, size after size; a run that has no time left is not begun."""
    encoder = load(start)
    encoder.max_seq_length = LENGTH
    data = Prepared.of(task(name), encoder)
    known = {"task": name, "start": Path(start).name}
    for size in sizes:
        best = {}
        for method in METHODS:
            scores = {}
            for rate, steps in itertools.product(RATES, STEPS):
                if records.over:
                    return
                begun = time.monotonic()
                found = [accuracies(encoder, data, method, size, s, rate, steps, ["dev"])["dev"] for s in SEARCHED]
                scores[rate, steps] = float(np.mean(found))
                row = {
                    **known,
                    "size": size,
                    "method": method,
                    "rate": rate,
                    "steps": steps,
                    "dev": scores[rate, steps],
                }
                records.add({"phase": "search", **row, "seconds": round(time.monotonic() - begun, 2)})
            best[method] = max(scores, key=lambda key: scores[key])
        for seed in seeds:
            for method in (*METHODS, "frozen"):
                if records.over:
                    return
                rate, steps = best.get(method, (1e-4, 0))
                begun = time.monotonic()
                reached = accuracies(encoder, data, method, size, seed, rate, steps, ["test"])["test"]
                row = {
                    **known,
                    "size": size,
                    "method": method,
                    "rate": rate,
                    "steps": steps,
                    "seed": seed,
                    "test": reached,
                }
                records.add({"phase": "test", **row, "seconds": round(time.monotonic() - begun, 2)})


def table(paths: Sequence[Path]) -> dict[str, Any]:
    """Return, by start and size and then by task, what every method reaches over the seeds that all of them have.

    Where several tasks have at least six seeds, their mean stands beside them, over the seeds that all have.
    """
    rows = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    found: dict[tuple[str, int], dict[str, dict[str, dict[int, float]]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        if row["phase"] == "test":
            found[row["start"], row["size"]][row["task"]].setdefault(row["method"], {})[row["seed"]] = row["test"]
    report = {}
    for (start, size), tasks in sorted(found.items()):
        whole = {name: each for name in TASKS if len(each := tasks.get(name, {})) == len(METHODS) + 1}
        shared = {name: sorted(set.intersection(*map(set, each.values()))) for name, each in whole.items()}
        shown = {name: _compared(each, shared[name]) for name, each in whole.items() if shared[name]}
        enough = [name for name, seeds in shared.items() if len(seeds) >= FEWEST]
        seeds = sorted(set.intersection(*(set(shared[name]) for name in enough))) if enough else []
        if len(enough) > 1 and seeds:
            means = {
                m: {s: float(np.mean([whole[name][m][s] for name in enough])) for s in seeds}
                for m in (*METHODS, "frozen")
            }
            shown[f"mean of {', '.join(enough)}"] = _compared(means, seeds)
        report[f"{start}, {size} a class"] = shown
    return report


def _compared(methods: dict[str, dict[int, float]], seeds: Sequence[int]) -> dict[str, Any]:
    """Return the mean of every method over seeds, and by how much contrast is ahead of the others."""
    values = {method: np.array([each[seed] for seed in seeds]) for method, each in methods.items()}
    ahead = {method: values["contrast"] - each for method, each in values.items() if method != "contrast"}
    return {
        "seeds": len(seeds),
        "methods": {method: float(each.mean()) for method, each in values.items()},
        "contrast_against": {m: {"by": float(d.mean()), "p": sign_flip_p(d)} for m, d in ahead.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", choices=TASKS)
    parser.add_argument("--start", default="mini-sentence")
    parser.add_argument("--sizes", default="8,32")
    parser.add_argument("--seeds", type=int, default=len(SEEDS))
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--table", type=Path, nargs="+")
    given = parser.parse_args()
    if given.table:
        print(json.dumps(table(given.table), indent=2))
        return
    sizes = [int(each) for each in given.sizes.split(",")]
    measure(given.task, given.start, sizes, SEEDS[: given.seeds], Records(given.out, given.seconds))


if __name__ == "__main__":
    main()
