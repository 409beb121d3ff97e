"""Low-rank adapters through peft: train a few weights, merge them on save.

Hu et al. 2022, "LoRA": W becomes W + B A · alpha / rank, with only A and B open to training.
"""

from __future__ import annotations

from typing import Any

from mirrormask.core.errors import at_least


def add(encoder: Any, *, rank: int, alpha: float | None = None) -> None:
    """Put adapters on every linear layer of the transformer and close all its other weights.

    Args:
        encoder: a SentenceTransformer; changed in place.
        rank: width of the adapters.
        alpha: their scale; twice the rank by default.
    """
    from peft import LoraConfig, get_peft_model

    at_least("lora", rank, 1, of="the model")
    config = LoraConfig(r=rank, lora_alpha=alpha or 2 * rank, lora_dropout=0.0, target_modules="all-linear")
    encoder[0].model = get_peft_model(encoder[0].model, config)


def merge(encoder: Any) -> None:
    """Merge the adapters, if there are any, into the weights."""
    model: Any = getattr(encoder[0], "model", None)
    if hasattr(model, "merge_and_unload"):
        encoder[0].model = model.merge_and_unload()


def has_adapters(encoder: Any) -> bool:
    """Return whether the encoder carries adapters."""
    return hasattr(getattr(encoder[0], "model", None), "merge_and_unload")
