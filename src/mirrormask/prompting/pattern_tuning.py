"""Fine-tuning on a few examples: the masked LM learns to guess the right label's word at the mask.

Papers: Schick and Schütze 2021, "Exploiting Cloze Questions", Section 3.1: cross-entropy over the labels' scores, and
    (1 - a) L_CE + a L_MLM with a = 1e-4 over unlabelled text; the released code masks that text inside the pattern.
    "It's Not Just Size That Matters", Section 3.1: words of several tokens, all masks read at once, a hinge loss.
    Liu et al. 2021, "GPT Understands, Too": soft tokens with a rate of their own, the LM trained too or frozen.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from mirrormask.core.errors import DataError, above, at_least, between
from mirrormask.core.seeding import Seeds, derive, generator
from mirrormask.models.hiding import hide
from mirrormask.prompting.answers import measure
from mirrormask.prompting.cloze import Cloze, Fields, mask_states, padded_words
from mirrormask.prompting.cloze_rows import Examples
from mirrormask.prompting.pattern import Prompted
from mirrormask.prompting.zero_shot import labels_of
from mirrormask.training.loop import Reporter, Result, Score, fit
from mirrormask.training.optimizer import ParameterGroup
from mirrormask.training.row_numbers import RowNumbers
from mirrormask.training.settings import Settings

MASK_RATE = 0.15


@dataclass(frozen=True)
class Tuning:
    """How a pattern is tuned.

    Args:
        steps: updates.
        batch_size: examples of an update.
        learning_rate: of the model. The papers take 1e-5 for models of hundreds of millions of weights; with 32
            examples `mini` does best at three times that.
        soft_rate: that of soft tokens, in shares of it (the paper's 1e-4 beside 1e-5).
        schedule: of the rate.
        frozen: train the soft tokens alone.
        mlm_weight: share of the masked-LM loss on unlabelled text; 0 leaves it out.
        mlm_rows: unlabelled texts of an update.
        evaluate_every: updates between evaluations on the dev examples; 0 takes a tenth of the run.
        patience: evaluations without a gain before it stops; 0 never stops.
        precision: `auto` takes what the device is fast at.
        seed: of the order, dropout and fresh weights.
    """

    steps: int = 120
    batch_size: int = 16
    learning_rate: float = 3e-5
    soft_rate: float = 10.0
    schedule: str = "linear"
    frozen: bool = False
    mlm_weight: float = 0.0
    mlm_rows: int = 16
    evaluate_every: int = 0
    patience: int = 0
    precision: str = "auto"
    seed: int = 42

    def __post_init__(self) -> None:
        at_least("steps", self.steps, 1, of="prompt tuning")
        above("soft_rate", self.soft_rate, 0, of="prompt tuning")
        between("mlm_weight", self.mlm_weight, 0, 1, of="prompt tuning")
        at_least("mlm_rows", self.mlm_rows, 1, of="prompt tuning")
        self.settings()

    def settings(self) -> Settings:
        """Return them as the training loop takes them."""
        return Settings(
            batch_size=self.batch_size,
            steps=self.steps,
            learning_rate=self.learning_rate,
            weight_decay=0.01,
            schedule=self.schedule,
            precision=self.precision,
            compile="off",
            evaluate_every=self.evaluate_every,
            patience=self.patience,
            checkpoint_every=1 << 30,
            seeds=Seeds.all(self.seed),
        )


class PatternTuning(nn.Module):
    """A pattern in training; calling it on numbers of rows gives the loss.

    Args:
        cloze: what learns.
        examples: with labels.
        labels: the task's; none where rows have their own choices.
        tuning: how.
        unlabelled: texts of the masked-LM loss.
    """

    def __init__(
        self, cloze: Cloze, examples: Examples, labels: Sequence[str], tuning: Tuning, unlabelled: Fields = ()
    ) -> None:
        super().__init__()
        self.cloze, self.tuning = cloze, tuning
        cloze.lm.requires_grad_(not tuning.frozen)
        self.gold = torch.from_numpy(examples.numbers(labels))
        if examples.choices is None:
            self.words = cloze.word_table().cpu()
            masks = self.words.shape[-1]
        else:
            given = cloze.choice_ids(examples.choices)
            masks = max(len(word) for words in given for word in words)
            self.words = padded_words(given, masks)
        self.several = masks > 1
        self.rows = cloze.pattern.rows(examples.fields, masks)
        self.more = cloze.pattern.rows(unlabelled, masks) if tuning.mlm_weight else None
        if self.more is not None and not len(self.more):
            raise DataError("The masked-LM loss needs unlabelled text. Give a file with --unlabelled.")
        special = set(cloze.lm.tokenizer.all_special_ids)
        self.ordinary = torch.tensor(sorted(set(cloze.lm.tokenizer.get_vocab().values()) - special))
        self.special = torch.tensor(sorted(special))

    def parameter_groups(self) -> list[ParameterGroup]:
        """Name the soft tokens, which have a rate of their own."""
        if self.cloze.soft is None:
            return []
        return [ParameterGroup("soft tokens", list(self.cloze.soft.parameters()), rate=self.tuning.soft_rate)]

    def forward(self, numbers: Tensor, seed: int) -> Tensor:
        """Return the loss of some rows."""
        device = self.cloze.lm.device
        words = (self.words if len(self.words) == 1 else self.words[numbers]).to(device)
        scores = self.cloze.at_once(self.rows.take(numbers.numpy()), words)
        if len(self.words) > 1:
            scores = scores.masked_fill((words < 0).all(-1), -torch.inf)
        loss = label_loss(self.cloze.label_scores(scores), self.gold[numbers].to(device), hinge=self.several)
        if self.more is None:
            return loss
        weight = self.tuning.mlm_weight
        return (1 - weight) * loss + weight * self._masked_lm(self.more, seed)

    def _masked_lm(self, rows: Prompted, seed: int) -> Tensor:
        """Return the masked-LM loss of unlabelled rows, the pattern's own mask left out."""
        chance = generator(seed, "unlabelled")
        chosen = rows.take(chance.integers(0, len(rows), self.tuning.mlm_rows))
        draw = torch.Generator().manual_seed(derive(seed, "hide") % 2**63)
        hidden, places, wanted = [], [], []
        for row in chosen.tokens.rows:
            ids = torch.from_numpy(row)
            picked = (torch.rand(len(ids), generator=draw) < MASK_RATE) & ~torch.isin(ids, self.special)
            if not picked.any():
                free = torch.nonzero(~torch.isin(ids, self.special))[:, 0]
                picked[free[:1]] = True
            mask_id = self.cloze.lm.tokenizer.mask_token_id
            hidden.append(hide(ids, picked, mask_id=mask_id, ordinary=self.ordinary, chance=draw).numpy())
            places.append(torch.nonzero(picked)[:, 0].numpy())
            wanted.append(ids[picked])
        masked = Prompted(type(rows.tokens).of(hidden), tuple(places), chosen.soft)
        states = mask_states(self.cloze.lm, masked, None if self.cloze.soft is None else self.cloze.soft())
        scores = self.cloze.lm.head(states).float()
        return F.cross_entropy(scores, torch.cat(wanted).to(scores.device))


def label_loss(scores: Tensor, gold: Tensor, *, hinge: bool = False) -> Tensor:
    """Return the loss of label scores (n, labels): cross-entropy, or the hinge of words of several tokens.

    The hinge is the mean over rows of sum_y' max(0, 1 - s(y) + s(y')), y' being every wrong label.
    """
    if not hinge:
        return F.cross_entropy(scores, gold)
    right = scores.gather(1, gold[:, None])
    short = (1 - right + scores).clamp(min=0).scatter(1, gold[:, None], 0.0)
    return short.sum(1).mean()


@dataclass(frozen=True)
class Tuned:
    """A pattern that was tuned.

    Args:
        cloze: with its weights.
        result: of the training loop.
        curve: accuracy on the dev examples, by step.
    """

    cloze: Cloze
    result: Result
    curve: list[tuple[int, float]] = field(default_factory=list)


def tune(
    cloze: Cloze,
    examples: Examples,
    labels: Sequence[str],
    tuning: Tuning,
    *,
    unlabelled: Fields = (),
    dev: Examples | None = None,
    folder: Path | None = None,
    reporter: Reporter | None = None,
) -> Tuned:
    """Tune a pattern on examples through the training loop, and leave it at its last weights, or the best on `dev`.

    Args:
        cloze: what learns; it is changed.
        examples: with labels.
        labels: the task's.
        tuning: how.
        unlabelled: texts of the masked-LM loss.
        dev: examples by whose accuracy a checkpoint is chosen, such as P-tuning's other 32.
        folder: for metrics; by default one that is removed again.
        reporter: is told how it goes.
    """
    model = PatternTuning(cloze, examples, labels, tuning, unlabelled)
    source = RowNumbers(len(examples), min(tuning.batch_size, len(examples)), tuning.seed)

    def evaluate() -> Score:
        assert dev is not None
        found = scores_of(cloze, dev)
        return Score(measure(found.argmax(1), dev.numbers(labels), found.shape[1])["accuracy"])

    with tempfile.TemporaryDirectory() as temporary:
        result = fit(
            model,
            source,
            tuning.settings(),
            folder or Path(temporary),
            evaluate=None if dev is None else evaluate,
            reporter=reporter,
        )
    cloze.lm.requires_grad_(True)
    return Tuned(cloze, result, [(int(row["step"]), float(row["score"])) for row in result.history])


def scores_of(cloze: Cloze, examples: Examples) -> NDArray[np.float64]:
    """Return a pattern's scores of every label, or of every row's own choices (n, labels)."""
    was = cloze.training
    cloze.eval()
    words = cloze.word_scores(examples.fields, examples.choices)
    cloze.train(was)
    return labels_of(cloze, words) if cloze.words else words
