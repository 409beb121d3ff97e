"""Several anchors of a document, and several positives around each.

Paper: Giorgi et al. 2021, "DeCLUTR: Deep Contrastive Learning for Unsupervised Textual Representations", Section 3.1

    length of an anchor   = floor(x * (most - least) + least),  x ~ Beta(4, 2)
    length of a positive  = floor(x * (most - least) + least),  x ~ Beta(2, 4)
    a positive begins from one length of its own before its anchor to the anchor's end: it overlaps the anchor, lies
    inside it (subsumed), or stands next to it (adjacent)

A document is cut into blocks of `most` words. Anchors lie in blocks that are not neighbors, so that their positives
seldom meet; all choices of such blocks are alike likely (the published code draws one after another, and takes an end
where it would run out of them). The paper asks for documents of 2 * anchors * most words at least; in a shorter one
spans are shorter. Lengths are in words, as in the published code.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.batch import Ids
from mirrormask.core.errors import at_least, one_of
from mirrormask.core.seeding import generator
from mirrormask.data.pairs import Examples, Pairing, Rows, one_column, pairings
from mirrormask.data.text.corpus_folder import Corpus
from mirrormask.data.text.tokens import Tokenized
from mirrormask.data.text.words import Words

PLACES = ("any", "adjacent", "subsumed")
"""Where positives may lie; the paper's own is any."""

Spans = NDArray[np.int64]
"""First word and end of an anchor and of its positives (1 + positives, 2)."""


def document_spans(
    words: int,
    anchors: int,
    positives: int,
    *,
    min_words: int,
    max_words: int,
    place: str = "any",
    rng: np.random.Generator,
) -> list[Spans]:
    """Return the spans of one document, a group for each anchor.

    Args:
        words: in the document.
        anchors, positives: how many of them, and of positives for each.
        min_words, max_words: bounds of a span, as far as the document has so many words.
        place: where positives lie.
        rng: where the choice comes from.
    """
    most = max(1, min(max_words, words // (2 * anchors)))
    least = min(min_words, most)
    blocks = max(2 * anchors, words // most) if words >= 2 * anchors else 2 * anchors
    chosen = np.sort(rng.choice(blocks - anchors + 1, anchors, replace=False)) + np.arange(anchors)
    found = []
    for block in chosen.tolist():
        long = int(rng.beta(4, 2) * (most - least) + least)
        start = min(block * most + int(rng.integers(most - long + 1)), max(0, words - long))
        end = min(start + long, words)
        group = [(start, end)]
        for _ in range(positives):
            short = int(rng.beta(2, 4) * ((long if place == "subsumed" else most) - least) + least)
            short = min(short, words)
            first = _first(place, start, end, short, words, rng)
            group.append((first, first + short))
        found.append(np.array(group, dtype=np.int64))
    return found


def _first(place: str, start: int, end: int, short: int, words: int, rng: np.random.Generator) -> int:
    """Return where a positive of `short` words begins."""
    if place == "subsumed":
        return int(rng.integers(start, max(start, end - short) + 1))
    low, high = max(0, start - short), min(end, words - short)
    if place == "adjacent":
        beside = [at for at in (start - short, end) if 0 <= at <= words - short]
        return int(rng.choice(beside)) if beside else low
    return int(rng.integers(low, max(low, high) + 1))


@pairings.register("declutr-spans")
class DeclutrSpans(Pairing):
    """Anchors of a document, each with spans around it. Relations: `spans` takes one of each, anywhere in the text.

    Args:
        anchors: of a document; they come into one batch, where each is a hard negative of the others.
        positives: of an anchor.
        min_words, max_words: bounds of a span.
        place: where positives lie: any, adjacent or subsumed.
    """

    def __init__(
        self, anchors: int = 2, positives: int = 2, min_words: int = 32, max_words: int = 512, place: str = "any"
    ) -> None:
        self.anchors = at_least("anchors", anchors, 1, of="declutr-spans")
        self.positives = at_least("positives", positives, 1, of="declutr-spans")
        self.min_words = at_least("min_words", min_words, 1, of="declutr-spans")
        self.max_words = at_least("max_words", max_words, min_words, of="declutr-spans")
        self.place = one_of("place", place, PLACES, of="declutr-spans")

    def max_tokens_needed(self, room: int) -> int:
        """Return as much of a document as its anchors are drawn from."""
        return max(room, 4 * self.anchors * self.max_words)

    def index(self, corpus: Corpus, tokens: Tokenized, folder: Path) -> Examples:
        """Return one example for each anchor, with a column for it and one for each positive."""
        one_column(corpus, "declutr-spans")
        return _Anchors(tokens, self)


class _Anchors(Examples):
    """The anchors of all documents, those of a document next to each other."""

    def __init__(self, tokens: Tokenized, spans: DeclutrSpans) -> None:
        self._tokens = tokens
        self._spans = spans
        self.together = spans.anchors

    def __len__(self) -> int:
        return len(self._tokens) * self._spans.anchors

    def columns(self, examples: Rows, seed: int) -> tuple[list[Ids], ...]:
        """Return the anchors, and their first, second … positives."""
        how = self._spans
        documents, which = examples // how.anchors, examples % how.anchors
        texts = Words.of(self._tokens.take(documents.tolist()), self._tokens.starts)
        places = np.stack(
            [
                document_spans(
                    count,
                    how.anchors,
                    how.positives,
                    min_words=how.min_words,
                    max_words=how.max_words,
                    place=how.place,
                    rng=generator(seed, "declutr-spans", document),
                )[anchor]
                for document, anchor, count in zip(
                    documents.tolist(), which.tolist(), texts.counts.tolist(), strict=True
                )
            ]
        )
        return tuple(texts.spans(places[:, column]) for column in range(1 + how.positives))

    def sharing(self, examples: Rows) -> Rows:
        """Return all anchors of the documents of the given ones."""
        documents = np.unique(examples // self._spans.anchors)
        found: Rows = (documents[:, None] * self._spans.anchors + np.arange(self._spans.anchors)).ravel()
        return found
