"""Which words can stand for another one, by their parts of speech."""

from __future__ import annotations

from collections.abc import Sequence

from mirrormask.attack.edited_text import EditedText
from mirrormask.data.text.word_tags import WordTagger

REACH = 4
"""Words to each side that decide a tag, as in TextAttack's constraint."""


class Tagger(WordTagger):
    """HanTa's English tagger, asked about replacements."""

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
