"""Every unique text of an evaluation is encoded once, whatever the number of tasks and places it occurs in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import ModelError

Progress = Callable[[int], None]
"""Called with the number of texts just done."""


class TextVectors:
    """The vectors of a set of texts under one model, looked up by text.

    Args:
        texts: unique texts.
        vectors: their vectors (len(texts), d).
    """

    def __init__(self, texts: Sequence[str], vectors: NDArray[np.float32]) -> None:
        self._place = {text: row for row, text in enumerate(texts)}
        self._vectors = vectors

    @classmethod
    def encode(
        cls, encoder: Any, texts: Iterable[str], *, name: str = "the model", progress: Progress | None = None
    ) -> TextVectors:
        """Encode each different text once.

        Args:
            encoder: a SentenceTransformer, anything with its `encode`, or a function from texts to vectors (n, d).
            name: what to call the model in messages.
            progress: called with the number of texts just done.
        """
        unique = list(dict.fromkeys(texts))
        vectors = _vectors(encoder, unique, progress)
        if vectors.ndim != 2 or len(vectors) != len(unique):
            raise ModelError(
                f"{name} must give one vector per text. Got an array of shape {vectors.shape} for {len(unique)} texts."
            )
        broken = np.count_nonzero(~np.isfinite(vectors).all(axis=1))
        if broken:
            raise ModelError(
                f"{name} gives vectors with NaN or infinity for {broken} of {len(unique)} texts. "
                "Its weights are damaged or its training diverged: take an earlier checkpoint."
            )
        return cls(unique, vectors)

    def __len__(self) -> int:
        return len(self._place)

    def of(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of the texts (len(texts), d), in their order."""
        return self._vectors[[self._place[text] for text in texts]]


def _vectors(encoder: Any, texts: list[str], progress: Progress | None) -> NDArray[np.float32]:
    if hasattr(encoder, "encode") and hasattr(encoder, "get_embedding_dimension"):
        from mirrormask.models.bulk import encode_texts

        return encode_texts(encoder, texts, progress=progress)
    encode = getattr(encoder, "encode", encoder)
    vectors = np.asarray(encode(texts), dtype=np.float32)
    if progress is not None:
        progress(len(texts))
    return vectors
