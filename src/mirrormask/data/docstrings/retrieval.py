"""Held-out functions: find a docstring by its function's spelled-out name, with nothing of it seen in training.

A retrieval task that needs no labels: the name of a function and the summary of its docstring were written for one and
the same thing. What is held out leaves the training text with its duplicates and near-duplicates.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from mirrormask.core.errors import DataError, at_least
from mirrormask.core.seeding import generator
from mirrormask.data.docstrings.collecting import Docstring

NEAR = 0.75  # Jaccard overlap of the words from which two sentences count as one
FEWEST_WORDS = 4
LONGEST_SUMMARY = 400  # characters; a longer first paragraph is an essay, not a summary

NAME_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
WORD = re.compile(r"[^\W_]+")


@dataclass
class HeldOut:
    """A retrieval task and the training text that goes with it.

    Args:
        functions: the held-out functions; query i belongs to document i.
        queries: spelled-out function names.
        documents: the summaries of their docstrings.
        training: one document per training docstring, as a list of sentences; no sentence occurs twice.
        names: the spelled-out name of each training document's function, class or module.
        counts: how many docstrings and sentences were dropped, and why.
    """

    functions: list[Docstring]
    queries: list[str]
    documents: list[str]
    training: list[list[str]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)


def spelled_out(name: str) -> str:
    """Write an identifier as words.

    Example:
        >>> spelled_out("read_csv"), spelled_out("parseHTTPResponse2")
        ('read csv', 'parse http response 2')
    """
    return " ".join(part.lower() for part in NAME_PART.findall(name))


def hold_out(docstrings: Iterable[Docstring], functions: int = 2000, seed: int = 42) -> HeldOut:
    """Choose functions to search for and return them with the training documents that are left.

    Packages take turns, so that none dominates; within a package the choice is random.
    """
    at_least("functions", functions, 2, of="the held-out functions")
    docstrings = list(docstrings)
    chosen = _choose(docstrings, functions, seed)
    if len(chosen) < 2:
        raise DataError(
            f"Holding out functions needs documented public functions with distinct names. Got {len(chosen)} in "
            f"{len(docstrings)} docstrings: give folders that hold more packages."
        )
    held = HeldOut(chosen, [spelled_out(each.name) for each in chosen], [each.summary for each in chosen])
    _fill_training(held, docstrings)
    return held


def _choose(docstrings: Sequence[Docstring], functions: int, seed: int) -> list[Docstring]:
    candidates: list[Docstring] = []
    summaries_of: dict[str, set[str]] = defaultdict(set)  # spelled-out name → its summaries
    for each in docstrings:
        if each.kind == "function":
            summaries_of[spelled_out(each.name)].add(_normal(each.summary))
            if _is_public(each) and _describes(each):
                candidates.append(each)
    by_package: dict[str, list[Docstring]] = defaultdict(list)
    summaries: set[str] = set()
    for each in candidates:
        summary = _normal(each.summary)
        if len(summaries_of[spelled_out(each.name)]) == 1 and summary not in summaries:
            summaries.add(summary)
            by_package[each.package].append(each)
    random = generator(seed, "held-out functions")
    queues = [[by_package[name][i] for i in random.permutation(len(by_package[name]))] for name in sorted(by_package)]
    chosen: list[Docstring] = []
    while queues and len(chosen) < functions:
        chosen += [queue.pop() for queue in queues][: functions - len(chosen)]
        queues = [queue for queue in queues if queue]
    return chosen


def _is_public(docstring: Docstring) -> bool:
    parts = f"{docstring.module}.{docstring.qualname}".split(".")
    return not any("test" in part.lower() for part in parts) and not any(
        part.startswith("_") for part in docstring.qualname.split(".")
    )


def _describes(docstring: Docstring) -> bool:
    """Tell a summary that says something from one that only repeats the name."""
    summary = docstring.summary
    words = _normal(summary).split()
    new = set(words) - set(spelled_out(docstring.name).split())
    return len(words) >= FEWEST_WORDS and len(new) >= 3 and len(summary) <= LONGEST_SUMMARY and len(docstring.name) >= 3


def _fill_training(held: HeldOut, docstrings: Sequence[Docstring]) -> None:
    """Keep each docstring's sentences that are neither held out, nor near it, nor already kept."""
    own = {(each.module, each.qualname) for each in held.functions}
    summaries = {_normal(each.summary) for each in held.functions}
    forbidden = {_normal(sentence) for each in held.functions for sentence in each.sentences}
    near = _NearDuplicates(forbidden)
    seen: set[str] = set()
    counts = dict.fromkeys(("held_out", "held_out_duplicates", "held_out_sentences", "duplicate_sentences"), 0)
    for each in docstrings:
        if (each.module, each.qualname) in own:
            counts["held_out"] += 1
        elif _normal(each.summary) in summaries:
            counts["held_out_duplicates"] += 1
        else:
            kept = []
            for sentence in each.sentences:
                normal = _normal(sentence)
                if normal in seen:
                    counts["duplicate_sentences"] += 1
                elif normal in forbidden or near.to(normal):
                    counts["held_out_sentences"] += 1
                else:
                    seen.add(normal)
                    kept.append(sentence)
            if kept:
                held.training.append(kept)
                held.names.append(spelled_out(each.name))
    held.counts = {"documents": len(held.training), "sentences": len(seen), **counts}


class _NearDuplicates:
    """Finds sentences whose word sets overlap with one of `texts` by `NEAR` or more.

    Order all words from rare to frequent: two sets that overlap by t share one of the first ``n - ceil(t * n) + 1``
    words of each. So only those are indexed and looked up, and words that no text holds come first and are never found.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        sets = [frozenset(text.split()) for text in sorted(texts)]
        frequency = Counter(word for words in sets for word in words)
        by_rarity = sorted(frequency, key=lambda word: (frequency[word], word))
        self.rank = {word: rank for rank, word in enumerate(by_rarity)}
        self.index: list[list[frozenset[str]]] = [[] for _ in by_rarity]
        for words in sets:
            for rank in sorted(self.rank[word] for word in words)[: _prefix(len(words))]:
                self.index[rank].append(words)

    def to(self, text: str) -> bool:
        """Say whether `text`, already normal, is near one of the texts."""
        words = frozenset(text.split())
        known = sorted(self.rank[word] for word in words if word in self.rank)
        looked_up = _prefix(len(words)) - (len(words) - len(known))
        least, most = NEAR * len(words), len(words) / NEAR
        for rank in known[: max(0, looked_up)]:
            for other in self.index[rank]:
                if least <= len(other) <= most:
                    common = len(words & other)
                    if common >= NEAR * (len(words) + len(other) - common):
                        return True
        return False


def _prefix(size: int) -> int:
    return size - math.ceil(NEAR * size) + 1


def _normal(text: str) -> str:
    return " ".join(WORD.findall(text.lower()))
