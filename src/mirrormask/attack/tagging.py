"""Parts of speech of English words, by HanTa: which words can stand for another one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from mirrormask.attack.edited_text import EditedText
from mirrormask.core.errors import MissingExtra

COARSE = {
    "AJ": "ADJ",
    "AT": "DET",
    "AV": "ADV",
    "CJ": "CONJ",
    "CR": "NUM",
    "DP": "DET",
    "DT": "DET",
    "EX": "PRON",
    "IT": "INTJ",
    "NN": "NOUN",
    "NP": "NOUN",
    "OR": "ADJ",
    "PN": "PRON",
    "PO": "PART",
    "PR": "ADP",
    "PU": "PUNCT",
    "TO": "PART",
    "UN": "X",
    "VB": "VERB",
    "VD": "VERB",
    "VH": "VERB",
    "VM": "VERB",
    "VV": "VERB",
    "XX": "PART",
    "ZZ": "NOUN",
}
"""The tags of the British National Corpus, which HanTa's English model has, by their first two letters."""

REACH = 4
"""Words to each side that decide a tag, as in TextAttack's constraint."""


class Tagger:
    """HanTa's English tagger with coarse tags.

    Example:
        >>> Tagger().tags(["the", "old", "boat", "leaves"])  # doctest: +SKIP
        ['DET', 'ADJ', 'NOUN', 'VERB']
    """

    def __init__(self) -> None:
        try:
            from HanTa.HanoverTagger import HanoverTagger
        except ImportError:
            raise MissingExtra("HanTa", "attack", "Telling parts of speech") from None
        self._hanta = HanoverTagger("morphmodel_en.pgz")
        inner = self._hanta._tag_word

        @lru_cache(maxsize=1 << 17)  # the morphology of a word is most of the work, and words come back
        def remembered(word: str, cutoff: int = 5, casesensitive: bool = True, conditional: bool = False) -> Any:
            return inner(word, cutoff, casesensitive, conditional)

        self._hanta._tag_word = remembered

    def tags(self, words: Sequence[str]) -> list[str]:
        """Return the tag of every word of a sentence."""
        if not words:
            return []
        try:
            found = self._hanta.tag_sent(list(words), taglevel=0)
        except (KeyError, IndexError, ValueError):  # no path through the sentence: signs that the model never saw
            return ["X"] * len(words)
        return [COARSE.get(tag[:2], "X") for tag in found]

    def possible(self, word: str) -> frozenset[str]:
        """Return the tags that a word can have; none for a word that can have any."""
        hanta = self._hanta
        return frozenset(COARSE.get(hanta.int2tag[tag][:2], "X") for tag, _ in hanta._tag_word(word, 5, True, True))

    def fitting(self, text: EditedText, place: int, words: Sequence[str]) -> list[bool]:
        """Say which words may replace the one at a place: those with its tag there, or noun for verb and back.

        A word all of whose tags fit, or none, needs no look at the sentence.
        """
        around, here = text.near(place, REACH)
        tag = self.tags(around)[here]
        fits = {"NOUN", "VERB"} if tag in ("NOUN", "VERB") else {tag}
        found = []
        for word in words:
            possible = self.possible(word) if word else frozenset[str]()
            if possible and (possible <= fits or not possible & fits):
                found.append(possible <= fits)
            else:
                found.append(self.tags([*around[:here], word, *around[here + 1 :]])[here] in fits)
        return found
