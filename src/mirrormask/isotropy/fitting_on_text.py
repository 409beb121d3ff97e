"""A transform fitted on text: an encoder reads it, the transform learns from the vectors and is kept with the encoder.

Whether a transform helps is decided by the text that it is fitted on, so what that text is too little for, or too far
from, is said.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mirrormask.core.errors import DataError, MirrormaskError, MirrormaskWarning
from mirrormask.core.overwriting import spare_inputs
from mirrormask.core.registry import configuration
from mirrormask.core.similarity import unit_rows
from mirrormask.core.storage import check_writable, recovered
from mirrormask.models.bulk import encode_blocks, encode_texts
from mirrormask.models.encoder import build_encoder, facts_of, save_encoder
from mirrormask.models.transform import Transform, keep

MOST = 100_000
"""Texts that a transform is fitted on where nothing else is said."""

ENOUGH = 10
"""Vectors per dimension below which a covariance is in good part chance: held-out variance is a tenth too large."""

SEEN, FAR = 1000, 0.03
"""Texts by which two kinds of text are compared, and the mean cosine of different texts that says they are apart.

It is 0.00 among sentences of Wikipedia after any transform fitted on others, and 0.05 to 0.23 among those of STS tasks.
"""


@dataclass(frozen=True)
class Fitted:
    """What a transform was fitted on, and what that did.

    Args:
        texts: how many.
        before: mean cosine of different texts as the encoder gave them.
        after: the same after the transform.
        there: the same, of the texts that will be encoded, where some were given.
        dimension: of the vectors now.
    """

    texts: int
    before: float
    after: float
    there: float | None
    dimension: int


def transform_model(
    model: str,
    texts: Iterable[str],
    out: Path,
    transform: Transform,
    *,
    pooling: str | None = None,
    meant_for: Iterable[str] | None = None,
    limit: int = MOST,
    progress: Callable[[int], None] | None = None,
) -> Fitted:
    """Fit a transform on texts as a model sees them, and save the model with it.

    Args:
        model: a model by name or folder.
        texts: what to fit it on.
        out: folder of the new model; one that this made before is replaced once the new one is complete.
        transform: not fitted yet.
        pooling: a pooling by name; by default the model's own, or `mean`.
        meant_for: some of the texts that will be encoded, to see whether the others are like them.
        limit: read so many different texts at most.
        progress: called with the number of texts just encoded.
    """
    spare_inputs([model], replaced=[out])
    check_writable(out)
    if any(recovered(out).iterdir()) and "fitted_on" not in facts_of(out):
        raise MirrormaskError(f"{out} is not empty, and holds no model made by this. Give another --out, or remove it.")
    encoder = build_encoder(model, pooling=pooling)
    fitted = fit_on_texts(encoder, texts, transform, meant_for=meant_for, limit=limit, progress=progress)
    facts = {"base_model": model, "fitted_on": f"{fitted.texts:,} texts", **_parameters(transform)}
    save_encoder(encoder, out, facts=facts)
    return fitted


def fit_on_texts(
    encoder: Any,
    texts: Iterable[str],
    transform: Transform,
    *,
    meant_for: Iterable[str] | None = None,
    limit: int = MOST,
    progress: Callable[[int], None] | None = None,
) -> Fitted:
    """Fit a transform on the vectors of texts, a block at a time, and keep it with the encoder.

    Args:
        encoder: a SentenceTransformer.
        texts: what to fit it on; repeated and blank ones are read once and not at all.
        transform: not fitted yet.
        meant_for: some of the texts that will be encoded.
        limit: read so many different texts at most.
        progress: called with the number of texts just encoded.
    """
    sample: list[NDArray[np.float32]] = []
    count = 0

    def batches() -> Iterator[torch.Tensor]:
        nonlocal count
        chosen = itertools.islice(different(texts), limit)
        for block in encode_blocks(encoder, chosen, precision="fp32", progress=progress):
            if not sample:
                sample.append(block[:: max(1, len(block) // SEEN)][:SEEN])
            count += len(block)
            yield torch.from_numpy(block)

    width = int(encoder.get_embedding_dimension())
    transform.fit(batches())
    keep(encoder, transform)
    if count < ENOUGH * width:
        _warn(
            f"{count:,} texts are few for vectors of {width:,} dimensions: what {transform.name} makes of the weaker "
            f"directions is in part chance. From {ENOUGH * width:,} on it settles."
        )
    after = mean_cosine(transform.transform(torch.from_numpy(sample[0])).numpy())
    others = [] if meant_for is None else list(itertools.islice(different(meant_for), SEEN))
    if meant_for is not None and not others:
        raise DataError("The texts that will be encoded are none, or blank. Name a file with some, or leave out --for.")
    there = mean_cosine(encode_texts(encoder, others, precision="fp32")) if len(others) > 1 else None
    if there is not None and there > after + FAR:
        _warn(
            f"The texts that will be encoded are unlike those that {transform.name} was fitted on: after it they still "
            f"point the same way (mean cosine {there:.2f}; {after:.2f} where it was fitted). Fit it on texts like them."
        )
    return Fitted(count, mean_cosine(sample[0]), after, there, int(encoder.get_embedding_dimension()))


def mean_cosine(vectors: NDArray[np.floating]) -> float:
    """Return the mean cosine of two different vectors; near 0 where a space has no direction that all share.

    Example:
        >>> mean_cosine(np.eye(4))
        0.0
    """
    unit = unit_rows(vectors)
    count = len(unit)
    total = float(np.square(unit.sum(axis=0, dtype=np.float64)).sum())
    return (total - count) / (count * (count - 1)) if count > 1 else 0.0


def different(texts: Iterable[str]) -> Iterator[str]:
    """Yield each text that is not blank once."""
    seen: set[int] = set()
    for text in texts:
        if text.strip() and (key := hash(text)) not in seen:
            seen.add(key)
            yield text


def _parameters(transform: Transform) -> dict[str, Any]:
    return {f"transform_{key}": value for key, value in configuration(transform).items() if key != "type"}


def _warn(text: str) -> None:
    warnings.warn(text, MirrormaskWarning, stacklevel=3)
