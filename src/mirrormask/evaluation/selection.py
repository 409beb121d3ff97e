"""Choosing a checkpoint: by a dev set with labels where there is one, without labels where there is none.

Without labels, the score is the method's own loss on pairs of held-out text. The texts were set aside before training
and their pairs are drawn once, dropout included, and negatives are those of the batch alone, so that checkpoints differ
in the encoder alone. What it can and cannot see is measured in the guide: it stops a run that no longer learns its own
task, and it does not know whether that task is the right one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from mirrormask.core.errors import DataError, one_of
from mirrormask.core.seeding import derive
from mirrormask.data.batching import Batches
from mirrormask.data.tasks.sts_tasks import STS_TASKS
from mirrormask.models.precision import best_precision
from mirrormask.training.gather import alone
from mirrormask.training.loop import Score

if TYPE_CHECKING:
    from mirrormask.evaluation.own.queries import QueryDocuments

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


@dataclass(frozen=True)
class Judge:
    """What compares encoders, question by question.

    Args:
        name: of the score.
        explanation: a sentence for the user.
        scores: of the encoder as it is now, one per question, in percent; larger is better.
    """

    name: str
    explanation: str
    scores: Callable[[], NDArray[np.float64]]


def choose_selection(method: Any, dev: str, held_out: Batches | None) -> Selection:
    """Return how to choose: by `dev`, or by the held-out texts alone.

    Args:
        method: the `Method` in training.
        dev: as for `judge_by_labels`; empty for none.
        held_out: batches of texts that training does not see; None where there is too little text.
    """
    if dev:
        judge = judge_by_labels(method.encoder, dev)
        return Selection(judge.name, judge.explanation, lambda: Score(float(judge.scores().mean())))
    if held_out is None:
        return Selection("last", TOO_LITTLE, None)
    return Selection(HELD_OUT_LOSS, WITHOUT_LABELS, HeldOutLoss(method, held_out))


def check_dev(dev: str) -> None:
    """Refuse a dev set that is no STS task, no file and no folder, before anything long begins."""
    if not dev or Path(dev).exists():
        return
    if Path(dev).suffix or "/" in dev:
        raise DataError(f"There is no dev file {dev}. Check the path, or name an STS task such as stsb-dev.")
    one_of("dev", dev, STS_TASKS, of="a run")


def judge_by_labels(encoder: Any, dev: str, others: Sequence[str] = ()) -> Judge:
    """Return how labels compare encoders.

    Args:
        encoder: what is compared, as it is at the time.
        dev: an STS task, a file of scored pairs or of queries with their documents, or a folder with judged queries.
        others: texts among which the documents of queries have to be found, besides each other.
    """
    from mirrormask.evaluation.sts import sts_spearman

    task: Any = dev
    if Path(dev).exists():
        from mirrormask.evaluation.own.queries import QueryDocuments
        from mirrormask.evaluation.own.reading import read_dev

        own = read_dev(dev)
        if isinstance(own, QueryDocuments):
            return _by_queries(encoder, dev, own, others)
        task = own.pairs
    explanation = f"Checkpoints are chosen by Spearman's correlation on {dev}."
    return Judge(f"spearman on {dev}", explanation, lambda: np.array([sts_spearman(encoder, task)]))


def _by_queries(encoder: Any, dev: str, task: QueryDocuments, others: Sequence[str]) -> Judge:
    from mirrormask.evaluation.vectors import TextVectors

    task.among(others)

    def scores() -> NDArray[np.float64]:
        return 100 * task.scores(TextVectors.encode(encoder, roles=task.roles()))["ndcg_at_10_percent"]

    return Judge(f"nDCG@10 on {dev}", f"What is kept is chosen by nDCG@10 of the queries in {dev}.", scores)


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
