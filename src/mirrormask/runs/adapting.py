"""Adapting: when `train` adapts its start instead of teaching it anew, and how far it goes from it in the end."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.seeding import derive
from mirrormask.core.spread import spread_evenly
from mirrormask.core.wording import counted
from mirrormask.data.pairs import Rows
from mirrormask.data.text.corpus_folder import Corpus
from mirrormask.evaluation.known_items import WANTED, KnownItems, agreement, standardized
from mirrormask.evaluation.selection import Judge, Selection, judge_by_labels
from mirrormask.methods.adaptation import GENTLE, STRONG
from mirrormask.models.encoder import is_sentence_encoder
from mirrormask.runs.recipe import DEFAULT_METHOD
from mirrormask.search.token_weights import SAMPLE, averages, token_weights, weighing
from mirrormask.training.averaging import Between
from mirrormask.training.loop import Result

ADAPTATION = "adaptation"
"""The method of a start that is a sentence encoder already."""

POOL = 600
"""Texts that sentences are looked up among."""

FEWEST = 10
"""Fewest sentences that tell anything apart."""

ADAPTED = "The start is a sentence encoder already, so it is adapted to the text and not taught anew."
TOO_LITTLE = "Too little text to tell whether adapting helps: your start is kept as it is. Give more, or a --dev."

_STRICTER = 3  # times the weight of the words in training is their weight in judging: the rest is asked, not repeated
_STEEP = 2.5  # how fast the words gain weight where the start falls behind them
_LITTLE = 0.02  # added to what both find, so that next to nothing is as good as nothing
_SURE = 1.0  # standard errors by which something must be better than the start


def method_for(model: str, *, method: str = "", pairing: str = "", pooling: str = "") -> str:
    """Return the method of a run: the one asked for, or what suits the start.

    Args:
        model: the start.
        method: what the user asked for; empty where nothing.
        pairing: another pairing than the method's, which asks for teaching.
        pooling: another pooling than the model's own, which makes another encoder of it.
    """
    if method:
        return method
    return ADAPTATION if not pairing and not pooling and is_sentence_encoder(model) else DEFAULT_METHOD


def texts_aside(texts: int) -> int:
    """Return how many of so many texts are set aside to judge by: a fifth, of few texts a half; of too few none.

    Example:
        >>> [texts_aside(count) for count in (19, 30, 125, 5_000)]
        [0, 15, 25, 200]
    """
    return min(WANTED, max(texts // 5, min(2 * FEWEST, texts // 2))) if texts >= 2 * FEWEST else 0


def weight_beside(ratio: float) -> float:
    """Return the weight of the words beside a start that finds `ratio` times as much as they do.

    Example:
        >>> weight_beside(1.1), round(weight_beside(0.75), 2), weight_beside(0.5)
        (0.2, 0.41, 0.8)
    """
    return float(np.clip(GENTLE * max(ratio, 1e-3) ** -_STEEP, GENTLE, STRONG))


@dataclass(frozen=True)
class Candidate:
    """Weights that may be kept.

    Args:
        share: of the way from the start to the end of training; 0 is the start.
        score: mean over what the judge asked.
        error: standard error of the difference from the start.
    """

    share: float
    score: float
    error: float


class Adapting:
    """Looks at a start and a text before training, and chooses between start and end after it.

    Args:
        encoder: the start.
        corpus: the text.
        aside: rows of it that training does not see; none where there are too few, or a dev set is asked instead.
        dev: labels to judge by, as for `judge_by_labels`; empty for none.
        seed: which sentences are asked.
    """

    def __init__(self, encoder: Any, corpus: Corpus, aside: Rows, dev: str, seed: int) -> None:
        begun = time.monotonic()
        self.encoder, self.corpus, self.weighs = encoder, corpus, False
        asked = aside if len(aside) else spread_evenly(len(corpus), WANTED)
        others = np.setdiff1d(spread_evenly(len(corpus), POOL), asked)
        mine, rest = ([str(corpus[row]) for row in rows.tolist()] for rows in (asked, others))
        items = KnownItems.of(mine, rest, seed=derive(seed, "adapting"))
        self.ratio = 1.0
        self.judge: Judge | None = None
        if len(items.queries) >= FEWEST:
            start, words = items.cosines(encoder), items.words()
            found = [items.found(scores).mean() + _LITTLE for scores in (start, words)]
            self.ratio = float(found[0] / found[1])
            if len(aside):
                self.judge = _by_agreement(encoder, items, start, words, _STRICTER * self.weight)
        if dev:
            self.judge = judge_by_labels(encoder, dev, [*mine, *rest])
        self.seconds = time.monotonic() - begun

    @property
    def weight(self) -> float:
        """Return the weight of the words beside this start."""
        return weight_beside(self.ratio)

    def follow(self, encoder: Any, shares: Sequence[float]) -> Selection:
        """Take note of the start's weights, and return how it is decided what is kept.

        Args:
            encoder: before training.
            shares: how far to go from start to end.
        """
        self.between, self.shares = Between(encoder), tuple(shares)
        if self.judge is None:
            return Selection("nothing", TOO_LITTLE, None)
        return Selection(self.judge.name, f"{ADAPTED} {self.judge.explanation}", None)

    def choose(self, result: Result) -> Result:
        """Give the encoder the weights that the judge likes best, or its start where none is better beyond chance."""
        self.between.ended()
        before = self._scores(0.0)
        self.candidates = [Candidate(0.0, float(before.mean()), 0.0)]
        for share in self.shares:
            scores = self._scores(share)
            error = float((scores - before).std() / np.sqrt(len(scores)))
            self.candidates.append(Candidate(share, float(scores.mean()), error))
        start, best = self.candidates[0], max(self.candidates[1:], key=lambda each: each.score)
        self.kept = best if best.score - start.score > _SURE * best.error else start
        self.between.go(self.kept.share)
        if self.kept.share and averages(self.encoder):
            self._weigh()
        return replace(
            result,
            best_step=result.steps if self.kept.share else 0,
            best_score=self.kept.score,
            kept_start=not self.kept.share,
        )

    def _weigh(self) -> None:
        """Let rare tokens of the text count a little more in the vectors, unless the judge likes that less."""
        before = self._scores(self.kept.share)
        texts = [str(self.corpus[row]) for row in spread_evenly(len(self.corpus), SAMPLE).tolist()]
        weights = token_weights(self.encoder, texts)
        self.encoder.insert(1, weighing(weights).to(self.encoder.device))
        change = self._scores(self.kept.share) - before
        self.weighs = bool(change.mean() >= -_SURE * change.std() / np.sqrt(len(change)))
        if not self.weighs:
            del self.encoder[1]

    def _scores(self, share: float) -> NDArray[np.float64]:
        self.between.go(share)
        return self.judge.scores() if self.judge is not None else np.zeros(1)

    def record(self) -> dict[str, Any]:
        """Return what was found and kept as plain data, and why in a sentence."""
        return {
            "start_to_words": self.ratio,
            "weight": self.weight,
            "kept": self.kept.share,
            "tokens": "idf" if self.weighs else "equal",
            "reason": self._reason(),
            "candidates": [asdict(each) for each in self.candidates],
        }

    def _reason(self) -> str:
        if self.judge is None:
            return "Kept your start as it is: there was too little text to tell whether anything helps."
        start, best = self.candidates[0], max(self.candidates[1:], key=lambda each: each.score)
        scores = f"{self.judge.name} {best.score:.1f}, of the start {start.score:.1f}"
        if not self.kept.share:
            return f"Kept your start as it is: nothing was better beyond chance ({scores})."
        tokens = " Rare words of your text count a little more in its vectors." if self.weighs else ""
        return (
            f"Kept weights {self.kept.share:.0%} of the way from your start to the end of training: {scores}.{tokens}"
        )


def _by_agreement(encoder: Any, items: KnownItems, start: Any, words: Any, weight: float) -> Judge:
    teacher = standardized(start) + weight * standardized(words)
    explanation = (
        f"What is kept is decided without labels: {counted(len(items.queries), 'sentence')} of texts set aside should "
        "rank the texts as the start and the words do together."
    )
    name = "agreement with the start and the words together"
    return Judge(name, explanation, lambda: 100 * agreement(items.cosines(encoder), teacher))
