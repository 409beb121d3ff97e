"""What `train` was given: plain texts, or pairs, triplets, labelled pairs or labelled texts, told by their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mirrormask.core.errors import DataError
from mirrormask.data.tasks.classified import TEXT_COLUMNS
from mirrormask.data.text.columns import LABEL_COLUMNS
from mirrormask.data.text.files import columns_of
from mirrormask.data.text.origin import find_origin

PAIRED, CLASSES = "given-pairs", "given-classes"
OF_ROWS = (PAIRED, CLASSES, "supervised-simcse", "simcse-sup", "sentence-bert-triplet", "cert", "back-translation")
"""The methods that learn from such rows."""

SCORES = ("score", "similarity", "relatedness")
"""Columns that say how alike a pair is, which no pair is plainly positive beside."""

RELATIONS = ("gold_label", *LABEL_COLUMNS)
KNOWN = {"sentence-bert-classification": RELATIONS, "sentence-bert-regression": SCORES}
"""The methods that learn what is known about a pair, and the columns that say it."""

INFERENCE = (("premise", "hypothesis", "label"), ("sentence1", "sentence2", "gold_label"))
TRIPLETS = (
    ("anchor", "positive", "negative"),
    ("sent0", "sent1", "hard_neg"),
    ("premise", "entailment", "contradiction"),
    ("query", "positive", "negative"),
)
PAIRS = (
    ("anchor", "positive"),
    ("sent0", "sent1"),
    ("sentence1", "sentence2"),
    ("text1", "text2"),
    ("question1", "question2"),
    ("query", "document"),
    ("query", "positive"),
    ("query", "passage"),
    ("question", "answer"),
)


@dataclass(frozen=True)
class Given:
    """What the rows are, and what learns from them.

    Args:
        kind: "texts", "pairs", "triplets", "labelled pairs" or "labelled texts".
        columns: to read, in order; empty leaves the choice to the reader of plain texts.
        method: that fits; empty where the start decides.
        pairing: that the method is given, with its parameters; empty for its own.
    """

    kind: str = "texts"
    columns: tuple[str, ...] = ()
    method: str = ""
    pairing: Mapping[str, Any] = field(default_factory=dict)

    @property
    def said(self) -> str:
        """Return in a sentence what was picked and how to have it otherwise; nothing for plain texts."""
        if self.kind == "texts":
            return ""
        read = f" ({', '.join(self.columns)})" if self.columns else ""
        return (
            f"The rows are {self.kind}{read}, so the method is {self.method}. Another --method decides otherwise, and "
            "one --column reads that text alone."
        )


def given_for(corpus: Any, columns: Sequence[str] = (), *, method: str = "", pairing: str = "") -> Given:
    """Return what the rows of a corpus are to a run, whose method or pairing may be asked for.

    Args:
        corpus, columns: as for `given_rows`.
        method: asked for, or begun with; another than those that learn from such rows reads plain texts.
        pairing: asked for, which says itself what it reads.
    """
    plain = Given(columns=tuple(columns), method=method)
    if method in KNOWN and not pairing and not columns:
        there = {column.lower(): column for column in _columns_there(corpus)[1]}
        shapes = [(*pair, last) for pair in (*PAIRS, ("premise", "hypothesis")) for last in KNOWN[method]]
        known = next((shape for shape in shapes if all(column in there for column in shape)), None)
        return Given("labelled pairs", tuple(there[column] for column in known), method) if known else plain
    if pairing or (method and method not in OF_ROWS):
        return plain
    found = given_rows(corpus, columns)
    if not method:
        return found
    fits = bool(found.method) and (found.method == CLASSES) == (method == CLASSES)
    return replace(found, method=method) if fits else plain


def given_rows(corpus: Any, columns: Sequence[str] = ()) -> Given:
    """Return what the rows of a corpus are.

    Args:
        corpus: files or names, or texts or tuples of texts in Python.
        columns: those the user named; none means that their names tell.

    Raises:
        DataError: two columns are a pair, and a third says that not every pair is a positive.

    Example:
        >>> given_rows([("a dog", "an animal"), ("a cat", "a pet")]).kind
        'pairs'
    """
    if columns:
        return _of(tuple(columns)) if len(columns) > 1 else Given(columns=tuple(columns))
    if isinstance(corpus, (list, tuple)) and corpus and isinstance(corpus[0], (tuple, list)):
        return _of(("",) * len(corpus[0])) if len(corpus[0]) > 1 else Given()
    return _told(*_columns_there(corpus))


def _columns_there(corpus: Any) -> tuple[str, list[str]]:
    """Return the name of the first source and its columns; none where they cannot be told without reading it."""
    names = [corpus] if isinstance(corpus, (str, Path)) else list(corpus) if isinstance(corpus, (list, tuple)) else []
    if not names or not all(isinstance(name, (str, Path)) for name in names) or str(names[0]) == "-":
        return "", []
    if isinstance(corpus, (list, tuple)) and not isinstance(names[0], Path):
        return "", []  # texts
    stamp = find_origin(str(names[0])).stamp
    return (str(names[0]), columns_of(Path(stamp[0][0]))) if stamp else (str(names[0]), [])


def _told(name: str, there: Sequence[str]) -> Given:
    known = {column.lower(): column for column in there}

    def first(shapes: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
        found = next((shape for shape in shapes if all(column in known for column in shape)), ())
        return tuple(known[column] for column in found)

    if found := first(INFERENCE):
        return _of(found, labelled=True)
    if found := first(TRIPLETS):
        return _of(found)
    if found := first(PAIRS):
        beside = next((known[column] for column in (*SCORES, *LABEL_COLUMNS) if column in known), "")
        if not beside:
            return _of(found)
        raise DataError(
            f"{name} has pairs ({', '.join(found)}) and a column {beside!r} beside them, so not every pair is a "
            f"positive. Say which are, such as --set 'data.where=[\"{beside}=1\"]' --column {found[0]} --column "
            f"{found[1]}, or read one text with --column {found[0]}."
        )
    if found := first([(text, label) for text in TEXT_COLUMNS for label in LABEL_COLUMNS]):
        return _of(found, labelled=True)
    return Given()


def _of(columns: tuple[str, ...], *, labelled: bool = False) -> Given:
    named = tuple(column for column in columns if column)
    labelled = labelled or columns[-1].lower() in LABEL_COLUMNS
    if labelled and len(columns) == 2:
        return Given("labelled texts", named, CLASSES)
    if labelled and len(columns) == 3:
        return Given("labelled pairs", named, PAIRED, {"name": "inference", "fill": True})
    return Given("pairs" if len(columns) == 2 else "triplets", named, PAIRED)
