"""From soft labels to a classifier: a sentence encoder with a head learns what the patterns say of unlabelled text.

Papers: Hinton et al. 2015, "Distilling the Knowledge in a Neural Network"; Schick and Schütze 2021, "Exploiting Cloze
    Questions", Section 3.2: temperature 2

    loss = T^2 KL(softmax(teacher / T) || softmax(student / T))
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from mirrormask.core.batch import Tokens
from mirrormask.core.encoding import Encoder
from mirrormask.core.errors import above, at_least
from mirrormask.core.framing import frame_of
from mirrormask.core.seeding import Seeds, derive
from mirrormask.heads.classifier import Classifier
from mirrormask.models.encoder import build_encoder
from mirrormask.training.forward import encode
from mirrormask.training.loop import Reporter, fit
from mirrormask.training.optimizer import ParameterGroup
from mirrormask.training.row_numbers import RowNumbers
from mirrormask.training.settings import Settings

TEMPERATURE = 2.0


@dataclass(frozen=True)
class Distilling:
    """How a classifier learns.

    Args:
        steps: updates.
        batch_size: texts of an update.
        learning_rate: of the encoder.
        head_rate: of the fresh head, in shares of it.
        temperature: of both sides.
        max_length: tokens of a text.
        precision: `auto` takes what the device is fast at.
        seed: of the order, dropout and the head.
    """

    steps: int = 400
    batch_size: int = 32
    learning_rate: float = 1e-4
    head_rate: float = 10.0
    temperature: float = TEMPERATURE
    max_length: int = 256
    precision: str = "auto"
    seed: int = 42

    def __post_init__(self) -> None:
        at_least("steps", self.steps, 1, of="distillation")
        above("temperature", self.temperature, 0, of="distillation")


class Student(nn.Module):
    """A classifier in training; calling it on numbers of texts gives the loss.

    Args:
        classifier: what learns.
        texts: to learn from.
        targets: scores of the teachers (n, labels), or numbers of labels (n,), which are learned as they are.
        distilling: how.
    """

    def __init__(
        self, classifier: Classifier, texts: Sequence[str], targets: NDArray[np.generic], distilling: Distilling
    ) -> None:
        super().__init__()
        self.classifier, self.how = classifier, distilling
        tokenizer = classifier.encoder.tokenizer
        most = min(distilling.max_length, classifier.encoder.max_seq_length or distilling.max_length)
        encoder = Encoder(tokenizer)
        rows = [np.frombuffer(each, dtype=encoder.dtype).astype(np.int64) for each in encoder(list(texts))]
        self.rows = frame_of(tokenizer).around_each(rows, most)
        self.targets = torch.from_numpy(np.asarray(targets))
        self.pad_id = tokenizer.pad_token_id or 0

    def parameter_groups(self) -> list[ParameterGroup]:
        """Name the head, which begins anew and has a rate of its own."""
        return [ParameterGroup("head", list(self.classifier.head.parameters()), rate=self.how.head_rate)]

    def forward(self, numbers: Tensor, seed: int) -> Tensor:
        """Return the loss of some texts."""
        tokens = Tokens.of([self.rows[i] for i in numbers.tolist()])
        logits = self.classifier.logits_of(encode(self.classifier.encoder, tokens, pad_id=self.pad_id)).float()
        return distillation_loss(logits, self.targets[numbers].to(logits.device), self.how.temperature)


def distillation_loss(student: Tensor, teacher: Tensor, temperature: float = TEMPERATURE) -> Tensor:
    """Return T^2 KL of the tempered softmaxes, or the cross-entropy where the teacher is labels (n,)."""
    if teacher.ndim == 1:
        return F.cross_entropy(student, teacher)
    wanted = (teacher.to(student.dtype) / temperature).softmax(-1)
    found = (student / temperature).log_softmax(-1)
    return temperature**2 * F.kl_div(found, wanted, reduction="batchmean")


def distill(
    model: str,
    labels: Sequence[str],
    texts: Sequence[str],
    targets: NDArray[np.generic],
    distilling: Distilling,
    *,
    folder: Path | None = None,
    reporter: Reporter | None = None,
) -> Classifier:
    """Return a classifier that learned the targets of texts.

    Args:
        model: an encoder or masked LM to begin with.
        labels: the classes.
        texts: without labels of their own.
        targets: the teachers' scores (n, labels), or labels (n,).
        distilling: how.
        folder: for metrics; by default one that is removed again.
        reporter: is told how it goes.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive(distilling.seed, "head") % 2**63)
        classifier = Classifier(build_encoder(model), labels)
    settings = Settings(
        batch_size=distilling.batch_size,
        steps=distilling.steps,
        learning_rate=distilling.learning_rate,
        weight_decay=0.01,
        precision=distilling.precision,
        compile="off",
        checkpoint_every=1 << 30,
        seeds=Seeds.all(distilling.seed),
    )
    student = Student(classifier, texts, targets, distilling)
    source = RowNumbers(len(texts), min(distilling.batch_size, len(texts)), distilling.seed)
    with tempfile.TemporaryDirectory() as temporary:
        fit(student, source, settings, folder or Path(temporary), reporter=reporter)
    return classifier.eval()
