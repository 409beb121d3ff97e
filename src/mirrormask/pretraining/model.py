"""The masked LM in training: one forward over rows without padding, the LM head only where a token is hidden."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mirrormask.core.transfer import to_device
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.objectives.mirror_nce import mirror_nce
from mirrormask.pretraining.masking import IGNORED, Masking
from mirrormask.pretraining.plan import Plan
from mirrormask.pretraining.row_losses import bag_loss, row_vectors
from mirrormask.pretraining.singles import SingleSentences


def fresh_bert(plan: Plan, vocabulary: int, pad_id: int) -> Any:
    """Return a `BertForMaskedLM` with new weights in the plan's shape.

    BERT's spread of 0.02 belongs to its width of 768: a sum over fewer inputs needs larger weights to keep its size.
    With 0.02 a narrow model knows nothing but the words' frequencies for many more steps.
    """
    from transformers import BertConfig, BertForMaskedLM

    return BertForMaskedLM(
        BertConfig(
            vocab_size=vocabulary,
            hidden_size=plan.width,
            num_hidden_layers=plan.layers,
            num_attention_heads=plan.heads,
            intermediate_size=4 * plan.width,
            max_position_embeddings=plan.positions,
            hidden_dropout_prob=plan.dropout,
            attention_probs_dropout_prob=plan.dropout,
            pad_token_id=pad_id,
            initializer_range=0.02 * math.sqrt(768 / plan.width),
        )
    )


def set_dropout(model: nn.Module, rate: float) -> None:
    """Give every dropout of a model this rate, and say so in its configuration."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = rate
        if isinstance(getattr(module, "dropout_prob", None), float):
            module.dropout_prob = rate  # type: ignore[assignment]
    config: Any = model.config
    for name in ("hidden_dropout_prob", "attention_probs_dropout_prob"):
        if hasattr(config, name):
            setattr(config, name, rate)


class Guesses(NamedTuple):
    """What a model makes of hidden tokens, summed over them: loss, hits, their number, and the other losses."""

    loss: Tensor
    hits: Tensor
    hidden: Tensor
    more: Tensor


class Pretraining(nn.Module):
    """A masked LM whose call on rows is its loss.

    Args:
        lm: the model.
        masking: what is hidden.
        plan: the weights of the losses.
        weights: of each word in the bag of words (vocabulary,).
    """

    def __init__(self, lm: MaskedLM, masking: Masking, plan: Plan, weights: Tensor) -> None:
        super().__init__()
        self.lm = lm
        self.masking = masking
        self.bag, self.neighbors, self.temperature = plan.bag, plan.neighbors, plan.temperature
        self.places = plan.length - 2
        self.later, self.singles = plan.later, plan.singles
        self.single = SingleSentences.of(lm.tokenizer, lm.model.config, lm.device) if plan.singles else None
        self.weights: Tensor
        self.register_buffer("weights", weights, persistent=False)
        width = lm.model.config.hidden_size
        self.decoder = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width)) if plan.bag else None
        self.compute: Callable[..., Tensor] = self.losses

    def compile(self) -> None:  # type: ignore[override]
        """Compile forward and loss as one graph."""
        self.compute = torch.compile(self.losses, dynamic=False)

    def forward(self, rows: Tensor, seed: int = 0) -> Tensor:
        """Return the loss of rows (n, length)."""
        rows = to_device(rows, self.lm.device)
        places = self.places_of(rows, seed) if self.later or self.single else None
        seen = None
        if self.single is not None and places is not None:
            count = round(self.singles * len(rows))
            short = self.single(rows[:count])
            rows, places, seen = torch.cat([short.ids, rows[count:]]), places.clone(), short.seen
            places[:count] = short.places
        hidden = self.masking(rows, self.masking.count(self.places), seed)
        compute = self.compute if torch.is_grad_enabled() else self.losses
        return compute(hidden.ids, hidden.positions, hidden.labels, places, seen)

    def places_of(self, rows: Tensor, seed: int) -> Tensor:
        """Return where each token stands (n, length): most rows at the beginning, some of them anywhere later.

        Attention costs the square of a row's length, so positions are learned from short rows that begin late.
        Paper: Ruoss et al. 2023, "Randomized positional encodings boost length generalization of transformers", with
        one draw for a row instead of one for a token.
        """
        chance = torch.Generator(rows.device).manual_seed(seed ^ 0x5EED)
        length, most = rows.shape[1], int(self.lm.model.config.max_position_embeddings)
        start = torch.randint(0, most - length + 1, (len(rows), 1), generator=chance, device=rows.device)
        late = torch.rand((len(rows), 1), generator=chance, device=rows.device) < self.later
        return torch.arange(length, device=rows.device) + start * late

    def losses(
        self,
        ids: Tensor,
        positions: Tensor,
        labels: Tensor,
        places: Tensor | None = None,
        seen: Tensor | None = None,
    ) -> Tensor:
        """Return the weighted sum of the losses, all from one forward over each kind of rows."""
        states, at = self._states(ids, positions, places, seen)
        loss = F.cross_entropy(self.lm.head(at).float(), labels.flatten(), ignore_index=IGNORED)
        return loss + self.more(states, ids, labels)

    def more(self, states: Tensor, ids: Tensor, labels: Tensor) -> Tensor:
        """Return the weighted losses on the rows' mean vectors."""
        loss = states.new_zeros(())
        if not self.bag and not self.neighbors:
            return loss
        vectors = row_vectors(states, ~self.masking.special[ids] | (ids == self.masking.mask_id))
        if self.decoder is not None:
            table = self.lm.model.get_output_embeddings().weight
            loss = loss + self.bag * bag_loss(self.decoder(vectors) @ table.T, labels, self.weights)
        if self.neighbors:
            pairs = mirror_nce(vectors[::2].float(), vectors[1::2].float(), temperature=self.temperature)
            loss = loss + self.neighbors * pairs
        return loss

    @torch.no_grad()
    def guesses(self, rows: Tensor, masking: Masking, count: int, seed: int) -> Guesses:
        """Return how well the hidden tokens of rows (n, length) are guessed."""
        hidden = masking(rows, count, seed)
        states, at = self._states(hidden.ids, hidden.positions)
        scores, labels = self.lm.head(at).float(), hidden.labels.flatten()
        there = (labels != IGNORED).sum()
        more = self.more(states, hidden.ids, hidden.labels) * there
        return Guesses(
            loss=F.cross_entropy(scores, labels, ignore_index=IGNORED, reduction="sum"),
            hits=(scores.argmax(-1) == labels).sum(),
            hidden=there,
            more=more,
        )

    def _states(
        self, ids: Tensor, positions: Tensor, places: Tensor | None = None, seen: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return all states (n, length, d), and those at the positions, end to end (n * k, d).

        The first rows see what `seen` says (m, 1, length, length), the others all of their tokens.
        """
        encode = self.lm.model.base_model
        if places is None:
            states: Tensor = encode(input_ids=ids).last_hidden_state
        else:
            first = 0 if seen is None else len(seen)
            parts = []
            if first:
                short = encode(input_ids=ids[:first], position_ids=places[:first], attention_mask=seen)
                parts.append(short.last_hidden_state)
            if first < len(ids):
                parts.append(encode(input_ids=ids[first:], position_ids=places[first:]).last_hidden_state)
            states = torch.cat(parts) if len(parts) > 1 else parts[0]
        chosen = positions[:, :, None].expand(-1, -1, states.shape[-1])
        return states, states.gather(1, chosen).flatten(0, 1)
