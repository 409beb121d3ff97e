"""Labelled texts as training sees them, and those set aside, by which a checkpoint is chosen and probabilities set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.batch import Ids, Tokens
from mirrormask.core.encoding import Encoder
from mirrormask.core.errors import one_of
from mirrormask.core.framing import frame_of
from mirrormask.data.pairs import Examples, Rows
from mirrormask.heads.calibration import calibration_error, fit_temperature, fit_threshold, probabilities_of
from mirrormask.heads.class_scores import f1_of
from mirrormask.heads.classifier import Classifier
from mirrormask.models.bulk import encode_tokens
from mirrormask.training.loop import Score

CHOICES = ("accuracy", "macro-f1", "loss")
"""What checkpoints may be chosen by."""


class LabelledRows(Examples):
    """Texts with labels, tokenized and held in memory.

    Args:
        tokenizer: of the encoder.
        texts: one a row.
        labels: classes (n,), or (n, classes) of 0 and 1.
    """

    def __init__(self, tokenizer: Any, texts: Sequence[str], labels: NDArray[np.int64]) -> None:
        encoder = Encoder(tokenizer)
        self.rows = [np.frombuffer(row, dtype=encoder.dtype).astype(np.int64) for row in encoder(list(texts))]
        self.classes = labels

    def __len__(self) -> int:
        return len(self.rows)

    def columns(self, examples: Rows, seed: int) -> tuple[list[Ids], ...]:
        """Return the token ids of the given texts."""
        return ([self.rows[number] for number in examples.tolist()],)

    def labels(self, examples: Rows) -> Rows:
        """Return their classes."""
        return self.classes[examples]

    def tokens(self, encoder: Any, max_length: int) -> Tokens:
        """Return all rows framed, as the encoder sees them."""
        frame = getattr(encoder[0], "frame", None) or frame_of(encoder.tokenizer)
        return Tokens.of(frame.around_each(self.rows, max_length))


class HeldOutLabels:
    """Scores a classifier as it is now on texts set aside.

    Args:
        classifier: what is scored.
        rows: texts that it does not train on.
        max_length: tokens of a text at most.
        choose_by: one of `CHOICES`.
        before: called first, such as what fits the head of an encoder that has learned by contrast alone.
    """

    def __init__(
        self,
        classifier: Classifier,
        rows: LabelledRows,
        *,
        max_length: int,
        choose_by: str = "accuracy",
        before: Callable[[], None] | None = None,
    ) -> None:
        self.classifier, self.rows, self.before = classifier, rows, before
        self.choose_by = one_of("choose_by", choose_by, CHOICES, of="classification")
        self.tokens = rows.tokens(classifier.encoder, max_length)

    def logits(self) -> NDArray[np.float64]:
        """Return the logits of the texts set aside (n, classes)."""
        return self.classifier.logits_from(encode_tokens(self.classifier.encoder, self.tokens))

    def __call__(self) -> Score:
        """Return the score, larger is better, and what else was measured."""
        if self.before is not None:
            self.before()
        several, labels, logits = self.classifier.several, self.rows.classes, self.logits()
        loss = _loss(logits, labels, several)
        chosen = (logits > 0).astype(np.int64) if several else logits.argmax(axis=1)
        right = (chosen == labels).all(axis=1) if several else chosen == labels
        f1, support = f1_of(labels, chosen, len(self.classifier.labels))
        macro = float(f1[support > 0].mean()) if (support > 0).any() else 0.0
        accuracy = float(right.mean())
        value = {"accuracy": 100 * accuracy, "macro-f1": 100 * macro, "loss": -loss}[self.choose_by]
        return Score(value, {"loss": loss, "accuracy": accuracy, "macro_f1": macro})

    def calibrate(self) -> dict[str, float]:
        """Set the classifier's temperature, and its threshold where several classes may hold, and say what it did."""
        several, labels, logits = self.classifier.several, self.rows.classes, self.logits()
        before = calibration_error(probabilities_of(logits, several=several), labels)
        self.classifier.temperature = fit_temperature(logits, labels, several=several)
        found = self.classifier.calibrated(logits)
        if several:
            self.classifier.threshold = fit_threshold(found, labels)
        return {
            "temperature": self.classifier.temperature,
            **({"threshold": self.classifier.threshold} if several else {}),
            "calibration_error_before": before,
            "calibration_error": calibration_error(found, labels),
            "rows": len(labels),
        }


def _loss(logits: NDArray[np.float64], labels: NDArray[np.int64], several: bool) -> float:
    if several:
        signs = np.where(labels > 0, logits, -logits)
        return float(np.logaddexp(0, -signs).mean())
    peak = logits.max(axis=1)
    total = peak + np.log(np.exp(logits - peak[:, None]).sum(axis=1))
    return float((total - logits[np.arange(len(labels)), labels]).mean())
