"""The layers of BERT and its kin, run at chosen positions: the library's weights, less of its work.

Paper: Devlin et al. 2019, "BERT: Pre-training of deep bidirectional transformers for language understanding"
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import layer_norm, scaled_dot_product_attention

from mirrormask.models.precision import Precision

KNOWN = ("bert", "roberta", "xlm-roberta", "camembert")
"""Model types whose layers are those of BERT."""

_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True)
class _Affine:
    """Weight and bias of a linear map, or scale and shift of a layer norm, as the run needs them."""

    weight: Tensor
    bias: Tensor


@dataclass(frozen=True)
class _Layer:
    query: _Affine
    key: _Affine
    value: _Affine
    packed: _Affine  # queries, keys and values in one product
    attended: _Affine
    attended_norm: _Affine
    widened: _Affine
    activation: Callable[[Tensor], Tensor]
    narrowed: _Affine
    narrowed_norm: _Affine
    epsilon: float


class BertLayers:
    """The layers of a BERT encoder without dropout, for rows of equal length.

    Matrix products run in `dtype`; the states that go from layer to layer, and their norms, stay float32.
    Large results are written into memory that is kept: fresh memory would cost a CPU a page fault for every 4 kB.

    Args:
        layers: the weights of each layer.
        heads: number of attention heads.
        dtype: what to compute in.
    """

    def __init__(self, layers: list[_Layer], heads: int, dtype: torch.dtype) -> None:
        self.layers, self.heads, self.dtype = layers, heads, dtype
        self._kept: dict[str, Tensor] = {}

    def packed(self, layer: int, states: Tensor) -> Tensor:
        """Return queries, keys and values (m, 3 d) of states (m, d)."""
        own = self.layers[layer].packed
        return torch.addmm(own.bias, states.to(self.dtype), own.weight)

    def all_positions(self, layer: int, states: Tensor, packed: Tensor | None = None) -> Tensor:
        """Return what a layer makes of states (n, length, d).

        Args:
            layer: which layer, from 0.
            states: its input, in float32.
            packed: queries, keys and values (n, length, 3 d), where they are known already.
        """
        own = self.layers[layer]
        shape = states.shape
        flat = states.flatten(0, 1)
        if packed is None:
            packed = self._linear("packed", flat.to(self.dtype), own.packed).view(*shape[:2], -1)
        q, k, v = packed.unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)
        mixed = scaled_dot_product_attention(q, k, v).transpose(1, 2)  # (n, length, heads, d / heads)
        return self._after(own, mixed.flatten(2).flatten(0, 1), flat).view(shape)

    def some_positions(self, layer: int, states: Tensor, rows: Tensor, places: Tensor) -> Tensor:
        """Return what a layer makes of states (n, length, d) at some positions (q, d).

        With few queries a row, no key and no value is needed: for the query q of a position and its head's weights,
        q · (K x) = (Kᵀ q) · x, and V is applied once to the mean of x instead of to every x. The bias of K adds the
        same to all scores, the bias of V passes through a mean.

        Args:
            layer: which layer, from 0.
            states: its input, in float32.
            rows: the row of each position (q,).
            places: the positions (q,).
        """
        own = self.layers[layer]
        asked = states[rows, places]  # (q, d)
        width = asked.shape[-1] // self.heads
        query = torch.addmm(own.query.bias, asked.to(self.dtype), own.query.weight)
        query = query.unflatten(-1, (self.heads, width)) * width**-0.5
        keys, values = (each.weight.unflatten(-1, (self.heads, width)) for each in (own.key, own.value))
        onto = torch.einsum("qhe,dhe->qhd", query, keys)
        seen = states.to(self.dtype)[rows]  # (q, length, d)
        weights = torch.bmm(onto, seen.transpose(1, 2)).softmax(-1)  # (q, heads, length)
        mixed = torch.einsum("qhd,dhe->qhe", torch.bmm(weights, seen), values).flatten(1)
        return self._after(own, mixed + own.value.bias, asked)

    def _after(self, own: _Layer, mixed: Tensor, states: Tensor) -> Tensor:
        states = self._normed_sum(states, self._linear("narrow", mixed, own.attended), own.attended_norm, own.epsilon)
        wide = _activated(self._linear("wide", states.to(self.dtype), own.widened), own.activation)
        return self._normed_sum(states, self._linear("narrow", wide, own.narrowed), own.narrowed_norm, own.epsilon)

    def _linear(self, name: str, x: Tensor, own: _Affine) -> Tensor:
        """Return a linear map of x (m, k), in the kept memory called `name`."""
        return torch.addmm(own.bias, x, own.weight, out=self._memory(name, (len(x), own.weight.shape[1]), x))

    def _normed_sum(self, states: Tensor, change: Tensor, own: _Affine, epsilon: float) -> Tensor:
        if change.dtype != states.dtype:
            change = self._memory("sum", change.shape, states).copy_(change)
        summed = change.add_(states)
        return layer_norm(summed, summed.shape[-1:], own.weight, own.bias, epsilon)

    def _memory(self, name: str, shape: Sequence[int], like: Tensor) -> Tensor:
        size = math.prod(shape)
        kept = self._kept.get(name)
        if kept is None or kept.numel() < size:
            kept = self._kept[name] = like.new_empty(size)
        return kept[:size].view(*shape)


def _activated(x: Tensor, activation: Callable[[Tensor], Tensor]) -> Tensor:
    if type(activation).__name__ == "GELUActivation":
        activation = torch.ops.aten.gelu_  # the usual one, in place
    return activation(x)


def bert_layers(base: Any, precision: Precision) -> BertLayers | None:
    """Return the layers of a Hugging Face encoder, or None where they are not BERT's.

    Args:
        base: the encoder; adapters on its linear maps make it unknown.
        precision: what to compute in; the weights are cast once.
    """
    config = base.config
    if config.model_type not in KNOWN or getattr(config, "is_decoder", False):
        return None
    dtype = _DTYPES[precision.name]
    found = []
    for layer in base.encoder.layer:
        mixing, after = layer.attention.self, layer.attention.output
        maps = (mixing.query, mixing.key, mixing.value, after.dense, layer.intermediate.dense, layer.output.dense)
        if any(type(each) is not nn.Linear for each in maps):
            return None
        query, key, value, attended, widened, narrowed = (
            _Affine(each.weight.detach().t().to(dtype), each.bias.detach().to(dtype)) for each in maps
        )
        packed = [torch.cat([getattr(each, name) for each in (query, key, value)], -1) for name in ("weight", "bias")]
        norms = [
            _Affine(norm.weight.detach().float(), norm.bias.detach().float())
            for norm in (after.LayerNorm, layer.output.LayerNorm)
        ]
        found.append(
            _Layer(
                query=query,
                key=key,
                value=value,
                packed=_Affine(*packed),
                attended=attended,
                attended_norm=norms[0],
                widened=widened,
                activation=layer.intermediate.intermediate_act_fn,
                narrowed=narrowed,
                narrowed_norm=norms[1],
                epsilon=float(after.LayerNorm.eps),
            )
        )
    return BertLayers(found, int(config.num_attention_heads), dtype)
