"""What a search finds: a document with its best passage, the words that match, and why it was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mirrormask.core.errors import ModelError


@dataclass(frozen=True)
class Hit:
    """A document that was found.

    Args:
        id: of the document.
        score: what hits are ordered by; only scores of one search can be compared.
        passage: its best passage.
        place: where the passage begins and ends in the document, in characters.
        matches: where words of the query stand in the passage.
        shares: how much of the score came from `words` and from `vectors`; they add up to 1.
        metadata: the document's other columns.
    """

    id: str
    score: float
    passage: str
    place: tuple[int, int]
    matches: list[tuple[int, int]] = field(default_factory=list)
    shares: dict[str, float] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the hit as JSON holds it."""
        shares = {name: round(share, 4) for name, share in self.shares.items()}
        return {**self.__dict__, "score": round(self.score, 6), "shares": shares, "place": list(self.place)}


class Reranker:
    """Reads query and passage together, which tells better and takes longer.

    Args:
        name: of a cross-encoder: a folder, a name under MIRRORMASK_MODELS, or a hub name.
    """

    def __init__(self, name: str) -> None:
        from sentence_transformers import CrossEncoder

        from mirrormask.models.loading import opening, quiet_loading
        from mirrormask.models.names import resolve

        folder = resolve(name)
        with opening(name, folder), quiet_loading():
            self.model = CrossEncoder(folder)
        self.name = name

    def reordered(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        """Return hits in the order of the cross-encoder's scores."""
        if not hits:
            return []
        scores = self.model.predict([(query, hit.passage) for hit in hits], show_progress_bar=False)
        if scores.ndim != 1:
            raise ModelError(
                f"{self.name} gives {scores.shape[-1]} numbers for a query and a passage, and one is needed. "
                "Name a cross-encoder that was trained to rank."
            )
        order = sorted(range(len(hits)), key=lambda place: -float(scores[place]))
        return [Hit(**{**hits[place].__dict__, "score": float(scores[place])}) for place in order]
