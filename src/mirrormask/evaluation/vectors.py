"""Every unique text of an evaluation is encoded once, whatever the number of tasks and places it occurs in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import ModelError

Progress = Callable[[str, int, int], None]
"""Called with the name of the model, the number of texts just done, and their number in all."""


class TextVectors:
    """The vectors of a set of texts under one model, looked up by text.

    Args:
        texts: unique texts, as they were encoded.
        vectors: their vectors (len(texts), d).
        prompts: what the model wants before a text in a role, such as "query: " before a query.
    """

    def __init__(
        self, texts: Sequence[str], vectors: NDArray[np.float32], prompts: Mapping[str, str] | None = None
    ) -> None:
        self._place = {text: row for row, text in enumerate(texts)}
        self._vectors = vectors
        self._prompts = dict(prompts or {})

    @classmethod
    def encode(
        cls,
        encoder: Any,
        texts: Iterable[str] = (),
        *,
        roles: Mapping[str, Iterable[str]] | None = None,
        name: str = "the model",
        progress: Progress | None = None,
    ) -> TextVectors:
        """Encode each different text once.

        Args:
            encoder: a SentenceTransformer, anything with its `encode`, or a function from texts to vectors (n, d).
            texts: texts without a role.
            roles: queries and documents, which some models want with a prompt of their own in front.
            name: what to call the model in messages.
            progress: called as texts are done.
        """
        prompts = prompts_of(encoder)
        everything = dict.fromkeys(texts)
        for role, members in (roles or {}).items():
            everything |= dict.fromkeys(prompts.get(role, "") + text for text in members)
        unique = list(everything)
        tick = (lambda done: progress(name, done, len(unique))) if progress is not None else None
        vectors = vectors_of(encoder, unique, name=name, progress=tick)
        return cls(unique, vectors, prompts)

    def __len__(self) -> int:
        return len(self._place)

    def of(self, texts: Sequence[str], role: str = "") -> NDArray[np.float32]:
        """Return the vectors of the texts in a role (len(texts), d), in their order."""
        prompt = self._prompts.get(role, "")
        return self._vectors[[self._place[prompt + text] for text in texts]]


def prompts_of(encoder: Any) -> dict[str, str]:
    """Return the prompts a model was saved with for queries and documents, as sentence-transformers applies them."""
    known = getattr(encoder, "prompts", None) or {}
    found = {"query": known.get("query")}
    found["document"] = next((known[key] for key in ("document", "passage", "corpus") if known.get(key)), None)
    return {role: prompt for role, prompt in found.items() if prompt}


def vectors_of(
    encoder: Any,
    texts: list[str],
    *,
    name: str = "the model",
    max_length: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> NDArray[np.float32]:
    """Return the vectors of texts (n, d) under any encoder, checked.

    Args:
        encoder: a SentenceTransformer, anything with its `encode`, or a function from texts to vectors (n, d).
        texts: with their prompts.
        name: what to call the model in messages.
        max_length: tokens that a SentenceTransformer reads of a text, where it would read more.
        progress: called with the number of texts just done.
    """
    if hasattr(encoder, "encode") and hasattr(encoder, "get_embedding_dimension"):
        from mirrormask.models.bulk import encode_texts

        vectors = encode_texts(encoder, texts, max_length=max_length, progress=progress)
    else:
        vectors = np.asarray(getattr(encoder, "encode", encoder)(texts), dtype=np.float32)
        if progress is not None:
            progress(len(texts))
    if vectors.ndim != 2 or len(vectors) != len(texts):
        raise ModelError(
            f"{name} must give one vector per text. Got an array of shape {vectors.shape} for {len(texts)} texts."
        )
    broken = np.count_nonzero(~np.isfinite(vectors).all(axis=1))
    if broken:
        raise ModelError(
            f"{name} gives vectors with NaN or infinity for {broken} of {len(texts)} texts. "
            "Its weights are damaged or its training diverged: take an earlier checkpoint."
        )
    return vectors
