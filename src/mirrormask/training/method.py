"""A method: what turns a batch into a loss. Views make vectors, a source adds negatives, an objective scores."""

from __future__ import annotations

import dataclasses
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mirrormask.core.batch import Batch, Step, Tokens
from mirrormask.core.errors import MirrormaskError
from mirrormask.core.registry import configuration
from mirrormask.negatives import NegativeSource
from mirrormask.objectives import Objective
from mirrormask.stabilizers import Stabilizer
from mirrormask.stabilizers.plain import Plain
from mirrormask.training.forward import encode
from mirrormask.training.gather import gather_rows
from mirrormask.views import View, Vocabulary


@dataclass(frozen=True)
class Composition:
    """What a paper says, as parts: the views of anchor and positive, the loss, and where the positives come from.

    Args:
        views: how the anchor and the positive are seen.
        objective: the loss.
        negatives: extra negatives, where the method has them.
        stabilizer: how gradients become an update.
        pairing: where positives come from, by name, with its parameters.
        pooling: the pooling the paper uses.
        training: the paper's own settings, which a run takes unless told otherwise.
    """

    views: tuple[View, View]
    objective: Objective
    negatives: NegativeSource | None = None
    stabilizer: Stabilizer = field(default_factory=Plain)
    pairing: tuple[str, dict[str, Any]] = ("self", {})
    pooling: str = "mean"
    training: dict[str, Any] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """Return every parameter, read back from the built parts."""
        return {
            "views": [configuration(view) for view in self.views],
            "objective": configuration(self.objective),
            "negatives": None if self.negatives is None else configuration(self.negatives),
            "stabilizer": configuration(self.stabilizer),
            "pairing": {"name": self.pairing[0], **self.pairing[1]},
            "pooling": self.pooling,
        }


class Method(nn.Module):
    """An encoder with the parts of a composition; calling it on a batch gives the loss.

    Args:
        encoder: the SentenceTransformer to train.
        composition: the parts.
        vocabulary: what views that rewrite text need to know.
        head: a projection that exists in training only.
        chunk: rows whose activations are held at a time (gradient caching); None holds all.
        pad_to: widths are rounded up to a multiple of this.
    """

    def __init__(
        self,
        encoder: Any,
        composition: Composition,
        vocabulary: Vocabulary,
        *,
        head: nn.Module | None = None,
        chunk: int | None = None,
        pad_to: int = 1,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.views = nn.ModuleList(composition.views)
        self.objective = composition.objective
        self.negatives = composition.negatives
        self.head = head
        self.vocabulary = vocabulary
        self.chunk = chunk
        self.pad_to = pad_to
        self._last: Step | None = None

    def forward(self, batch: Batch, seed: int = 0) -> Tensor:
        """Return the loss of the joint batch of all processes.

        Args:
            batch: this process's rows.
            seed: for choices that views make about text.
        """
        device_type = next(self.encoder.parameters()).device.type
        vectors = self._vectors(batch, np.random.default_rng(seed))
        with torch.autocast(device_type, enabled=False):  # a cosine over a small temperature needs float32
            step = self._step(batch, vectors)
            if self.negatives is not None:
                step = dataclasses.replace(step, extra=self.negatives.draw(step, self.objective))
            loss: Tensor = self.objective(step)
        self._last = dataclasses.replace(
            step, anchor=step.anchor.detach(), positive=step.positive.detach(), hard=None, extra=None
        )
        return loss

    def observe(self) -> None:
        """Let the source of negatives see the last step, once after the update."""
        if self.negatives is not None and self._last is not None:
            self.negatives.observe(self._last)

    def similarities(self) -> tuple[float, float]:
        """Return the mean cosine of the last step's positives, and of its in-batch negatives."""
        if self._last is None or len(self._last.anchor) < 2:
            return float("nan"), float("nan")
        unit = torch.nn.functional.normalize
        scores = unit(self._last.anchor, dim=-1) @ unit(self._last.positive, dim=-1).T
        n = len(scores)
        own = scores.diagonal().sum()
        return float(own / n), float((scores.sum() - own) / (n * (n - 1)))

    def _vectors(self, batch: Batch, rng: np.random.Generator) -> list[Tensor]:
        """Return one (n, d) per role: anchor, positive, hard negatives; rows that may share a forward do."""
        columns = batch.columns if len(batch.columns) > 1 else (batch.columns[0], batch.columns[0])
        views: list[Any] = list(self.views)
        roles = [(views[0], columns[0])] + [(views[1], column) for column in columns[1:]]
        groups: dict[str, list[int]] = {}
        for place, (view, _) in enumerate(roles):
            if place and view.shares_forward and len(batch.columns) == 1:
                continue
            groups.setdefault(view.forward_key, []).append(place)
        vectors: list[Tensor | None] = [None] * len(roles)
        for places in groups.values():
            view = roles[places[0]][0]
            rows = [roles[p][0].rewrite(roles[p][1], rng, self.vocabulary) for p in places]
            found = self._encode(view, sum(rows[1:], rows[0]))
            for place, part in zip(places, torch.split(found, len(batch)), strict=True):
                vectors[place] = part
        raw = [vectors[0] if v is None else v for v in vectors]
        return [view.output(v) for (view, _), v in zip(roles, raw, strict=True)]

    def _encode(self, view: View, tokens: Tokens) -> Tensor:
        vectors = encode(
            self.encoder,
            tokens,
            pad_id=self.encoder.tokenizer.pad_token_id or 0,
            chunk=self.chunk,
            pad_to=self.pad_to,
            embed=None if type(view).embeddings is View.embeddings else view.embeddings,
            within=view.forward_with(self.encoder) or nullcontext(),
        )
        return vectors if self.head is None else self.head(vectors)

    def _step(self, batch: Batch, vectors: list[Tensor]) -> Step:
        anchor, positive, *hard = (gather_rows(v.float()) for v in vectors)
        if self.objective.in_batch and len(anchor) < 2:
            raise MirrormaskError(
                "In-batch negatives need a 'batch_size' of at least 2: with one row there is nothing to push away from."
            )
        joint = dataclasses.replace(
            batch,
            labels=None if batch.labels is None else gather_rows(batch.labels.to(anchor.device)),
            text_ids=None if batch.text_ids is None else gather_rows(batch.text_ids.to(anchor.device)),
        )
        return Step(joint, anchor, positive, hard=torch.stack(hard, dim=1) if hard else None)
