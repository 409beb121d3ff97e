"""A classifier on texts with labels: its scores, and what to do with labels that it has not learned."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from mirrormask.core.errors import DataError
from mirrormask.data.tasks.classified import Classified
from mirrormask.heads.calibration import probabilities_of
from mirrormask.heads.class_scores import scores_of
from mirrormask.heads.classifier import Classifier
from mirrormask.heads.confusion_figure import confusion_figure, save_figure


def judge(
    classifier: Classifier,
    data: Classified,
    *,
    skip_unseen: bool = False,
    figure: Path | None = None,
    progress: Callable[[int], None] | None = None,
) -> dict[str, Any]:
    """Return the scores of a classifier on labelled texts.

    Args:
        classifier: what is judged.
        data: texts with labels.
        skip_unseen: leave out rows whose label it has not learned, instead of refusing them.
        figure: where the confusion matrix is drawn.
        progress: called with the number of texts just done.

    Raises:
        DataError: a label was not learned, no row is left, or texts have several labels where it gives one.
    """
    if data.several and not classifier.several:
        if any(len(each) != 1 for each in data.labels):
            raise DataError(
                f"Texts of {data.source} have several labels or none, and the classifier gives one. Leave out "
                "--several and those rows, or train with --several."
            )
        data = Classified(data.source, data.texts, data.labels)
    elif classifier.several:
        data = Classified(data.source, data.texts, data.labels, several=True)
    rows = len(data)
    if skip_unseen:
        data = data.of_classes(classifier.labels)
        if not len(data):
            raise DataError(f"No row of {data.source} has a label that the classifier has learned.")
    labels = data.numbers(classifier.labels)
    logits = classifier.logits(data.texts, progress=progress)
    found = classifier.calibrated(logits)
    raw = probabilities_of(logits, several=classifier.several)
    scores = scores_of(labels, classifier.chosen(found), found, classifier.labels, raw)
    scores["skipped"] = rows - len(data)
    if figure is not None and "confusion" in scores:
        import numpy as np

        title = f"{data.source}: {scores['accuracy_percent']:.1f} % right, share of each row in percent"
        save_figure(confusion_figure(np.array(scores["confusion"]), classifier.labels, title), figure)
    return scores
