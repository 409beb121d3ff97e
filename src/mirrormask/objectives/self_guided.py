"""Self-guided contrast: the sentence vector learns from what all layers of a frozen copy made of the sentence.

Paper: Kim et al. 2021, "Self-Guided Contrastive Learning for BERT Sentence Representations" (SG-OPT), Section 3.2

    loss_ik = -log( exp(cos(c_i, h_ik) / t) / (exp(cos(c_i, h_ik) / t) + sum_(m != i) sum_n exp(cos(c_i, h_mn) / t)) )
    loss    = mean_ik loss_ik + drift * |w - w_start|^2

with c_i the projected vector of sentence i, and h_ik the projected state of layer k (0, the embeddings, to the last)
of the copy, pooled over the tokens. Both go through one projection that exists in training only: two layers with GELU.
The last term keeps the weights near the copy's.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mirrormask.core.batch import Step, Tokens
from mirrormask.core.errors import MirrormaskError, above, at_least, one_of
from mirrormask.core.shards import length_shards
from mirrormask.models.bulk import token_budget
from mirrormask.models.copies import copy_of
from mirrormask.models.embeddings import embedding_module
from mirrormask.models.precision import best_precision
from mirrormask.objectives import Objective, objectives

POOLS = ("mean", "max")


def self_guided(vectors: Tensor, layers: Tensor, *, temperature: float, text_ids: Tensor | None = None) -> Tensor:
    """Return the mean loss of finding each layer of a sentence among all layers of the others.

    Args:
        vectors: of sentences (n, d).
        layers: of the same sentences (n, layers, d).
        temperature: what cosines are divided by.
        text_ids: a number for the text of each row (n,); the same text again is no negative.
    """
    n = len(vectors)
    numbers = torch.arange(n, device=vectors.device)
    near = torch.einsum("nd,mkd->nmk", F.normalize(vectors, dim=-1), F.normalize(layers, dim=-1)) / temperature
    own = near[numbers, numbers]  # (n, layers)
    ids = numbers if text_ids is None else text_ids
    others = near.masked_fill((ids == ids[:, None])[..., None], -torch.inf).flatten(1).logsumexp(dim=1)
    return (torch.logaddexp(own, others[:, None]) - own).mean()


def pooled_layers(encoder: Any, rows: Tokens, pool: str) -> Tensor:
    """Return the states of every layer of a model, pooled over the real tokens (n, layers, d), without a gradient."""
    device = next(encoder.parameters()).device
    found: list[Tensor] = []
    shards = length_shards(rows.lengths, token_budget(device), tolerance=0.15)
    for shard in shards:
        ids, mask = (t.to(device) for t in rows.padded(encoder.tokenizer.pad_token_id or 0, shard))
        with torch.no_grad(), best_precision(device, "auto").autocast(device):
            states = encoder[0].model(input_ids=ids, attention_mask=mask, output_hidden_states=True).hidden_states
        every, real = torch.stack(states, dim=1), mask[:, None, :, None] == 1  # (rows, layers, length, d)
        if pool == "max":
            found.append(every.masked_fill(~real, -torch.inf).amax(dim=2))
        else:
            found.append((every * real).sum(dim=2) / real.sum(dim=2))
    order = torch.cat([torch.from_numpy(shard) for shard in shards]).argsort().to(device)
    return torch.cat(found)[order]


@objectives.register("self-guided")
class SelfGuided(Objective):
    """Learn from all layers of the encoder as it was before training.

    Args:
        temperature: what cosines are divided by (0.01 in the paper).
        drift: weight of the squared distance from the start (lambda 0.1 in the paper).
        pool: how the states of a layer become a vector, `mean` (the default of the published code) or `max`.
        width: of the projection (4096 in the published code).
        freeze_embeddings: leave the embeddings as they are, as the published code does.

    Relations: the view `layer-sample` draws one layer for every sentence, and works with any objective. With the view
        `same-mask` a sentence goes through the encoder once.

    Example:
        >>> SelfGuided().needs_target
        True
    """

    in_batch = True
    needs_target = True

    def __init__(
        self,
        temperature: float = 0.01,
        drift: float = 0.1,
        pool: str = "mean",
        width: int = 4096,
        freeze_embeddings: bool = True,
    ) -> None:
        super().__init__()
        self.temperature = above("temperature", temperature, 0, of="self-guided")
        self.drift = at_least("drift", drift, 0, of="self-guided")
        self.pool = one_of("pool", pool, POOLS, of="self-guided")
        self.width = at_least("width", width, 1, of="self-guided")
        self.freeze_embeddings = freeze_embeddings
        self.projection: nn.Module | None = None
        self._start: tuple[Any, ...] = ()  # in tuples, so that neither is trained or saved twice
        self._moving: tuple[tuple[Tensor, Tensor], ...] = ()

    def attach(self, encoder: Any) -> None:
        """Copy the encoder as it is before training, and make the projection."""
        if self.freeze_embeddings:
            embedding_module(encoder).requires_grad_(False)
        start = copy_of(encoder).eval().requires_grad_(False)
        pairs = zip(encoder[0].parameters(), start[0].parameters(), strict=True)
        self._start, self._moving = (start,), tuple((now, then) for now, then in pairs if now.requires_grad)
        size = int(encoder[0].model.config.hidden_size)
        layers = [nn.Linear(size, self.width), nn.Linear(self.width, self.width)]
        for layer in layers:  # as BERT's own layers begin
            nn.init.normal_(layer.weight, std=getattr(encoder[0].model.config, "initializer_range", 0.02))
            nn.init.zeros_(layer.bias)
        projection = nn.Sequential(layers[0], nn.GELU(), layers[1], nn.GELU())
        self.projection = projection.to(next(encoder.parameters()))

    def target(self, rows: Tokens) -> Tensor:
        """Return the pooled states of all layers of the copy, one after the other (n, layers * d)."""
        if not self._start:
            raise MirrormaskError("The objective self-guided reads layers, and must be attached to an encoder first.")
        found = pooled_layers(self._start[0], rows, self.pool).flatten(1)
        return found if found.dtype == torch.float64 else found.float()

    def forward(self, step: Step) -> Tensor:
        """Return the loss of one step, the mean over both views where they differ; other negatives have no part."""
        if not step.targets:
            raise MirrormaskError("The objective self-guided needs the layers of its copy in the step.")
        views = [step.anchor] if step.positive is step.anchor else [step.anchor, step.positive]
        losses = []
        for place, vectors in enumerate(views):
            column = min(place, len(step.targets) - 1)
            layers = step.targets[column].unflatten(1, (-1, vectors.shape[1]))
            ids = None if step.text_ids is None else step.text_ids[:, min(place, step.text_ids.shape[1] - 1)]
            if self.projection is not None:
                vectors, layers = self.projection(vectors), self.projection(layers)
            losses.append(self_guided(vectors, layers, temperature=self.temperature, text_ids=ids))
        loss = torch.stack(losses).mean()
        moved = [(now - then).square().sum() for now, then in self._moving] if self.drift else []
        return loss + self.drift * torch.stack(moved).sum() if moved else loss
