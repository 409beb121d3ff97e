"""Token states of masked copies of texts, read at single positions: only what is asked for is computed.

Masked copies of one text have the same length, so a batch of them needs no padding and no attention mask.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from mirrormask.models.bert_layers import BertLayers, bert_layers
from mirrormask.models.precision import Precision

_MANY = 0.25  # of all positions
_SEEN = 1 << 18  # tokens that single positions look at together; bounds memory


@dataclass(frozen=True)
class MaskedCopies:
    """Rows of equal length, each a text of which some tokens are masked.

    Args:
        texts: ids of the texts (s, length).
        source: which text each row is a copy of (n,).
        masked: which tokens of each row are replaced by the mask (n, length).
    """

    texts: Tensor
    source: Tensor
    masked: Tensor

    def ids(self, mask_id: int) -> Tensor:
        """Return the rows (n, length)."""
        return self.texts[self.source].masked_fill(self.masked, mask_id)


class StateReader(Protocol):
    """Reads states at positions of masked copies."""

    def read(self, copies: MaskedCopies, rows: Tensor, places: Tensor, layers: Sequence[int]) -> list[Tensor]:
        """Return, for each of the ascending `layers` (0 is the embedding output), states (q, d) in float32.

        Args:
            copies: the rows to run.
            rows: the row of each state asked for (q,).
            places: its position (q,).
            layers: which layers; the forward stops after the last of them.
        """
        ...


def reader_of(base: Any, mask_id: int, precision: Precision) -> StateReader:
    """Return the fastest reader for a Hugging Face encoder: BERT's layers run here, others in the library's forward."""
    layers = bert_layers(base, precision)
    return LibraryReader(base, mask_id, precision) if layers is None else BertReader(base, mask_id, layers)


class LibraryReader:
    """Runs the library's own forward, whatever the architecture."""

    def __init__(self, base: Any, mask_id: int, precision: Precision) -> None:
        self.base, self.mask_id, self.precision = base, mask_id, precision
        self.last = int(base.config.num_hidden_layers)

    def read(self, copies: MaskedCopies, rows: Tensor, places: Tensor, layers: Sequence[int]) -> list[Tensor]:
        """Return the states asked for, out of a forward over all layers."""
        with self.precision.autocast(copies.texts.device):
            run = self.base(copies.ids(self.mask_id), output_hidden_states=list(layers) != [self.last])
        found = [run.last_hidden_state if layer == self.last else run.hidden_states[layer] for layer in layers]
        return [states[rows, places].float() for states in found]


class BertReader:
    """Runs BERT's layers without the work whose result nobody reads.

    A position of a text has only two embeddings, its own and the mask's, so these and their first queries, keys and
    values are computed once per text and picked for each row. The last layer asked for has queries, and all that
    follows them, only at the positions asked for.
    """

    def __init__(self, base: Any, mask_id: int, layers: BertLayers) -> None:
        self.base, self.mask_id, self.layers = base, mask_id, layers

    def read(self, copies: MaskedCopies, rows: Tensor, places: Tensor, layers: Sequence[int]) -> list[Tensor]:
        """Return the states asked for; the forward ends with the last of the layers."""
        count, length = copies.texts.shape
        masks = copies.texts.new_full((1, length), self.mask_id)
        both = [self.base.embeddings(input_ids=ids).flatten(0, 1) for ids in (copies.texts, masks)]
        embedded = torch.cat(both).float()  # ((s + 1) length, d)
        start = (copies.source[:, None] * length).masked_fill(copies.masked, count * length)
        picked = start + torch.arange(length, device=start.device)  # (n, length)
        states, last = embedded[picked], layers[-1]
        found = [states[rows, places]] if layers[0] == 0 else []
        for layer in range(1, last):
            packed = self.layers.packed(0, embedded)[picked] if layer == 1 else None
            states = self.layers.all_positions(layer - 1, states, packed)
            if layer in layers:
                found.append(states[rows, places])
        if last > 0:
            found.append(self._last(last - 1, states, rows, places))
        return found

    def _last(self, layer: int, states: Tensor, rows: Tensor, places: Tensor) -> Tensor:
        """Return a layer at some positions; where they are many, as in long spans, all are cheaper."""
        count, length, _ = states.shape
        if len(rows) > _MANY * count * length:
            return self.layers.all_positions(layer, states)[rows, places]
        parts = zip(*(each.split(max(1, _SEEN // length)) for each in (rows, places)), strict=True)
        return torch.cat([self.layers.some_positions(layer, states, *part) for part in parts])
