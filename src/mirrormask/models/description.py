"""What can be said about a model without running it on text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mirrormask.models.encoder import facts_of, load, pooling_of
from mirrormask.models.lm_head import HEAD
from mirrormask.models.names import resolve


def describe_model(name: str) -> dict[str, Any]:
    """Return the model's shape, pooling, how it was made and how it opens."""
    folder = resolve(name)
    encoder = load(name, device="cpu")
    config = encoder[0].model.config
    pooling = pooling_of(encoder)
    sentence_encoder = (Path(folder) / "modules.json").is_file()
    masked = (Path(folder) / HEAD).is_file() or any("MaskedLM" in a for a in _architectures(folder))
    plain = pooling != "mask-prompt"
    return {
        "name": name,
        "folder": folder,
        "kind": "sentence encoder" if sentence_encoder else "masked language model" if masked else "plain encoder",
        "architecture": config.model_type,
        "layers": config.num_hidden_layers,
        "width": config.hidden_size,
        "vocabulary": config.vocab_size,
        "parameters": sum(p.numel() for p in encoder.parameters()),
        "dimension": encoder.get_embedding_dimension(),
        "longest_text": f"{encoder.max_seq_length} tokens",
        "pooling": pooling + ("" if sentence_encoder else " (the default: nothing was saved with the model)"),
        "lm_head": "kept" if masked else "none",
        "opens_with": f'SentenceTransformer("{folder}")'
        if sentence_encoder and plain
        else f'mirrormask.load("{name}")',
        "made_by": facts_of(folder) if sentence_encoder else {},
        **{
            k: v
            for k, v in facts_of(folder).items()
            if k not in {"pooling", "lm_head"} and not isinstance(v, (dict, list))
        },
    }


def _architectures(folder: str) -> list[str]:
    from transformers import AutoConfig

    return list(AutoConfig.from_pretrained(folder).architectures or [])
