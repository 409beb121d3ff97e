"""Where the embeddings of an encoder are, whatever its architecture and whatever is around it."""

from __future__ import annotations

from typing import Any


def base_model(encoder: Any) -> Any:
    """Return the transformer of an encoder, without adapters around it."""
    model = encoder[0].model
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def is_static(encoder: Any) -> bool:
    """Say whether an encoder has no transformer: a table of word vectors and what is done with them."""
    return not hasattr(encoder[0], "model")


def word_table(encoder: Any) -> Any:
    """Return the module that turns token ids into word embeddings (n, length, d)."""
    return base_model(encoder).get_input_embeddings()


def embedding_module(encoder: Any) -> Any:
    """Return the module whose output is the input embedding (n, length, d)."""
    return embeddings_of(base_model(encoder))


def embeddings_of(model: Any) -> Any:
    """Return the same of a transformer alone, such as a masked LM's."""
    return model.embeddings if hasattr(model, "embeddings") else model.get_input_embeddings()
