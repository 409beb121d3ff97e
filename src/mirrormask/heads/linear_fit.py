"""A linear head fitted on vectors that stay as they are: logistic regression, put into the classifier's own head.

Paper: Tunstall et al. 2022, "Efficient Few-Shot Learning Without Prompts" (SetFit): contrast first, then a logistic
    head on the vectors
"""

from __future__ import annotations

import warnings

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from mirrormask.core.similarity import unit_rows
from mirrormask.heads.classifier import Classifier

STRENGTH = 1.0
"""One over the weight of the penalty (scikit-learn's C), on vectors scaled to a mean square length of 1."""


def fit_linear(
    classifier: Classifier, vectors: NDArray[np.floating], labels: NDArray[np.int64], *, balanced: bool = False
) -> None:
    """Give the classifier the linear head that logistic regression finds.

    Args:
        classifier: with a `linear` head; it may see vectors of length 1.
        vectors: of the encoder (n, d).
        labels: classes (n,), or (n, classes) of 0 and 1.
        balanced: every class counts the same however many rows it has.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    rows = unit_rows(vectors) if classifier.unit else np.asarray(vectors, dtype=np.float64)
    scale = np.sqrt((rows**2).sum(axis=1).mean()) or 1.0
    classes = len(classifier.labels)
    weight = np.zeros((classes, rows.shape[1]))
    bias = np.full(classes, -1e4 if classifier.several else 0.0)
    targets = labels.T if labels.ndim == 2 else [labels]
    for place, target in enumerate(targets):
        there = np.unique(target)
        if len(there) == 1:  # a class that all rows have, or none
            bias[place] = 1e4 if there[0] else -1e4
            continue
        model = LogisticRegression(C=STRENGTH, max_iter=1000, class_weight="balanced" if balanced else None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(rows / scale, target)
        found, offset = model.coef_ / scale, model.intercept_
        if labels.ndim == 2:
            weight[place], bias[place] = found[0], offset[0]
        elif len(there) == 2:  # one row of weights for two classes: half for one, half against the other
            weight[there], bias[there] = np.stack([-found[0], found[0]]) / 2, np.array([-offset[0], offset[0]]) / 2
            bias[np.setdiff1d(np.arange(classes), there)] = -1e4
        else:
            weight[there], bias[there] = found, offset
            bias[np.setdiff1d(np.arange(classes), there)] = -1e4
    _put(classifier, weight, bias)


def _put(classifier: Classifier, weight: NDArray[np.float64], bias: NDArray[np.float64]) -> None:
    linear = [module for module in classifier.head.modules() if isinstance(module, nn.Linear)][-1]
    with torch.no_grad():
        linear.weight.copy_(torch.from_numpy(weight))
        linear.bias.copy_(torch.from_numpy(bias))
