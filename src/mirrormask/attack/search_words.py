"""The attack itself: words in the order of their importance, the best edit at each, many texts at a time.

Paper: Garg and Ramakrishnan 2020, "BAE: BERT-based Adversarial Examples for Text Classification", Algorithm 1;
Jin et al. 2020, "Is BERT Really Robust?", Algorithm 1, differs in its candidates and in its importance.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mirrormask.attack.attack_state import Candidate, State
from mirrormask.attack.edited_text import LEFT, REPLACE, RIGHT, CutText
from mirrormask.attack.meaning import Meaning
from mirrormask.attack.outcome import HELD, STOPPED, TURNED, WRONG, Outcome
from mirrormask.attack.proposals import Proposer, Slot
from mirrormask.attack.tagging import Tagger
from mirrormask.attack.victims import Victim
from mirrormask.core.errors import DataError, at_least, one_of
from mirrormask.search.stop_words import STOP_WORDS

Steps = tuple[tuple[str, ...], ...]

MODES: dict[str, Steps] = {
    "R": ((REPLACE,),),
    "I": ((LEFT, RIGHT),),
    "R/I": ((REPLACE, LEFT, RIGHT),),
    "R+I": ((REPLACE,), (LEFT, RIGHT)),
}
"""What is tried at a word, step by step: "BAE-R: replace token; BAE-I: insert to its left or right; BAE-R/I: either
replace or insert; BAE-R+I: first replace, then insert" (Section 3)."""

SAVING = ("time", "queries")
"""Whether candidates are compared in meaning only where the choice needs it, or all before the classifier is asked;
the same texts are found."""

_SURE = 1e-4  # by which another class must lead: the same text in other company may differ in the last digits
_FIRST_LOOK = 2  # candidates whose meaning is compared first where none turns the answer


@dataclass(frozen=True)
class Attack:
    """How texts are attacked.

    Args:
        victim: the classifier.
        proposer: where candidates come from.
        meaning: which edited texts mean the same.
        tagger: which words may replace another; None lets all.
        mode: R, I, R/I or R+I.
        textfooler: whether importance counts the gain of another class, as TextFooler's does.
        queries: texts that the classifier may be asked about for each text; 0 for any number.
        seconds: after which no more is tried; 0 for any time.
        saving: what is spared.
        texts_at_once: that are attacked together.
    """

    victim: Victim
    proposer: Proposer
    meaning: Meaning
    tagger: Tagger | None
    mode: str = "R"
    textfooler: bool = False
    queries: int = 0
    seconds: float = 0.0
    saving: str = "time"
    texts_at_once: int = 256

    def __post_init__(self) -> None:
        one_of("mode", self.mode, MODES, of="an attack")
        one_of("saving", self.saving, SAVING, of="an attack")
        at_least("queries", self.queries, 0, of="an attack")
        at_least("seconds", self.seconds, 0, of="an attack")
        at_least("texts_at_once", self.texts_at_once, 1, of="an attack")

    def __call__(
        self, texts: Sequence[str], labels: Sequence[int], *, progress: Callable[[int], None] | None = None
    ) -> list[Outcome]:
        """Return what became of each text.

        Args:
            texts: none of them empty.
            labels: the class of each.
            progress: called with the number of texts just done.

        Raises:
            DataError: a text has no words.
        """
        for number, text in enumerate(texts, 1):
            if not CutText.of(text).words:
                raise DataError(f"Text {number} has no words: {text[:40]!r}. Leave it out.")
        end = time.monotonic() + self.seconds if self.seconds else float("inf")
        found: list[Outcome] = []
        for start in range(0, len(texts), self.texts_at_once):
            part = slice(start, start + self.texts_at_once)
            found += self._together(texts[part], labels[part], end, progress or (lambda done: None))
        return found

    def _together(
        self, texts: Sequence[str], labels: Sequence[int], end: float, progress: Callable[[int], None]
    ) -> list[Outcome]:
        probabilities = self.victim(texts)
        states = [State(text, label, p) for text, label, p in zip(texts, labels, probabilities, strict=True)]
        for state in states:
            if state.first.argmax() != state.label:
                state.result = WRONG
        self._order([state for state in states if not state.result], end)
        open_before = len(states)
        while active := [state for state in states if not state.result]:
            late = time.monotonic() > end
            for state in active:
                if late or not state.plan:
                    state.result = STOPPED if late else HELD
            self._round([state for state in active if not state.result])
            progress(open_before - len(active))
            open_before = len(active)
        progress(open_before)
        return self._told(states)

    def _order(self, states: Sequence[State], end: float) -> None:
        """Plan each text: its words by importance, the loss of the label's probability where the word is left out."""
        for state in states:
            places = [place for place, word in enumerate(state.cut.words) if _open(word)]
            if self.queries:
                places = places[: max(0, self.queries - state.queries)]
            state.places = places
        asked = [state for state in states if state.places and len(state.cut.words) > 1]
        if time.monotonic() > end:
            return
        shorter = self.victim([state.cut.without(place) for state in asked for place in state.places])
        start = 0
        for state in states:
            if len(state.cut.words) == 1:  # nothing is left to ask about
                state.plan = self._plan(state.places)
                continue
            rows = shorter[start : start + len(state.places)]
            start += len(state.places)
            state.queries += len(rows)
            gains = importance(state.first, rows, state.label, textfooler=self.textfooler)
            state.plan = self._plan([state.places[rank] for rank in np.argsort(-gains, kind="stable")])

    def _plan(self, places: Sequence[int]) -> list[tuple[int, tuple[str, ...]]]:
        """Return the steps, the last first."""
        return [(place, kinds) for place in places for kinds in MODES[self.mode]][::-1]

    def _round(self, states: Sequence[State]) -> None:
        """Take the next step of each text: candidates, filter, answers, choice."""
        slots, owners = [], []
        for state in states:
            place, kinds = state.plan.pop()
            state.candidates = []
            for kind in kinds:
                slots.append(Slot(state.text, kind, place))
                owners.append(state)
        for slot, owner, words in zip(slots, owners, self.proposer(slots), strict=True):
            words = list(dict.fromkeys(words))
            if slot.kind == REPLACE and self.tagger is not None:
                fits = self.tagger.fitting(slot.text, slot.place, words)
                words = [word for word, fit in zip(words, fits, strict=True) if fit]
            owner.candidates += [Candidate(slot, word) for word in words]
        if self.saving == "queries":
            self._compare([each for state in states for each in state.candidates])
        for state in states:
            if self.saving == "queries":
                state.candidates = [each for each in state.candidates if self._passes(each)]
            if self.queries and len(state.candidates) >= self.queries - state.queries:
                state.candidates = state.candidates[: max(0, self.queries - state.queries)]
                state.spent = True
            state.queries += len(state.candidates)
        asked = [each for state in states for each in state.candidates]
        for each, answer in zip(asked, self.victim([each.text for each in asked]), strict=True):
            each.answer = answer
        self._choose(states)
        for state in states:
            if state.spent and not state.result:
                state.result = STOPPED

    def _choose(self, states: Sequence[State]) -> None:
        """Take, of those that turn the answer, the most similar; else the one with the largest drop, if any drops."""
        turning = {
            id(state): [each for each in state.candidates if _turned(each.answer, state.label)] for state in states
        }
        self._compare([each for found in turning.values() for each in found])
        waiting: list[tuple[State, list[Candidate]]] = []
        for state in states:
            good = [each for each in turning[id(state)] if self._passes(each)]
            if good:
                best = max(good, key=lambda each: each.similarity)
                state.take(best)
                state.result = TURNED
                continue
            rest = [each for each in state.candidates if not _turned(each.answer, state.label)]
            rest = [each for each in rest if each.answer[state.label] < state.now]
            waiting.append((state, sorted(rest, key=lambda each: float(each.answer[state.label]))))
        look = _FIRST_LOOK
        while waiting:
            strict = [rest for state, rest in waiting if not self.meaning.lenient(state.text)]
            self._compare([each for rest in strict for each in rest[:look]])
            left = []
            for state, rest in waiting:
                best_left = next((each for each in rest[:look] if self._passes(each)), None)
                if best_left is not None:
                    state.take(best_left)
                elif len(rest) > look:
                    left.append((state, rest[look:]))
            waiting, look = left, 2 * look

    def _compare(self, candidates: Sequence[Candidate]) -> None:
        """Find the similarity of candidates that have none yet: the least over their windows."""
        groups: dict[int, list[Candidate]] = {}
        for each in candidates:
            if np.isnan(each.similarity):
                groups.setdefault(id(each.slot), []).append(each)
        members = list(groups.values())
        windows = [self.meaning.windows(m[0].slot.text, m[0].slot.kind, m[0].slot.place) for m in members]
        flat = [window for found in windows for window in found]
        words = [[c.word for c in m] for m, found in zip(members, windows, strict=True) for _ in found]
        values = iter(self.meaning.similarities(flat, words))
        for m, found in zip(members, windows, strict=True):
            least = np.min([next(values) for _ in found], axis=0)
            for candidate, similarity in zip(m, least, strict=True):
                candidate.similarity = float(similarity)

    def _passes(self, candidate: Candidate) -> bool:
        return self.meaning.passes(candidate.similarity) or self.meaning.lenient(candidate.slot.text)

    def _told(self, states: Sequence[State]) -> list[Outcome]:
        turned = [state for state in states if state.result == TURNED]
        near = self.meaning.of_edits([state.text for state in turned])
        whole = self.meaning.of_pairs([(state.original, state.text.text) for state in turned])
        similarities = {id(state): both for state, both in zip(turned, zip(near, whole, strict=True), strict=True)}
        return [state.outcome(self.tagger, *similarities.get(id(state), (None, None))) for state in states]


def importance(
    before: NDArray[np.float64], without: NDArray[np.float64], label: int, *, textfooler: bool = False
) -> NDArray[np.float64]:
    """Return how much each word holds the answer: what the label loses when the word is left out.

    Args:
        before: probabilities of the text (classes,).
        without: probabilities without each word (words, classes).
        label: the class of the text.
        textfooler: add what another class gains, where the answer changes (Jin et al. 2020, equation 2).

    Example:
        >>> importance(np.array([0.8, 0.2]), np.array([[0.7, 0.3], [0.4, 0.6]]), 0).round(2).tolist()
        [0.1, 0.4]
    """
    loss: NDArray[np.float64] = before[label] - without[:, label]
    if not textfooler:
        return loss
    other = without.argmax(axis=1)
    gain = without[np.arange(len(without)), other] - before[other]
    return loss + np.where(other != label, gain, 0.0)


def _turned(answer: NDArray[np.float64], label: int) -> bool:
    """Say whether an answer is another class, by more than the last digits."""
    return bool(answer.max() - answer[label] > _SURE)


def _open(word: str) -> bool:
    """Say whether a word may be attacked: it has letters and is no stop-word."""
    return word.lower().replace("’", "'") not in CLOSED and any(sign.isalpha() for sign in word)


def _contractions() -> Iterator[str]:
    yield from ("n't", "ca", "wo", "it's", "i'm", "that's", "there's", "he's", "she's", "what's", "let's")
    for verb in ("do", "does", "did", "is", "are", "was", "were", "has", "have", "had", "wo", "would", "could", "ca"):
        yield f"{verb}n't"


CLOSED = STOP_WORDS | frozenset(_contractions())
"""Words that stay as they are."""
