"""One classifier, some texts, any of the attacks: the whole of it in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mirrormask.attack.attack_report import AttackReport, transfer_of
from mirrormask.attack.edited_text import CutText
from mirrormask.attack.fluency import perplexities
from mirrormask.attack.labeled_texts import LabeledTexts
from mirrormask.attack.meaning import CALIBRATED, PUBLISHED, READINGS, USE, Meaning, Reading, TextEncoder, open_encoder
from mirrormask.attack.neighbor_proposals import NeighborProposer
from mirrormask.attack.outcome import TURNED, Outcome
from mirrormask.attack.proposals import CANDIDATES, COUNTED, MaskedProposer, Proposer
from mirrormask.attack.search_words import CLOSED, MODES, SAVING, Attack
from mirrormask.attack.similarity_threshold import KNOWN, calibrate
from mirrormask.attack.tagging import Tagger
from mirrormask.attack.victims import Victim
from mirrormask.attack.word_vectors import counter_fitted, open_vectors, read_lexicon
from mirrormask.core.errors import DataError, MirrormaskError, above, at_least, between, one_of
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.models.names import DEFAULT_MODEL

TEXTFOOLER = "TextFooler"
ATTACKS = (*MODES, TEXTFOOLER)

_LATIN = 0.5  # share of letters that an English text has at least in Latin script
_FAMILIAR = 0.12  # share of stop-words that it has at least
_ENOUGH = 25  # words to judge by

Progress = Callable[[str, int, int], None]
"""Called with the attack, how many texts were just done, and how many there are."""


@dataclass(frozen=True)
class AttackPlan:
    """How a classifier is attacked.

    Args:
        attacks: R, I, R/I, R+I of BAE, and TextFooler.
        model: the masked LM that proposes words and measures perplexity.
        similarity: the encoder that compares meanings: `use`, or a sentence encoder.
        reading: of the threshold: `calibrated`, or one of the published ones.
        threshold: instead of the reading's own.
        tags: whether a replacement must keep the part of speech; English only.
        candidates: K.
        counted: whether K counts tokens or words.
        vectors: of words, for TextFooler: a file or a masked LM.
        lexicon: synonyms and antonyms that these are fitted to.
        queries: for each text at most; 0 for any number.
        seconds: for each attack at most; 0 for any time.
        saving: time or queries.
        perplexity: whether to measure it.
        seed: of the calibration.
    """

    attacks: tuple[str, ...] = ("R",)
    model: str | Path = DEFAULT_MODEL
    similarity: str | Path = USE
    reading: str = CALIBRATED
    threshold: float | None = None
    tags: bool = True
    candidates: int = CANDIDATES
    counted: str = "tokens"
    vectors: str | Path = DEFAULT_MODEL
    lexicon: str | Path | None = None
    queries: int = 0
    seconds: float = 0.0
    saving: str = "time"
    perplexity: bool = True
    seed: int = 42

    def __post_init__(self) -> None:
        for name in self.attacks:
            one_of("attack", name, ATTACKS, of="a plan")
        one_of("reading", self.reading, READINGS, of="similarity")
        if not self.attacks:
            raise MirrormaskError(f"No attack is named. Known are {', '.join(ATTACKS)}.")
        one_of("counted", self.counted, COUNTED, of="an attack")
        one_of("saving", self.saving, SAVING, of="an attack")
        at_least("candidates", self.candidates, 1, of="an attack")
        at_least("queries", self.queries, 0, of="an attack")
        at_least("seconds", self.seconds, 0, of="an attack")
        if self.threshold is not None:
            above("threshold", self.threshold, -1, of="similarity")
            between("threshold", self.threshold, -1, 1, of="similarity")


class Opened:
    """The models of a plan, opened once for any number of victims.

    Args:
        plan: which ones.
        texts: to tell the threshold from, where the encoder has none that is known.
    """

    def __init__(self, plan: AttackPlan, texts: Sequence[str]) -> None:
        self.plan = plan
        if plan.tags:
            check_english(texts)
        self.tagger = Tagger() if plan.tags else None
        self.encoder: TextEncoder = open_encoder(plan.similarity)
        self.lm = MaskedLM.load(plan.model)
        self.meaning = Meaning(self.encoder, self._reading(texts))
        self._proposers: dict[bool, Proposer] = {}

    def _reading(self, texts: Sequence[str]) -> Reading:
        plan = self.plan
        if plan.reading != CALIBRATED:
            found = PUBLISHED[plan.reading]
            return found if plan.threshold is None else replace(found, threshold=plan.threshold)
        if plan.threshold is not None:
            return Reading(CALIBRATED, plan.threshold)
        known = KNOWN.get(str(plan.similarity))
        if known is None:
            known = calibrate(self.encoder, texts, self.tagger, seed=plan.seed).threshold
        return Reading(CALIBRATED, known)

    def proposer(self, *, neighbors: bool) -> Proposer:
        """Return where candidates come from: the masked LM, or the neighbors of a word."""
        plan = self.plan
        if neighbors not in self._proposers:
            if neighbors:
                vectors = open_vectors(plan.vectors)
                if plan.lexicon is not None:
                    vectors = counter_fitted(vectors, *read_lexicon(plan.lexicon))
                self._proposers[True] = NeighborProposer(vectors, candidates=plan.candidates)
            else:
                self._proposers[False] = MaskedProposer(self.lm, candidates=plan.candidates, counted=plan.counted)
        return self._proposers[neighbors]

    def attack(self, victim: Victim, name: str) -> Attack:
        """Return one of the attacks on a classifier."""
        fooler = name == TEXTFOOLER
        return Attack(
            victim,
            self.proposer(neighbors=fooler),
            self.meaning,
            self.tagger,
            mode="R" if fooler else name,
            textfooler=fooler,
            queries=self.plan.queries,
            seconds=self.plan.seconds,
            saving=self.plan.saving,
        )


def attack_texts(
    victim: Victim,
    texts: LabeledTexts,
    plan: AttackPlan | None = None,
    *,
    transfer: Sequence[Victim] = (),
    opened: Opened | None = None,
    progress: Progress | None = None,
) -> AttackReport:
    """Attack a classifier and return what became of every text.

    Args:
        victim: the classifier.
        texts: with labels as the classifier has them.
        plan: how.
        transfer: other classifiers to try the found texts on.
        opened: the models of the plan, where they are open already.
        progress: called as texts are done.

    Raises:
        MirrormaskError: a label is none of the classifier's, a text has no words, or they are not English.

    Example:
        >>> report = attack_texts(open_victim("my-victim"), read_labeled("my.csv"))  # doctest: +SKIP
        >>> report.summaries["R"].success  # doctest: +SKIP
        71.4
    """
    plan = plan or AttackPlan()
    labels = checked_labels(victim, texts)
    opened = opened or Opened(plan, texts.texts)
    outcomes: dict[str, list[Outcome]] = {}
    for name in plan.attacks:
        tick = None if progress is None else lambda done, name=name: progress(name, done, len(texts))
        outcomes[name] = opened.attack(victim, name)(texts.texts, labels, progress=tick)
        if plan.perplexity:
            outcomes[name] = with_perplexity(opened.lm, outcomes[name])
    settings: dict[str, Any] = {
        **{key: str(value) if isinstance(value, Path) else value for key, value in vars(plan).items()},
        "attacks": list(plan.attacks),
        "threshold": opened.meaning.reading.threshold,
        "data": texts.name,
        "texts": len(texts),
    }
    return AttackReport(victim.name, victim.labels, settings, outcomes, transfer_of(outcomes, transfer))


def checked_labels(victim: Victim, texts: LabeledTexts) -> list[int]:
    """Return the classes of the texts by number, once both are known to be fit for an attack.

    Raises:
        MirrormaskError: a label is none of the classifier's, or a text has no words.
    """
    for number, text in enumerate(texts.texts, 1):
        if not CutText.of(text).words:
            raise DataError(f"{texts.name}, text {number}, has no words: {text[:40]!r}. Leave it out.")
    return [victim.label_of(label) for label in texts.labels]


def with_perplexity(lm: MaskedLM, outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return the outcomes with the perplexity of found texts and of their originals."""
    turned = [place for place, each in enumerate(outcomes) if each.result == TURNED]
    values = perplexities(
        lm, [text for place in turned for text in (outcomes[place].text, outcomes[place].found or "")]
    )
    found = list(outcomes)
    for rank, place in enumerate(turned):
        found[place] = replace(found[place], perplexity_before=values[2 * rank], perplexity=values[2 * rank + 1])
    return found


def check_english(texts: Sequence[str]) -> None:
    """Refuse texts that the English tagger cannot read: another script, or hardly any of the usual small words.

    Raises:
        DataError: they are not English.
    """
    words = [word.lower() for text in texts[:500] for word in CutText.of(text).words]
    letters = [sign for word in words for sign in word if sign.isalpha()]
    latin = float(np.mean([sign < "\u0250" for sign in letters])) if letters else 1.0
    familiar = float(np.mean([word in CLOSED for word in words])) if len(words) >= _ENOUGH else 1.0
    if latin < _LATIN or familiar < _FAMILIAR:
        raise DataError(
            "The texts do not look English, and parts of speech are told for English alone. Attack them without with "
            "--no-tags, and name a masked LM of their language with --model."
        )
