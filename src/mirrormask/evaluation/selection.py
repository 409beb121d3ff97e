"""Choosing a checkpoint: by a dev set with labels where there is one, without labels where there is none.

Without labels, the score is the method's own loss on pairs of held-out text. The texts were set aside before training
and their pairs are drawn once, dropout included, and negatives are those of the batch alone, so that checkpoints differ
in the encoder alone. What it can and cannot see is measured in the guide: it stops a run that no longer learns its own
task, and it does not know whether that task is the right one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from mirrormask.core.errors import DataError, one_of
from mirrormask.core.seeding import derive
from mirrormask.data.batching import Batches
from mirrormask.data.tasks.sts_tasks import STS_TASKS
from mirrormask.models.precision import best_precision
from mirrormask.training.gather import alone
from mirrormask.training.loop import Score

HELD_OUT_LOSS = "held-out loss"
WITHOUT_LABELS = (
    "No dev set was given: checkpoints are chosen without labels, by the method's own loss on texts set aside."
)
TOO_LITTLE = "Too little text to set some aside: the last checkpoint is kept, be it better than the start or not."


@dataclass(frozen=True)
class Selection:
    """How checkpoints are compared.

    Args:
        name: of the score.
        explanation: a sentence for the user.
        score: measures the encoder as it is now, larger is better; None keeps the last checkpoint.
    """

    name: str
    explanation: str
    score: Callable[[], Score] | None


def choose_selection(method: Any, dev: str, held_out: Batches | None) -> Selection:
    """Return how to choose: by `dev` (an STS task or a file of scored pairs), or by the held-out texts alone.

    Args:
        method: the `Method` in training.
        dev: an STS task such as `stsb-dev`, or a file with sentence1, sentence2 and score; empty for none.
        held_out: batches of texts that training does not see; None where there is too little text.
    """
    if dev:
        return _by_labels(method.encoder, dev)

    if held_out is None:
        return Selection("last", TOO_LITTLE, None)
    return Selection(HELD_OUT_LOSS, WITHOUT_LABELS, HeldOutLoss(method, held_out))


def check_dev(dev: str) -> None:
    """Refuse a dev set that is neither an STS task nor a file, before anything long begins."""
    if not dev or Path(dev).is_file():
        return
    if Path(dev).suffix or "/" in dev:
        raise DataError(f"There is no dev file {dev}. Check the path, or name an STS task such as stsb-dev.")
    one_of("dev", dev, STS_TASKS, of="a run")


def _by_labels(encoder: Any, dev: str) -> Selection:
    from mirrormask.evaluation.sts import sts_spearman

    task: Any = dev
    if Path(dev).is_file():
        from mirrormask.evaluation.own.reading import load_pairs

        task = load_pairs(dev)
    explanation = f"Checkpoints are chosen by Spearman's correlation on {dev}."
    return Selection(f"spearman on {dev}", explanation, lambda: Score(sts_spearman(encoder, task)))


class HeldOutLoss:
    """Scores a method as it is now by minus its loss on held-out batches, the same draws every time.

    Args:
        method: the `Method` in training.
        batches: of texts that training does not see.
    """

    def __init__(self, method: Any, batches: Batches) -> None:
        self.method = method
        self.batches = batches

    @torch.no_grad()
    def __call__(self) -> Score:
        """Return minus the mean loss over the held-out batches, to two digits: smaller differences are chance."""
        device = next(self.method.parameters()).device
        was_training = self.method.training
        self.method.train()  # two dropout views are one and the same without dropout
        source, self.method.negatives = self.method.negatives, None  # what it remembers differs between checkpoints
        losses = []
        try:
            with alone(), best_precision(device).autocast(device):
                for number in range(len(self.batches)):
                    seed = derive(0, "held-out", number)
                    torch.manual_seed(seed)
                    losses.append(float(self.method(self.batches.at(number), seed)))
        finally:
            self.method.negatives = source
            self.method.train(was_training)
        loss = sum(losses) / len(losses)
        return Score(-round(loss, 2), {"held_out_loss": loss})
