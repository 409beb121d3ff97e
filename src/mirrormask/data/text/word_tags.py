"""Parts of speech of English words, by HanTa, whose model comes with it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

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


class WordTagger:
    """HanTa's English tagger with coarse tags.

    Example:
        >>> WordTagger().tags(["the", "old", "boat", "leaves"])  # doctest: +SKIP
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
        return [COARSE.get(tag[:2], "X") for tag in self._tagged(words, 0)]

    def lemmas(self, words: Sequence[str]) -> list[tuple[str, str]]:
        """Return the lemma of every word of a sentence, and its tag as HanTa has it."""
        return [found[1:] if isinstance(found, tuple) else ("", found) for found in self._tagged(words, 1)]

    def _tagged(self, words: Sequence[str], level: int) -> list[Any]:
        if not words:
            return []
        try:
            return list(self._hanta.tag_sent(list(words), taglevel=level))
        except (KeyError, IndexError, ValueError):  # no path through the sentence: signs that the model never saw
            return [""] * len(words)

    def possible(self, word: str) -> frozenset[str]:
        """Return the tags that a word can have; none for a word that can have any."""
        hanta = self._hanta
        return frozenset(COARSE.get(hanta.int2tag[tag][:2], "X") for tag, _ in hanta._tag_word(word, 5, True, True))
