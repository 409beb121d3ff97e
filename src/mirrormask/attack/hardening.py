"""Adversarial training: found texts, with the labels of their originals, are learned too."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mirrormask.attack.attack_texts import Opened
from mirrormask.attack.labeled_texts import LabeledTexts
from mirrormask.attack.outcome import TURNED, Outcome, summarize
from mirrormask.attack.victim_training import Trained, normalized, train_victim
from mirrormask.attack.victims import Victim
from mirrormask.core.errors import DataError
from mirrormask.training.loop import Reporter


def harden(
    victim: Victim,
    training: LabeledTexts,
    measured: LabeledTexts,
    before: Sequence[Outcome],
    opened: Opened,
    attack: str,
    out: Path,
    *,
    kind: str,
    model: str | Path,
    share: float = 1.0,
    clean: LabeledTexts | None = None,
    seed: int = 42,
    reporter: Reporter | None = None,
) -> tuple[Trained, dict[str, Any], list[Outcome]]:
    """Attack a classifier on its training texts, train another on these and what was found, and measure both.

    Args:
        victim: the classifier.
        training: what it was trained on; texts that are measured on are left out.
        measured: texts of neither training nor found ones.
        before: what the attack did to these.
        opened: the models of the attack.
        attack: which one.
        out: where the new classifier goes.
        kind, model: of the new classifier, as it was made.
        share: of the training texts that are attacked.
        clean: texts for clean accuracy; by default those measured.
        seed: of training and of the texts chosen.
        reporter: is told how training goes.

    Returns:
        The new classifier, figures before and after, and what the attack does to it.
    """
    clean = clean or measured
    taken = {normalized(text) for text in (*measured.texts, *clean.texts)}
    kept = training.take([i for i, text in enumerate(training.texts) if normalized(text) not in taken])
    if not len(kept):
        raise DataError(f"All texts of {training.name} are measured on, so none are left to learn from. Give others.")
    some = kept.sample(max(1, round(share * len(kept))), seed)
    run = opened.attack(victim, attack)
    turned = [each for each in run(some.texts, [victim.label_of(y) for y in some.labels]) if each.result == TURNED]
    names = victim.labels or tuple(training.names)
    more = LabeledTexts("found", [each.found or "" for each in turned], [names[each.label] for each in turned])
    trained = train_victim(
        kept,
        out,
        kind=kind,
        model=model,
        apart_from=[*measured.texts, *clean.texts],
        more=more,
        seed=seed,
        reporter=reporter,
    )
    labels = [trained.victim.label_of(label) for label in measured.labels]
    after = opened.attack(trained.victim, attack)(measured.texts, labels)

    def figures(classifier: Victim, outcomes: Sequence[Outcome]) -> dict[str, float]:
        wanted = [classifier.label_of(label) for label in clean.labels]
        accuracy = 100 * float((classifier(clean.texts).argmax(axis=1) == np.array(wanted)).mean())
        told = summarize(outcomes)
        return {"accuracy": accuracy, "success": told.success, "under_attack": told.under_attack}

    told = {
        "attack": attack,
        "texts": len(kept),
        "added": len(more),
        "before": figures(victim, before),
        "after": figures(trained.victim, after),
    }
    return trained, told, list(after)
