"""A masked LM made larger without starting again: more layers, and more positions, that begin by changing little.

A new layer is a copy of the one below it whose output projections are zero, so that it only passes on what it is given;
its norms are set so that they leave the size of states as it is. It learns from there.
Papers: Gong et al. 2019, "Efficient training of BERT by progressively stacking" (copies of trained layers); Wu et al.
    2024, "LLaMA Pro" (copies with output projections of zero); Beltagy et al. 2020, "Longformer", Section 5 (positions
    that repeat the learned ones).
"""

from __future__ import annotations

import copy
import math
from typing import Any

import torch
from torch import nn

from mirrormask.core.errors import MirrormaskError


@torch.no_grad()
def deepen(model: Any, layers: int) -> None:
    """Give a BERT-like masked LM so many layers, new ones spread evenly among the old.

    Args:
        model: the masked LM, changed in place.
        layers: how many it shall have, more than it has.
    """
    stack = getattr(getattr(model.base_model, "encoder", None), "layer", None)
    if model.config.model_type != "bert" or not isinstance(stack, nn.ModuleList):
        raise MirrormaskError(f"Only BERT models can grow layers. Got one of type {model.config.model_type!r}.")
    if layers <= len(stack):
        raise MirrormaskError(f"A model grows to more layers than it has, {len(stack)}. Got {layers}.")
    after = [place * len(stack) // (layers - len(stack)) for place in range(layers - len(stack))]
    grown: list[nn.Module] = []
    for place, layer in enumerate(stack):
        grown.append(layer)
        grown += [_passing_on(layer) for each in after if each == place]
    model.base_model.encoder.layer = nn.ModuleList(grown)
    model.config.num_hidden_layers = layers
    for place, layer in enumerate(grown):
        for module in layer.modules():
            if hasattr(module, "layer_idx"):
                module.layer_idx = place  # type: ignore[assignment]


@torch.no_grad()
def repeat_positions(model: Any, learned: int) -> None:
    """Let the positions after the first `learned` begin as copies of these, where none but noise stood before.

    Args:
        model: the masked LM, changed in place.
        learned: how many positions it learned, the length of the rows it was trained on.
    """
    table = getattr(getattr(model.base_model, "embeddings", None), "position_embeddings", None)
    if not isinstance(table, nn.Embedding) or not 0 < learned <= table.num_embeddings:
        raise MirrormaskError(f"This model has no table of at least {learned} positions to repeat.")
    for start in range(learned, table.num_embeddings, learned):
        stop = min(start + learned, table.num_embeddings)
        table.weight[start:stop] = table.weight[: stop - start]


def _passing_on(layer: Any) -> Any:
    """Return a copy of a layer that adds nothing to its input, and whose norms keep its size.

    States below are g * n + b of a norm whose n has mean 0 and variance 1, so their own mean is about mean(b) and
    their variance mean(g^2) + var(b): a norm with these as its bias and the root of it as its weight gives them back.
    """
    copied = copy.deepcopy(layer)
    below = layer.output.LayerNorm
    size = math.sqrt(float((below.weight**2).mean() + below.bias.var(unbiased=False)))
    for part in (copied.attention.output, copied.output):
        part.dense.weight.zero_()
        part.dense.bias.zero_()
        part.LayerNorm.weight.fill_(size)
        part.LayerNorm.bias.fill_(float(below.bias.mean()))
    return copied
