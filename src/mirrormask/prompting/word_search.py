"""Help with the words: which tokens at the mask tell the labels of a few texts apart.

Paper: Schick, Schmid and Schütze 2020, "Automatically Identifying Words That Can Serve as Labels for Few-Shot Text
    Classification", Section 4 (likelihood ratio)

    score(w, y) = mean over texts of y of log p(w | x)/(1 - p(w | x)) - the same mean over the other texts

Candidates are whole words that are likely at the mask over unlabelled text, as in the paper: a rare token may tell
anything of a few texts by chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mirrormask.core.errors import DataError, at_least
from mirrormask.prompting.cloze import Cloze, Fields

CANDIDATES = 1000
"""Tokens that are likely over all texts, of which label words are taken (the paper's)."""

_ROWS = 512


@torch.inference_mode()
def find_words(
    patterns: Sequence[Cloze],
    fields: Fields,
    labels: Sequence[str],
    unlabelled: Fields = (),
    *,
    words: int = 5,
    candidates: int = CANDIDATES,
) -> dict[str, list[tuple[str, float]]]:
    """Return words for every label with their scores, the best first.

    Args:
        patterns: of one masked LM, with one mask; the mean over them counts.
        fields: the few labelled texts.
        labels: of each of them.
        unlabelled: more texts, by which candidates are chosen.
        words: how many for each label.
        candidates: how many tokens to choose from.
    """
    at_least("words", words, 1, of="a search for words")
    at_least("candidates", candidates, words, of="a search for words")
    known = sorted(set(labels))
    if len(known) < 2:
        raise DataError("To find words, texts of at least two labels are needed.")
    tokenizer = patterns[0].lm.tokenizer
    allowed = np.array(sorted(whole_words(tokenizer)), dtype=np.int64)
    odds: NDArray[np.float64] = np.zeros((len(fields), len(allowed)))
    likely = np.zeros(len(allowed))
    for cloze in patterns:
        own = _probabilities(cloze, fields, allowed)
        more = [_probabilities(cloze, unlabelled, allowed).mean(0)] if len(unlabelled) else []
        likely += np.mean([own.mean(0), *more], axis=0)
        odds += np.log(np.clip(own, 1e-12, 1 - 1e-7)) - np.log1p(-np.clip(own, 1e-12, 1 - 1e-7))
    odds /= len(patterns)
    chosen = np.argsort(-likely, kind="stable")[:candidates]
    names = tokenizer.convert_ids_to_tokens(allowed[chosen].tolist())
    classes = np.array(labels)
    ratio = np.stack([odds[classes == y][:, chosen].mean(0) - odds[classes != y][:, chosen].mean(0) for y in known])
    found: dict[str, list[tuple[str, float]]] = {}
    for number, label in enumerate(known):
        order = np.argsort(-ratio[number], kind="stable").tolist()
        best = [i for i in order if ratio[:, i].argmax() == number][:words]
        found[label] = [(names[i].lstrip("Ġ▁"), float(ratio[number, i])) for i in best]
    return found


def whole_words(tokenizer: Any) -> list[int]:
    """Return the ids of tokens that are a word by themselves, of letters only."""
    special = set(tokenizer.all_special_ids)
    marked = any(token.startswith(("Ġ", "▁")) for token in tokenizer.get_vocab())
    found = []
    for token, number in tokenizer.get_vocab().items():
        if number in special or token.startswith("##") or (marked and not token.startswith(("Ġ", "▁"))):
            continue
        word = token.lstrip("Ġ▁")
        if word.isalpha() and (len(word) > 2 or not word.isascii()):
            found.append(number)
    return found


def _probabilities(cloze: Cloze, fields: Fields, allowed: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the probability of the allowed tokens at the mask (n, allowed)."""
    found = []
    for start in range(0, len(fields), _ROWS):
        rows = cloze.pattern.rows(fields[start : start + _ROWS], 1)
        found.append(cloze.token_scores(rows)[:, allowed].exp().double().cpu().numpy())
    return np.concatenate(found)
