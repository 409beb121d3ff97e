"""Dependency trees of sentences: words with heads, checked, with and without punctuation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import DataError

ROOT = -1
"""The head of a word that has none."""

PUNCTUATION_TAGS = frozenset({",", ".", ":", "``", "''", "-LRB-", "-RRB-", "(", ")", "#", "$", "PU"})
"""Tags of the Penn treebanks that are no words: punctuation, and the two currency signs that are not pronounced."""


@dataclass(frozen=True)
class Word:
    """One word of a dependency tree; `_` is an empty field, as in CoNLL-U.

    Args:
        form: the word as written.
        head: the place of its head, counted from 0, or `ROOT`.
        relation: how it depends on its head.
        lemma, upos, xpos, features, misc: the other columns of CoNLL-U.
    """

    form: str
    head: int
    relation: str = "_"
    lemma: str = "_"
    upos: str = "_"
    xpos: str = "_"
    features: str = "_"
    misc: str = "_"

    @property
    def punctuation(self) -> bool:
        """Say whether it is punctuation: by its universal tag, or, without one, by its Penn tag."""
        return self.upos == "PUNCT" if self.upos != "_" else self.xpos in PUNCTUATION_TAGS


@dataclass(frozen=True)
class DependencySentence:
    """A sentence with its tree.

    Args:
        words: the words, in order.
        comments: the lines before it that begin with `#`.
        ranges: the lines of multi-word tokens, each with the place of the word it stands before.
        line: where it begins in its file, counted from 1.
    """

    words: tuple[Word, ...]
    comments: tuple[str, ...] = ()
    ranges: tuple[tuple[int, str], ...] = ()
    line: int = 0

    def __len__(self) -> int:
        return len(self.words)

    @property
    def forms(self) -> list[str]:
        """Return the words as written."""
        return [word.form for word in self.words]

    @property
    def heads(self) -> NDArray[np.int64]:
        """Return the head of each word (n,)."""
        return np.array([word.head for word in self.words], dtype=np.int64)

    @property
    def punctuation(self) -> NDArray[np.bool_]:
        """Return which words are punctuation (n,)."""
        return np.array([word.punctuation for word in self.words], dtype=bool)

    @property
    def root(self) -> int:
        """Return the place of the first word without a head."""
        return next(place for place, word in enumerate(self.words) if word.head == ROOT)

    def with_heads(self, heads: Sequence[int] | NDArray[np.int64]) -> DependencySentence:
        """Return the sentence with other heads, relations reduced to `root` and `dep`."""
        words = [
            replace(word, head=int(head), relation="root" if head == ROOT else "dep")
            for word, head in zip(self.words, heads, strict=True)
        ]
        return replace(self, words=tuple(words))

    def without_punctuation(self) -> DependencySentence:
        """Return the sentence without its punctuation; what hung on a mark now hangs on the mark's own head.

        Where the root itself is a mark, its first dependent that stays takes its place.
        """
        kept = [place for place, word in enumerate(self.words) if not word.punctuation]
        where = {place: number for number, place in enumerate(kept)}
        words = []
        for place in kept:
            head = self.words[place].head
            while head != ROOT and head not in where:
                head = self.words[head].head
            words.append(replace(self.words[place], head=ROOT if head == ROOT else where[head]))
        roots = [number for number, word in enumerate(words) if word.head == ROOT]
        given = sum(self.words[place].head == ROOT for place in kept)
        first = next((n for n in roots if self.words[kept[n]].head == ROOT), roots[0] if roots else 0)
        if len(roots) > max(given, 1):  # a root that was a mark left several words without a head
            for number in roots:
                if number != first and self.words[kept[number]].head != ROOT:
                    words[number] = replace(words[number], head=first)
        return DependencySentence(tuple(words), self.comments, (), self.line)


def check_tree(
    heads: Sequence[int], lines: Sequence[int], source: str, *, kind: str = "word", place: str = "line"
) -> None:
    """Raise a DataError, with file and line, where following heads never arrives at the root.

    Args:
        heads: the head of each word, `ROOT` or a place.
        lines: the line each word stands in.
        source: the file, for the message.
        kind: what the tree is over.
        place: what the file is counted in.
    """
    safe = [False] * len(heads)
    for start in range(len(heads)):
        path: list[int] = []
        node = start
        while node >= 0 and not safe[node]:
            if node in path:
                cycle = " → ".join(str(each + 1) for each in [*path[path.index(node) :], node])
                raise DataError(
                    f"{source}, {place} {lines[node]}: the heads of {kind}s {cycle} form a cycle, and a tree has none. "
                    "Correct one of them."
                )
            path.append(node)
            node = heads[node]
        for each in path:
            safe[each] = True
