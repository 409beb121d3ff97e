"""Sentiment towards an aspect, with words weighted by how near they are to it in the text or along a tree.

Paper: Zhang, Li and Song 2019, PWCN; Wu et al. 2020, "Perturbed Masking", section 5 and Table 5

The states of a masked LM stay frozen and stand where PWCN has an LSTM; what is trained is the weighted convolution, its
maximum over the sentence, and a linear classifier. The term enters through the weights alone, so trees matter.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from mirrormask.core.errors import MirrormaskError
from mirrormask.core.seeding import derive
from mirrormask.data.tasks.absa import POLARITIES, AspectExample
from mirrormask.probing.decoders import Heads, left_chain, right_chain
from mirrormask.probing.frozen_training import padded_states, train_frozen
from mirrormask.probing.proximity import proximity, text_distances, tree_distances

States = NDArray[np.float32]

WITHOUT_TREES = ("none", "position", "right-chain", "left-chain")
"""Weights that need no tree; `none` weights all words alike and so cannot know which aspect is meant."""


@dataclass(frozen=True)
class AspectSet:
    """Judgements with what the model sees.

    Args:
        examples: the judgements.
        states: of the words of each (n, d), as `word_states` gives them.
        trees: by name, the heads of each sentence: those of a parser, those induced.
    """

    examples: Sequence[AspectExample]
    states: Sequence[States]
    trees: Mapping[str, Sequence[Heads]]

    def weights(self, kind: str) -> list[States]:
        """Return the weight of every word of each example by a kind of proximity."""
        found = []
        for number, each in enumerate(self.examples):
            n = len(each.words)
            if kind == "none":
                found.append(np.ones(n, dtype=np.float32))
                continue
            if kind == "position":
                distances = text_distances(n, each.start, each.stop)
            else:
                distances = tree_distances(self._tree(kind, number, n), each.start, each.stop)
            found.append(proximity(distances))
        return found

    def _tree(self, kind: str, number: int, n: int) -> Heads:
        if kind in ("right-chain", "left-chain"):
            return right_chain(n) if kind == "right-chain" else left_chain(n)
        if kind not in self.trees:
            raise MirrormaskError(
                f"There are no trees {kind!r}. Take one of {', '.join((*WITHOUT_TREES, *self.trees))}."
            )
        return self.trees[kind][number]


@dataclass(frozen=True)
class AspectSettings:
    """How the classifier is trained: fixed beforehand, since there is no development set.

    Args:
        filters: of the convolution.
        kernel: words it sees at a time.
        dropout: on states and on the pooled vector.
        epochs: passes over the judgements.
        batch_size: judgements of a batch.
        learning_rate: the highest rate.
        weight_decay: AdamW's.
    """

    filters: int = 64
    kernel: int = 3
    dropout: float = 0.3
    epochs: float = 8.0
    batch_size: int = 32
    learning_rate: float = 1e-3
    weight_decay: float = 0.01


DEFAULT_SETTINGS = AspectSettings()


class WeightedConvolution(nn.Module):
    """Weight words, convolve, take the maximum, classify."""

    def __init__(self, width: int, settings: AspectSettings) -> None:
        super().__init__()
        self.dropout = settings.dropout
        self.convolution = nn.Conv1d(width, settings.filters, settings.kernel, padding=settings.kernel // 2)
        self.classifier = nn.Linear(settings.filters, len(POLARITIES))

    def forward(self, states: Tensor, weights: Tensor, mask: Tensor) -> Tensor:
        """Return the scores of the polarities (b, 3)."""
        seen = F.dropout(states, self.dropout, self.training) * weights[..., None]
        found = torch.relu(self.convolution(seen.transpose(1, 2)))  # (b, filters, n)
        pooled = found.masked_fill(mask[:, None] == 0, 0.0).amax(dim=2)
        scores: Tensor = self.classifier(F.dropout(pooled, self.dropout, self.training))
        return scores


class _Judgements(nn.Module):
    def __init__(self, model: WeightedConvolution, data: AspectSet, kind: str) -> None:
        super().__init__()
        self.model = model
        self._states, self._weights = data.states, data.weights(kind)
        self._labels = torch.tensor([POLARITIES.index(each.polarity) for each in data.examples])

    def scores(self, rows: Sequence[int]) -> Tensor:
        states, mask = padded_states(self._states, rows)
        weights = torch.zeros_like(mask)
        for place, row in enumerate(rows):
            weights[place, : len(self._weights[row])] = torch.from_numpy(self._weights[row])
        device = self.model.classifier.weight.device
        found: Tensor = self.model(states.to(device), weights.to(device), mask.to(device))
        return found

    def forward(self, rows: Tensor, seed: int) -> Tensor:
        scores = self.scores(rows.tolist())
        return F.cross_entropy(scores, self._labels[rows.cpu()].to(scores.device))

    @torch.inference_mode()
    def predictions(self) -> NDArray[np.int64]:
        self.eval()
        rows = range(len(self._labels))
        parts = [self.scores(rows[start : start + 256]).argmax(dim=1).cpu() for start in range(0, len(rows), 256)]
        return torch.cat(parts).numpy()


@dataclass(frozen=True)
class AspectResult:
    """Accuracy and macro-F1 by kind of proximity, one value per seed.

    Args:
        train, test: how many judgements.
        settings: how the classifier was trained.
        seeds: one run each.
        scores: kind → score → values, in the order of the seeds.
    """

    train: int
    test: int
    settings: dict[str, Any]
    seeds: list[int]
    scores: dict[str, dict[str, list[float]]]

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {"task": "aspect", **asdict(self)}


def probe_aspect(
    train: AspectSet,
    test: AspectSet,
    kinds: Sequence[str],
    *,
    seeds: Sequence[int] = (1, 2, 3, 4, 5),
    settings: AspectSettings = DEFAULT_SETTINGS,
) -> AspectResult:
    """Train and score the classifier once for each kind of proximity and each seed.

    Args:
        train, test: the judgements.
        kinds: names of `WITHOUT_TREES`, and of the trees in both sets.
        seeds: of weights, order and dropout; the same for every kind.
        settings: how to train.
    """
    scores: dict[str, dict[str, list[float]]] = {}
    gold = np.array([POLARITIES.index(each.polarity) for each in test.examples])
    done: dict[bytes, str] = {}
    for kind in kinds:
        same = b"".join(each.tobytes() for each in (*train.weights(kind), *test.weights(kind)))
        key = hashlib.blake2b(same, digest_size=16).digest()
        if key in done:  # equal weights and seeds give equal numbers
            scores[kind] = {name: list(values) for name, values in scores[done[key]].items()}
            continue
        done[key] = kind
        of_kind: dict[str, list[float]] = {"accuracy_percent": [], "macro_f1_percent": []}
        for seed in seeds:
            predicted = _run(train, test, kind, seed, settings)
            of_kind["accuracy_percent"].append(100 * float((predicted == gold).mean()))
            of_kind["macro_f1_percent"].append(100 * macro_f1(predicted, gold))
        scores[kind] = of_kind
    return AspectResult(len(train.examples), len(test.examples), asdict(settings), list(seeds), scores)


def _run(train: AspectSet, test: AspectSet, kind: str, seed: int, settings: AspectSettings) -> NDArray[np.int64]:
    torch.manual_seed(derive(seed, "aspect") % 2**63)
    model = WeightedConvolution(train.states[0].shape[1], settings)
    task = _Judgements(model, train, kind)
    train_frozen(
        task,
        len(train.examples),
        epochs=settings.epochs,
        batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
        weight_decay=settings.weight_decay,
        seed=seed,
    )
    return _Judgements(model, test, kind).predictions()


def macro_f1(predicted: NDArray[np.int64], gold: NDArray[np.int64]) -> float:
    """Return the mean F1 of the three polarities; one that never occurs on either side counts 0.

    Example:
        >>> macro_f1(np.array([0, 1, 2]), np.array([0, 1, 1])) == (1 + 2 / 3) / 3
        True
    """
    found = []
    for label in range(len(POLARITIES)):
        both = int(((predicted == label) & (gold == label)).sum())
        either = int((predicted == label).sum() + (gold == label).sum())
        found.append(2 * both / either if either else 0.0)
    return float(np.mean(found))
