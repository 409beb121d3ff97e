"""The threshold of similarity for any encoder, told from texts: how near is a text whose word was swapped at random?

A threshold of one encoder says nothing of another. What a random word of the same part of speech leaves of the meaning
is known without labels, so that is where the scale begins: a candidate passes where it leaves more than most of
these do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mirrormask.attack.edited_text import REPLACE, CutText, EditedText
from mirrormask.attack.meaning import CALIBRATED, WINDOW, Meaning, Reading, TextEncoder
from mirrormask.attack.tagging import Tagger
from mirrormask.core.errors import DataError
from mirrormask.core.seeding import generator
from mirrormask.search.stop_words import STOP_WORDS

SHARE = 2 / 3
"""The share of random swaps that the threshold keeps out: about where as many synonyms stay out as random pass."""

KNOWN = {"use": 0.936}
"""Thresholds found by `benchmarks/attack_threshold.py` on texts that are never attacked, rounded."""

_SWAPS = 500


@dataclass(frozen=True)
class Calibration:
    """A threshold, and what it was told from.

    Args:
        threshold: the least cosine.
        random: similarities of windows with a random word of the same part of speech put in, ascending.
    """

    threshold: float
    random: NDArray[np.float64]


def calibrate(encoder: TextEncoder, texts: Sequence[str], tagger: Tagger | None, *, seed: int = 42) -> Calibration:
    """Return the threshold that keeps out two of three random swaps.

    Args:
        encoder: of texts.
        texts: whose words are swapped, and where the other words come from.
        tagger: that tells which words may stand for each other; None lets all.
        seed: of the swaps.

    Raises:
        DataError: the texts have too few words.
    """
    rng = generator(seed, "calibration")
    cuts = [CutText.of(text) for text in texts]
    open_words = sorted(
        {word for cut in cuts for word in cut.words if word.isalpha() and word.lower() not in STOP_WORDS}
    )
    sites = [(cut, place) for cut in cuts for place, word in enumerate(cut.words) if word.lower() not in STOP_WORDS]
    if len(open_words) < 10:
        raise DataError(f"{len(open_words)} words are too few to tell a threshold from. Give it with --threshold.")
    meaning = Meaning(encoder, Reading(CALIBRATED, 0.0, window=WINDOW))
    windows, words = [], []
    for number in rng.choice(len(sites), size=min(_SWAPS, len(sites)), replace=False):
        cut, place = sites[number]
        text = EditedText(cut)
        drawn = [open_words[each] for each in rng.integers(0, len(open_words), 20)]
        fits = [True] * len(drawn) if tagger is None else tagger.fitting(text, place, drawn)
        other = next(
            (w for w, fit in zip(drawn, fits, strict=True) if fit and w.lower() != cut.words[place].lower()), None
        )
        if other is not None:
            windows += meaning.windows(text, REPLACE, place)
            words.append([other])
    if len(words) < 10:
        raise DataError("The texts have too few words to tell a threshold from. Give it with --threshold.")
    found = np.sort(np.concatenate(meaning.similarities(windows, words)))
    return Calibration(float(np.quantile(found, SHARE)), found)
