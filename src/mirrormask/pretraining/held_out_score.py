"""The masked LM's own measure: loss and accuracy at hidden tokens of text it never saw, the same ones each time."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from mirrormask.models.precision import Precision
from mirrormask.pretraining.masking import Masking
from mirrormask.pretraining.model import Pretraining
from mirrormask.pretraining.packing import PackedRows
from mirrormask.training.loop import Score

RATE = 0.15
"""Share of tokens hidden when measuring, whatever share was hidden in training: BERT's, so that numbers compare."""

MOST_ROWS = 2048


class HeldOutScore:
    """Scores a model on held-out rows, 15 % of the tokens hidden.

    Args:
        model: what to score.
        rows: the held-out rows.
        precision: of the forward.
        seed: which tokens are hidden.
        most_rows: how many rows to score, at most all.
    """

    def __init__(
        self, model: Pretraining, rows: PackedRows, precision: Precision, seed: int, most_rows: int = MOST_ROWS
    ) -> None:
        self.model = model
        self.rows = rows
        self.precision = precision
        self.seed = seed
        self.batches = min(len(rows), -(-most_rows // rows.batch_size))

    def __call__(self) -> Score:
        """Return the score, minus all that is learned, so that larger is better; with the masked LM's own measures."""
        device = self.model.lm.device
        own = self.model.masking
        masking = Masking(mask_id=own.mask_id, special=own.special, starts=own.starts, rate=RATE, whole_words=False)
        was_training = self.model.training
        self.model.eval()
        sums: list[Tensor] = []
        for step in range(self.batches):
            rows = self.rows.at(step).to(device)
            with self.precision.autocast(device):
                found = self.model.guesses(rows, masking, masking.count(self.rows.content), self.seed + step)
            sums.append(torch.stack([value.double() for value in found]))
        self.model.train(was_training)
        loss, hits, count, more = torch.stack(sums).sum(0).tolist()
        mean = loss / count
        details = {"loss": mean, "accuracy": hits / count, "perplexity": math.exp(min(mean, 50.0))}
        return Score(-mean - more / count, details)
