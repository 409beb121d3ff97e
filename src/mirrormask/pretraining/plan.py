"""What to pretrain: the shape of the model, its tokenizer, what is hidden, and what else is learned."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from mirrormask.core.errors import MirrormaskError, above, at_least, between
from mirrormask.pretraining.tokenizer import FEWEST

NEW = ("vocabulary", "cased", "layers", "width", "heads", "positions")
"""What only a new model is asked for: one that is continued has them already."""


@dataclass(frozen=True)
class Plan:
    """A masked LM to be made.

    Args:
        init: a masked LM to continue from, with its tokenizer and shape; empty starts from nothing.
        grow: layers that the continued model grows to; 0 leaves it as it is.
        learned: positions that the continued model learned: those after them begin as copies; 0 leaves all as they are.
        tokenizer: the tokenizer of this model or folder instead of a new one.
        vocabulary: pieces of a new tokenizer.
        cased: keep capitals and accents.
        layers, width, heads: of the encoder; a layer's inner width is four times its width.
        positions: the most tokens the model can read.
        length: tokens of a training row, special tokens included.
        freeze_embeddings: leave the embeddings of the continued model as they are, so that several models share them.
        later: share of the training rows that stand at a random later place, so that all positions are learned.
        singles: share of the training rows that are cut into single sentences, which do not see each other.
        mask_rate: share of a row's tokens to hide.
        whole_words: hide words, not pieces.
        dropout: while pretraining; the model's configuration then says 0.1, for whoever trains it on.
        bag: weight of rebuilding the hidden words from the row's mean vector alone.
        neighbors: weight of finding the row that follows in the text.
        temperature: of the cosines of neighbors.
        center: text whose mean sentence vector becomes the origin of the states, once training is over.
        held_out: one text in so many is held out to measure on.
    """

    init: str = ""
    grow: int = 0
    learned: int = 0
    freeze_embeddings: bool = False
    tokenizer: str = ""
    vocabulary: int = 16_384
    cased: bool = False
    layers: int = 6
    width: int = 384
    heads: int = 6
    positions: int = 512
    length: int = 128
    later: float = 0.0
    singles: float = 0.0
    mask_rate: float = 0.2
    whole_words: bool = False
    dropout: float = 0.1
    bag: float = 0.0
    neighbors: float = 0.0
    temperature: float = 0.05
    center: str = ""
    held_out: int = 200

    def __post_init__(self) -> None:
        for name in ("layers", "width", "heads"):
            at_least(name, getattr(self, name), 1, of="pretraining")
        at_least("length", self.length, 8, of="pretraining")
        at_least("grow", self.grow, 0, of="pretraining")
        at_least("learned", self.learned, 0, of="pretraining")
        between("later", self.later, 0, 1, of="pretraining")
        between("singles", self.singles, 0, 1, of="pretraining")
        if self.singles and (self.bag or self.neighbors):
            raise MirrormaskError(
                "A row of single sentences has no one vector: set 'singles', or 'bag' and 'neighbors', not both."
            )
        above("mask_rate", self.mask_rate, 0, of="pretraining")
        between("mask_rate", self.mask_rate, 0, 0.9, of="pretraining")
        between("dropout", self.dropout, 0, 0.9, of="pretraining")
        at_least("bag", self.bag, 0, of="pretraining")
        at_least("neighbors", self.neighbors, 0, of="pretraining")
        above("temperature", self.temperature, 0, of="pretraining")
        at_least("held_out", self.held_out, 2, of="pretraining")
        if self.init:
            self._check_continued()
            return
        if self.grow or self.learned:
            raise MirrormaskError("Only a model that is continued can grow: give 'init' too, or set 'layers'.")
        if self.freeze_embeddings:
            raise MirrormaskError("Only a model that is continued has embeddings to keep: give 'init' too.")
        if not self.tokenizer:
            at_least("vocabulary", self.vocabulary, FEWEST, of="pretraining")
        if self.positions < self.length:
            raise MirrormaskError(
                f"The 'positions' of pretraining must be at least its 'length', {self.length}. Got {self.positions}."
            )
        if self.width % self.heads:
            raise MirrormaskError(
                f"The 'width' of pretraining must be a multiple of its 'heads', {self.heads}. Got {self.width}."
            )

    def record(self) -> dict[str, Any]:
        """Return the plan as data, without what a model that is continued decides itself."""
        return {name: value for name, value in dataclasses.asdict(self).items() if not (self.init and name in NEW)}

    def _check_continued(self) -> None:
        if self.tokenizer:
            raise MirrormaskError("A model that is continued has a tokenizer: give 'init' or 'tokenizer', not both.")
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        given = [repr(name) for name in NEW if getattr(self, name) != defaults[name]]
        if given:
            raise MirrormaskError(
                f"A model that is continued keeps its tokenizer and shape: leave out {', '.join(given)}, or 'init'."
            )
