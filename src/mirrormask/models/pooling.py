"""Poolings: how token states become one sentence vector, each a named choice that is saved with the model.

All but `mask-prompt`, `soft-prompt` and `mean-padded` are made of sentence-transformers' own modules, so a saved model
opens without mirrormask.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from sentence_transformers.base.modules import Dense, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling, WeightedLayerPooling
from torch import nn

from mirrormask.core.registry import Registry
from mirrormask.models.mask_prompt import MaskPooling, PromptedTransformer
from mirrormask.models.padded_mean import PaddedMean
from mirrormask.models.soft_template import SoftPromptedTransformer


@dataclass(frozen=True)
class PoolingModules:
    """What stands after the transformer.

    Args:
        kept: the modules that are saved with the encoder.
        training_only: a fresh head on top of them that is thrown away after training.
    """

    kept: tuple[nn.Module, ...]
    training_only: nn.Module | None = None


poolings: Registry[PoolingModules] = Registry("pooling", __name__)


def _pool(transformer: Transformer, mode: str) -> Pooling:
    return Pooling(transformer.get_embedding_dimension(), mode)


def _layers(transformer: Transformer, first: int, weights: list[float]) -> tuple[nn.Module, ...]:
    """Return a fixed weighted mean over the layers from `first` on (0: the embedding output), then the masked mean."""
    transformer.model.config.output_hidden_states = True
    count = transformer.model.config.num_hidden_layers
    fixed = nn.Parameter(torch.tensor(weights), requires_grad=False)
    mixing = WeightedLayerPooling(
        transformer.get_embedding_dimension(), num_hidden_layers=count, layer_start=first, layer_weights=fixed
    )
    return mixing, _pool(transformer, "mean")


@poolings.register("cls")
def cls(transformer: Transformer) -> PoolingModules:
    """Take the last layer's state of the first token.

    Paper: Devlin et al. 2019, "BERT"
    """
    return PoolingModules((_pool(transformer, "cls"),))


@poolings.register("cls-mlp")
def cls_mlp(transformer: Transformer) -> PoolingModules:
    """Take the first token's state, under a fresh Linear+Tanh that exists in training only.

    Paper: Gao et al. 2021, "SimCSE", Section 6.3 (unsupervised models drop the MLP at test time)
    """
    width = transformer.get_embedding_dimension()
    return PoolingModules((_pool(transformer, "cls"),), nn.Sequential(nn.Linear(width, width), nn.Tanh()))


@poolings.register("cls-mlp-kept")
def cls_mlp_kept(transformer: Transformer) -> PoolingModules:
    """Take the first token's state through a fresh Linear+Tanh that is kept with the model.

    Paper: Gao et al. 2021, "SimCSE", Section 6.3 (supervised models keep the MLP)
    """
    width = transformer.get_embedding_dimension()
    return PoolingModules((_pool(transformer, "cls"), Dense(width, width, activation_function=nn.Tanh())))


@poolings.register("mean")
def mean(transformer: Transformer) -> PoolingModules:
    """Average the last layer's states over the real tokens.

    Paper: Reimers and Gurevych 2019, "Sentence-BERT"
    """
    return PoolingModules((_pool(transformer, "mean"),))


@poolings.register("mean-padded")
def mean_padded(transformer: Transformer) -> PoolingModules:
    """Pad every text to one width and average the last layer's states over all positions, padding too.

    Paper: Liu et al. 2021, "Mirror-BERT", as its published code computes the mean
    """
    return PoolingModules((PaddedMean(transformer.get_embedding_dimension()),))


@poolings.register("max")
def maximum(transformer: Transformer) -> PoolingModules:
    """Take the largest value of each dimension over the real tokens of the last layer.

    Paper: Reimers and Gurevych 2019, "Sentence-BERT"
    """
    return PoolingModules((_pool(transformer, "max"),))


@poolings.register("first-last")
def first_last(transformer: Transformer) -> PoolingModules:
    """Average the first encoder layer and the last one, then the tokens.

    Paper: Gao et al. 2021, "SimCSE" (the corrected avg_first_last); Su et al. 2021, "BERT-whitening"
    """
    count = transformer.model.config.num_hidden_layers
    return PoolingModules(_layers(transformer, 1, [2.0] if count == 1 else [1.0, *[0.0] * (count - 2), 1.0]))


@poolings.register("first-last-embeddings")
def first_last_embeddings(transformer: Transformer) -> PoolingModules:
    """Average the embedding output and the last layer, then the tokens.

    Paper: Gao et al. 2021, "SimCSE", Table 1 as published (its code took the embedding output for the first layer)
    """
    count = transformer.model.config.num_hidden_layers
    return PoolingModules(_layers(transformer, 0, [1.0, *[0.0] * (count - 1), 1.0]))


@poolings.register("last-2")
def last_two(transformer: Transformer) -> PoolingModules:
    """Average the last two layers, then the tokens.

    Paper: Li et al. 2020, "BERT-flow"
    """
    count = transformer.model.config.num_hidden_layers
    return PoolingModules(_layers(transformer, count - 1, [1.0, 1.0]))


@poolings.register("mask-prompt")
def mask_prompt(transformer: Transformer) -> PoolingModules:
    """Write the sentence into a template and take the state of its mask.

    Paper: Jiang et al. 2022, "PromptBERT"
    """
    if not isinstance(transformer, PromptedTransformer):
        raise TypeError("mask-prompt needs a PromptedTransformer.")
    after = transformer.frame.suffix.tolist()
    mask = transformer.tokenizer.mask_token_id  # type: ignore[union-attr]
    if mask in after:
        from_end = len(after) - 1 - after.index(mask)
    else:  # the mask stands before the text: count from the end of the row is not fixed
        raise _mask_first(transformer.template)
    return PoolingModules((MaskPooling(transformer.get_embedding_dimension(), from_end),))


@poolings.register("soft-prompt")
def soft_prompt(transformer: Transformer) -> PoolingModules:
    """Take the state of the mask in a template whose words are learned embeddings.

    Paper: Jiang et al. 2022, "PromptBERT" (continuous templates)
    """
    if not isinstance(transformer, SoftPromptedTransformer):
        raise TypeError("soft-prompt needs a SoftPromptedTransformer.")
    return mask_prompt(transformer)


def _mask_first(template: str) -> Exception:
    from mirrormask.core.errors import MirrormaskError

    return MirrormaskError(f"The template of mask-prompt must have its [MASK] after the text. Got {template!r}.")


def describe(modules: list[Any]) -> str:
    """Return the name of the pooling a loaded model has, as far as its modules tell."""
    for module in modules:
        if isinstance(module, MaskPooling):
            return "soft-prompt" if isinstance(modules[0], SoftPromptedTransformer) else "mask-prompt"
        if isinstance(module, PaddedMean):
            return "mean-padded"
        if isinstance(module, WeightedLayerPooling):
            weights = module.layer_weights.tolist()
            if module.layer_start == 0:
                return "first-last-embeddings"
            return "last-2" if weights == [1.0, 1.0] and module.layer_start > 1 else "first-last"
        if isinstance(module, Pooling):
            mode = module.pooling_mode if isinstance(module.pooling_mode, str) else "+".join(module.pooling_mode)
            kept = any(isinstance(m, Dense) and isinstance(m.activation_function, nn.Tanh) for m in modules)
            return "cls-mlp-kept" if mode == "cls" and kept else mode
    return "unknown"
