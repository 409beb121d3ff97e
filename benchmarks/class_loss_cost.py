"""What a step costs with contrast beside the cross-entropy, as a multiple of a step with cross-entropy alone.

python benchmarks/class_loss_cost.py --model mini --batch 64 --out cost.json

The label-aware loss has a second encoder. It is compared with two encoders that both learn by cross-entropy alone, so
that what is left is the loss. Steps take turns, so that whatever else the machine does strikes all of them.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from labelled_runs import LENGTH, Prepared, task

from mirrormask.core.batch import Batch, Tokens
from mirrormask.core.storage import write_json
from mirrormask.heads.classifier import Classifier
from mirrormask.heads.learner import Learner
from mirrormask.models.copies import copy_of
from mirrormask.models.encoder import build_encoder
from mirrormask.models.precision import best_precision, varied_shapes
from mirrormask.training.optimizer import adamw

BAR = 1.2
KINDS: dict[str, dict[str, Any]] = {
    "cross-entropy": {"objective": "cross-entropy"},
    "sup-con": {"objective": "sup-con"},
    "two encoders, cross-entropy": {"objective": "lcl", "contrast": 0.0},
    "lcl": {"objective": "lcl"},
}


class Plain(Learner):
    """Two networks that learn by cross-entropy alone: the label-aware loss is not computed at all."""

    def _loss(self, vectors: torch.Tensor, labels: torch.Tensor, other: torch.Tensor | None) -> torch.Tensor:
        assert self.weighting is not None and other is not None
        logits = self.weighting.logits_of(other.float())
        return self._cross_entropy(self.classifier.logits_of(vectors), labels) + self._cross_entropy(logits, labels)


def learner(start: Any, labels: list[str], objective: str, contrast: float | None = None) -> Learner:
    other = Classifier(copy_of(start), labels) if objective == "lcl" else None
    kind = Plain if contrast == 0.0 else Learner
    return (
        kind(Classifier(copy_of(start), labels), objective, contrast=contrast, weighting=other).to(start.device).train()
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="mini")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    start = build_encoder(given.model)
    start.max_seq_length = LENGTH
    data = Prepared.of(task("goemotions"), start)
    device, precision = start.device, best_precision(start.device)
    learners = {name: learner(start, data.labels, **how) for name, how in KINDS.items()}
    optimizers = {name: adamw(each, learning_rate=1e-4, weight_decay=0.01) for name, each in learners.items()}
    took: dict[str, list[float]] = {name: [] for name in KINDS}
    random = np.random.default_rng(0)
    for number in range(given.rounds + 3):
        rows = random.choice(len(data.train), given.batch, replace=False)
        framed = data.frame.around_each([data.train.rows[i] for i in rows], LENGTH)
        batch = Batch((Tokens.of(framed),), torch.from_numpy(data.train.classes[rows]))
        for name in random.permutation(list(KINDS)).tolist():
            if device.type == "cuda":
                torch.cuda.synchronize()
            begun = time.monotonic()
            optimizers[name].zero_grad(set_to_none=True)
            with varied_shapes(), precision.autocast(device):
                loss = learners[name](batch, number)
            loss.backward()
            optimizers[name].step()
            if device.type == "cuda":
                torch.cuda.synchronize()
            if number >= 3:
                took[name].append(time.monotonic() - begun)
    middle = {name: statistics.median(each) for name, each in took.items()}
    ratios = {
        "sup-con": middle["sup-con"] / middle["cross-entropy"],
        "lcl": middle["lcl"] / middle["two encoders, cross-entropy"],
    }
    found = {
        "model": given.model,
        "batch": given.batch,
        "device": str(device),
        "milliseconds": {name: round(1000 * each, 2) for name, each in middle.items()},
        "ratios": {name: round(each, 3) for name, each in ratios.items()},
        "bar": BAR,
        "holds": all(each <= BAR for each in ratios.values()),
    }
    print(json.dumps(found, indent=2))
    if given.out:
        write_json(given.out, found)


if __name__ == "__main__":
    main()
