"""From a text to the terms it is found by.

Words are lower-cased, freed of accents and, in English, stemmed. Names from code are found whole and by their parts.
Writing without spaces between words is cut into single characters and pairs of neighbors.

Paper: Porter 1980, "An algorithm for suffix stripping", in its author's later English version;
Kwok 1997, "Comparing representations in Chinese information retrieval" (pairs of characters)
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import islice

import Stemmer

from mirrormask.search.stop_words import STOP_WORDS

_DENSE = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    r"\uff66-\uff9f\U00020000-\U0003ffff"
)
_LETTERS = rf"[^\W{_DENSE}]"
_MARKS = r"\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0d7f"  # accents and vowel signs, no letters to Python
_TOKEN = re.compile(
    rf"[{_DENSE}]+"
    r"|\d+(?:[.,]\d+)+(?![^\W\d_])"  # 3.14 and 1,000
    r"|[A-Za-z](?:\+\+|\#)(?![A-Za-z0-9_])"  # C++ and C#
    rf"|{_LETTERS}+(?:[{_MARKS}]+{_LETTERS}*)*"
)
_IS_DENSE = re.compile(f"[{_DENSE}]")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\da-zA-Z_]+")
_THOUSANDS = re.compile(r",(?=\d{3})")
_REMEMBERED, _LONG, _LONGEST = 1_000_000, 40, 200
_SAMPLE = 500
_TELLING = frozenset(("the", "and", "of", "that", "with", "this", "from", "which", "have", "would", "been", "their"))
_ENGLISH = 0.01  # of the words; code with short comments has 2 of 100, other languages one of some hundreds

Place = tuple[str, int, int]


class Analyzer:
    """Makes terms of texts, the same for documents and queries.

    Args:
        stem: whether words are cut to their English stems; `for_texts` decides it for a collection.

    Example:
        >>> Analyzer().terms("Parsing files with parse_json_file")
        ['pars', 'file', 'with', 'pars', 'json', 'file', 'parse_json_fil']
        >>> Analyzer().terms("用C++")
        ['用', 'c++']
    """

    def __init__(self, stem: bool = True) -> None:
        self.stem = stem
        self._stemmer = Stemmer.Stemmer("english", 0)  # what is remembered here needs no second memory there
        self._known: dict[str, tuple[str, ...]] = {}

    @classmethod
    def for_texts(cls, texts: Iterable[str]) -> Analyzer:
        """Return an analyzer that stems if these texts, the first of them, are English by the small words they use.

        Example:
            >>> Analyzer.for_texts(["Wir gehen heute in den Wald, und der Weg ist lang."]).stem
            False
        """
        words = [word for text in islice(texts, _SAMPLE) for word in re.findall(r"[^\W\d_]+", text[:5000].lower())]
        return cls(stem=sum(word in _TELLING for word in words) >= _ENGLISH * len(words))

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text in order, stop words among them."""
        known = self._known
        found: list[str] = []
        for token in _TOKEN.findall(text):
            found += known[token] if token in known else self._learned(token)
        return found

    def query(self, text: str) -> list[str]:
        """Return the terms to search by: without stop words, unless there is nothing else.

        Example:
            >>> Analyzer().query("how to open a file"), Analyzer().query("to be or not to be")
            (['open', 'file'], ['to', 'be', 'or', 'not', 'to', 'be'])
        """
        terms = self.terms(text)
        return [term for term in terms if term not in STOP_WORDS] or terms

    def spans(self, text: str) -> Iterator[Place]:
        """Yield each term of a text with where it begins and ends there, in characters."""
        for token in _TOKEN.finditer(text):
            yield from ((term, token.start() + a, token.start() + b) for term, a, b in self._places(token[0]))

    def _learned(self, token: str) -> tuple[str, ...]:
        terms = tuple(term for term, _, _ in self._places(token))
        if len(token) <= _LONG:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[token] = terms
        return terms

    def _places(self, token: str) -> Iterator[Place]:
        """Yield the terms of one token with their places in it."""
        if _IS_DENSE.match(token):
            for place, character in enumerate(token):
                yield character, place, place + 1
                if place + 1 < len(token):
                    yield token[place : place + 2], place, place + 2
        elif not token[-1].isalnum() and token[-1] in "+#":
            yield token.lower(), 0, len(token)
        elif "." in token or "," in token:
            yield _THOUSANDS.sub("", token)[:_LONGEST], 0, len(token)
        else:
            yield from self._of_word(token)

    def _of_word(self, token: str) -> Iterator[Place]:
        whole = token.strip("_")
        if not whole:
            return
        start = token.index(whole)
        if not (whole.islower() or whole.isupper() or whole.istitle()) or not whole.isalpha():
            parts = [part for part in _PART.finditer(whole[:_LONGEST]) if part.end() - part.start() > 1]
            if len(parts) > 1 or (parts and "_" in whole):
                yield from ((self._stemmed(part[0]), start + part.start(), start + part.end()) for part in parts)
        yield self._stemmed(whole[:_LONGEST]), start, start + len(whole)

    def _stemmed(self, word: str) -> str:
        word = word.lower()
        if not word.isascii():
            characters = unicodedata.normalize("NFKD", word)
            word = "".join(character for character in characters if not unicodedata.combining(character)) or word
        if not self.stem or word in STOP_WORDS:
            return word
        stem: str = self._stemmer.stemWord(word)
        return word if stem in STOP_WORDS else stem  # cans are no can
