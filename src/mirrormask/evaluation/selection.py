"""Choosing a checkpoint: by a dev set with labels where there is one, without labels where there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mirrormask.core.errors import DataError, one_of
from mirrormask.data.batching import Batches
from mirrormask.data.sts import STS_TASKS
from mirrormask.training.loop import Score


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
    from mirrormask.evaluation.label_free import EXPLANATION, NAME, HeldOutLoss

    if held_out is None:
        return Selection("last", "Too little text to set some aside: the last checkpoint is kept.", None)
    return Selection(NAME, EXPLANATION, HeldOutLoss(method, held_out))


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
        from mirrormask.evaluation.pairs import load_pairs

        task = load_pairs(dev)
    explanation = f"Checkpoints are chosen by Spearman's correlation on {dev}."
    return Selection(f"spearman on {dev}", explanation, lambda: Score(sts_spearman(encoder, task)))
