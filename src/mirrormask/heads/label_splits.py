"""Splits and weights that know the classes: few labels are the usual case, and a rare class must not get lost."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import MirrormaskError, between, one_of
from mirrormask.core.seeding import generator

FEWEST_ASIDE = 16
"""Texts set aside that tell anything about a classifier."""

WEIGHTS = ("none", "balanced")

Numbers = NDArray[np.int64]


def stratified(labels: Numbers, share: float, seed: int) -> NDArray[np.bool_]:
    """Return which rows are set aside (n,): the same share of every class, and never the only row of one.

    Args:
        labels: class of each row (n,); or (n, classes) of 0 and 1: a row then counts for the rarest class it has.
        share: of each class, rounded to whole rows.
        seed: which ones.

    Example:
        >>> stratified(np.array([0] * 8 + [1] * 4 + [2]), 0.25, seed=1).reshape(1, -1).sum()
        np.int64(3)
    """
    between("held_out", share, 0, 1, of="classification")
    groups = labels if labels.ndim == 1 else _rarest(labels)
    aside = np.zeros(len(labels), dtype=np.bool_)
    random = generator(seed, "held-out labels")
    for group in np.unique(groups):
        rows = random.permutation(np.flatnonzero(groups == group))
        aside[rows[: min(round(share * len(rows)), len(rows) - 1)]] = True
    return aside


def class_weights(labels: Numbers, classes: int, kind: str) -> NDArray[np.float32] | None:
    """Return a weight for each class (classes,), their mean over the rows 1; None where all count the same.

    Args:
        labels: class of each row (n,); or (n, classes) of 0 and 1, where the weight is that of a class's presence.
        classes: how many there are.
        kind: `none`, or `balanced`: every class counts the same however many rows it has.
    """
    one_of("class_weights", kind, WEIGHTS, of="classification")
    if kind == "none":
        return None
    if labels.ndim == 2:
        counts = labels.sum(axis=0)
        return np.clip((len(labels) - counts) / np.maximum(counts, 1), 1.0, 100.0).astype(np.float32)
    counts = np.bincount(labels, minlength=classes)
    weights: NDArray[np.float32] = (len(labels) / (classes * np.maximum(counts, 1))).astype(np.float32)
    return weights


def few_each(labels: Numbers, count: int, seed: int) -> Numbers:
    """Return the rows of a sample with `count` of every class, in random order.

    Raises:
        MirrormaskError: a class has fewer.
    """
    random = generator(seed, "few labels")
    found = []
    for group in np.unique(labels):
        rows = np.flatnonzero(labels == group)
        if len(rows) < count:
            raise MirrormaskError(f"A sample of {count} a class needs as many of each; class {group} has {len(rows)}.")
        found.append(random.choice(rows, count, replace=False))
    return random.permutation(np.concatenate(found))


def _rarest(labels: Numbers) -> Numbers:
    """Return the rarest class of each row (n,), -1 where it has none."""
    counts = labels.sum(axis=0)
    rank = np.where(labels > 0, counts[None, :], np.iinfo(np.int64).max)
    return np.where(labels.any(axis=1), rank.argmin(axis=1), -1)
