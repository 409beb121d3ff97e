"""What a group of texts is about: the words that are frequent in it and rare elsewhere.

    weight of word w in group c = share of w among the words of c · log(1 + mean words of a group / count of w in all)

Paper: Grootendorst 2022, "BERTopic: Neural topic modeling with a class-based TF-IDF procedure", Eq. 2
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mirrormask.search.analysis import Analyzer
from mirrormask.search.stop_words import STOP_WORDS

_READ = 2000  # characters of a text
_MARKUP = frozenset(("amp", "quot", "nbsp", "href", "http", "https", "www", "com", "html"))  # left over from pages
_LEAST_TEXTS = 2  # of a group that hold a word before it names the group


def telling_words(texts: Sequence[str], groups: NDArray[np.int64], *, count: int = 3) -> list[list[str]]:
    """Return for each group its most telling words, as they are mostly written there.

    Args:
        texts: all texts.
        groups: the group of each (n,), numbered from 0.
        count: words of a group.

    Example:
        >>> texts = ["The rivers bend", "This river is at the sea", "The bread is in the oven", "Of all this bread"]
        >>> telling_words(texts, np.array([0, 0, 1, 1]), count=1)
        [['river'], ['bread']]
    """
    analyzer = Analyzer.for_texts(texts)
    counts: list[Counter[str]] = [Counter() for _ in range(int(groups.max()) + 1)]
    holding: list[Counter[str]] = [Counter() for _ in counts]
    written: dict[str, Counter[str]] = {}
    for text, number in zip(texts, groups.tolist(), strict=True):
        cut = text[:_READ]
        terms = []
        for term, begin, end in analyzer.spans(cut):
            if _tells(term):
                terms.append(term)
                written.setdefault(term, Counter())[cut[begin:end]] += 1
        counts[number].update(terms)
        holding[number].update(set(terms))
    everywhere: Counter[str] = Counter()
    for group in counts:
        everywhere.update(group)
    mean = sum(everywhere.values()) / len(counts)
    found = []
    for used, held in zip(counts, holding, strict=True):
        weight = {
            term: times * math.log(1 + mean / everywhere[term])
            for term, times in used.items()
            if held[term] >= min(_LEAST_TEXTS, max(held.values()))
        }
        best = sorted(weight, key=lambda term: (-weight[term], term))[:count]
        found.append([_shown(written[term]) for term in best])
    return found


def _tells(term: str) -> bool:
    if term in STOP_WORDS or term in _MARKUP or term.isdigit():
        return False
    return len(term) > 2 or not term.isascii()


def _shown(forms: Counter[str]) -> str:
    """Return the most frequent way a word is written, in lower case where it often is: names keep their capitals."""
    lower = Counter({form: count for form, count in forms.items() if form == form.lower()})
    chosen = lower if 4 * lower.total() >= forms.total() else forms
    return min(chosen.items(), key=lambda each: (-each[1], each[0]))[0]
