"""Aspect-based sentiment: a sentence, a term in it, and what is thought of it (SemEval 2014, task 4).

Paper: Pontiki et al. 2014, "SemEval-2014 Task 4: Aspect Based Sentiment Analysis"
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mirrormask.core.errors import DataError
from mirrormask.data.text.sources import describe_source, load_rows

TERM = "$T$"
POLARITIES = (-1, 0, 1)
DATASETS = ("laptop", "restaurant")


@dataclass(frozen=True)
class AspectExample:
    """One judgement.

    Args:
        words: the sentence, split at white space.
        start, stop: the words of the term.
        polarity: -1, 0 or 1.
    """

    words: tuple[str, ...]
    start: int
    stop: int
    polarity: int


def load_absa(name: str, split: str) -> list[AspectExample]:
    """Return the judgements of `absa/NAME`, from the local roots or else from the hub.

    Raises:
        DatasetMissing: the data cannot be had.
        DataError: a row without a text with one `$T$`, an aspect and a polarity; the message names file and row.
    """
    dataset = f"absa/{name}"
    source = describe_source(dataset, split)
    return [parse_row(row, f"{source}, row {number}") for number, row in enumerate(load_rows(dataset, split), 1)]


def parse_row(row: dict[str, Any], where: str) -> AspectExample:
    """Return one row as a judgement.

    Example:
        >>> parse_row({"text": "The $T$ was warm .", "aspect": "onion soup", "polarity": 1}, "row 1")
        AspectExample(words=('The', 'onion', 'soup', 'was', 'warm', '.'), start=1, stop=3, polarity=1)
    """
    text, aspect, polarity = row.get("text"), row.get("aspect"), row.get("polarity")
    if not isinstance(text, str) or text.count(TERM) != 1:
        raise DataError(f"{where}: 'text' must hold {TERM} once, where the aspect stands. Got {text!r:.80}.")
    if not isinstance(aspect, str) or not aspect.strip():
        raise DataError(f"{where}: 'aspect' must be a text that is not empty. Got {aspect!r}.")
    if polarity not in POLARITIES or isinstance(polarity, bool):
        raise DataError(f"{where}: 'polarity' must be -1, 0 or 1. Got {polarity!r}.")
    before, after = (part.split() for part in text.split(TERM))
    term = aspect.split()
    return AspectExample((*before, *term, *after), len(before), len(before) + len(term), int(polarity))
