"""A classifier: a sentence encoder with a head on it, saved in one folder that is a sentence encoder too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from mirrormask.core.errors import one_of
from mirrormask.heads.calibration import probabilities_of
from mirrormask.heads.kept_heads import KeptHeads
from mirrormask.models.bulk import encode_texts
from mirrormask.models.encoder import save_encoder

FACTS = "classifier.json"
FILES = KeptHeads(
    FACTS,
    "classifier.safetensors",
    f"is no classifier: it has no {FACTS}. Make one with mirrormask classify train FILE --out NAME.",
    "The classifier in {} is damaged",
)
HEADS = ("linear", "mlp")
DROPOUT = 0.1

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Prediction:
    """What a classifier says about a text.

    Args:
        labels: the likeliest class; where several may hold, all that reach the threshold, likelier ones first.
        probability: of the likeliest class.
        probabilities: of every class, in the order of the classifier's labels.
    """

    labels: tuple[str, ...]
    probability: float
    probabilities: tuple[float, ...]


def build_head(kind: str, width: int, classes: int, *, dropout: float = DROPOUT) -> nn.Sequential:
    """Return a fresh head from vectors (n, width) to logits (n, classes).

    Args:
        kind: `linear`, or `mlp`: a hidden layer as wide as the vector, as the label-aware loss was published with.
        width: of a vector.
        classes: how many.
        dropout: rate.
    """
    one_of("head", kind, HEADS, of="classification")
    if kind == "linear":
        return nn.Sequential(nn.Dropout(dropout), nn.Linear(width, classes))
    return nn.Sequential(nn.Linear(width, width), nn.Dropout(dropout), nn.ReLU(), nn.Linear(width, classes))


class Classifier(nn.Module):
    """An encoder and a head.

    Args:
        encoder: a SentenceTransformer.
        labels: names of the classes, in the order of the logits.
        head: what kind of head it has.
        several: whether a text may have several classes, or none.
        unit: whether the head sees vectors of length 1.
        temperature: what logits are divided by for probabilities.
        threshold: from which probability on a class holds, where several may.
        always: whether the likeliest class holds in any case, where several may.
        max_length: tokens of a text that it reads; None for as many as the encoder does.
    """

    def __init__(
        self,
        encoder: Any,
        labels: Sequence[str],
        *,
        head: str = "linear",
        several: bool = False,
        unit: bool = False,
        temperature: float = 1.0,
        threshold: float = 0.5,
        always: bool = True,
        max_length: int | None = None,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.labels = tuple(labels)
        self.kind, self.several, self.unit = head, several, unit
        self.temperature, self.threshold, self.always = temperature, threshold, always
        self.max_length = max_length
        self.head = build_head(head, encoder.get_embedding_dimension(), len(labels)).to(encoder.device)

    @classmethod
    def load(cls, name: Path | str, *, device: str | None = None) -> Classifier:
        """Open the classifier in a folder that `classify train` left.

        Raises:
            ModelError: there is no classifier there, or it is damaged.
        """
        return FILES.open(name, lambda encoder, facts: cls(encoder, facts.pop("labels"), **facts), _head_of, device)

    def save(self, folder: Path | str, *, facts: dict[str, Any] | None = None) -> None:
        """Save encoder and head into one folder, whole or not at all; `SentenceTransformer(folder)` opens the encoder.

        Args:
            folder: replaced as a whole.
            facts: how it was made, for `info` and the model card.
        """
        save_encoder(self.encoder, folder, facts=facts, add=self._write)

    def _write(self, folder: Path) -> None:
        numbers = {"temperature": self.temperature, "threshold": self.threshold, "always": self.always}
        how = {"head": self.kind, "several": self.several, "unit": self.unit, "max_length": self.max_length, **numbers}
        FILES.write(folder, self.head, {"labels": list(self.labels), **how})

    def logits_of(self, vectors: Tensor) -> Tensor:
        """Return logits (n, classes) of sentence vectors (n, d)."""
        found: Tensor = self.head(F.normalize(vectors, dim=-1) if self.unit else vectors)
        return found

    @torch.inference_mode()
    def logits_from(self, vectors: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return logits (n, classes) of sentence vectors (n, d) of numpy, without dropout."""
        was = self.head.training
        self.head.eval()
        device = next(self.head.parameters()).device
        found = self.logits_of(torch.from_numpy(np.asarray(vectors, dtype=np.float32)).to(device))
        self.head.train(was)
        return found.float().cpu().numpy().astype(np.float64)

    def logits(self, texts: Sequence[str], *, progress: Progress | None = None) -> NDArray[np.float64]:
        """Return logits (n, classes) of texts."""
        return self.logits_from(encode_texts(self.encoder, texts, max_length=self.max_length, progress=progress))

    def calibrated(self, logits: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the probabilities that logits stand for."""
        return probabilities_of(logits, temperature=self.temperature, several=self.several)

    def probabilities(self, texts: Sequence[str], *, progress: Progress | None = None) -> NDArray[np.float64]:
        """Return the probability of every class (n, classes) of texts."""
        return self.calibrated(self.logits(texts, progress=progress))

    def chosen(self, probabilities: NDArray[np.floating]) -> NDArray[np.int64]:
        """Return the classes that probabilities (n, classes) decide for: (n,), or (n, classes) of 0 and 1."""
        if not self.several:
            return probabilities.argmax(axis=1)
        taken = (probabilities >= self.threshold).astype(np.int64)
        if self.always:
            taken[np.arange(len(taken)), probabilities.argmax(axis=1)] = 1
        return taken

    def predict(self, texts: Sequence[str], *, progress: Progress | None = None) -> list[Prediction]:
        """Return what the classifier says about texts."""
        found = self.probabilities(texts, progress=progress)
        chosen = self.chosen(found)
        predictions = []
        for row, chances in enumerate(found):
            places = np.flatnonzero(chosen[row]) if self.several else chosen[row : row + 1]
            places = places[np.argsort(-chances[places], kind="stable")]
            names = tuple(self.labels[place] for place in places)
            predictions.append(Prediction(names, float(chances.max()), tuple(chances.tolist())))
        return predictions


def _head_of(classifier: Classifier) -> nn.Module:
    return classifier.head
