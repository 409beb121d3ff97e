"""Is an export what it was made of? Cosines of its vectors with the original's, and what that costs in STS points.

The texts are those of STS-B dev where the data is on the disk, else what the caller has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from mirrormask.core.errors import ModelError
from mirrormask.core.seeding import generator
from mirrormask.core.similarity import paired_cosine
from mirrormask.data.tasks.scored_pairs import ScoredPairs
from mirrormask.data.tasks.sts_tasks import STS_TASKS, load_sts
from mirrormask.data.text.sources import find_split

Encode = Callable[[list[str]], NDArray[np.float32]]

LIMITS = {"onnx": (0.9999, 0.1), "openvino": (0.999, 0.3), "onnx-int8": (0.98, 1.0), "static": (None, 10.0)}
"""For every kind of export the lowest cosine of a text with its original, and the most STS points that it may lose."""

_TASK = "stsb-dev"
_TEXTS, _PAIRS = 200, 300


@dataclass(frozen=True)
class Check:
    """What was found.

    Args:
        texts: how many were compared.
        lowest_cosine, mean_cosine: of the vectors of a text; None where the two are of different spaces.
        agreement: Spearman correlation of the cosines of pairs, original and export.
        sts: points of the original and of the export on STS-B dev, where the data is there.
    """

    texts: int
    lowest_cosine: float | None
    mean_cosine: float | None
    agreement: float
    sts: tuple[float, float] | None

    @property
    def loss(self) -> float | None:
        """Return the STS points that are lost."""
        return None if self.sts is None else self.sts[0] - self.sts[1]

    def to_dict(self) -> dict[str, Any]:
        """Return the figures, for a record."""
        return {**asdict(self), "sts_loss": self.loss}


def compare(
    original: Encode, export: Encode, *, kind: str, texts: Sequence[str], max_loss: float | None = None
) -> Check:
    """Compare an export with what it was made of, or refuse it.

    Args:
        original, export: from texts to vectors.
        kind: of export, one of `LIMITS`.
        texts: to compare them on where STS-B is not there; text i belongs to none of the others.
        max_loss: STS points that may be lost; by default what `LIMITS` says.

    Raises:
        ModelError: it differs by more than it may.
    """
    pairs = _sts_pairs()
    half = len(texts) // 2
    one, other = (texts[:half], texts[half : 2 * half]) if pairs is None else (pairs.sentence1, pairs.sentence2)
    both = [*one, *other]
    unique = list(dict.fromkeys(both))
    place = {text: row for row, text in enumerate(unique)}
    rows = np.array([place[text] for text in both])
    left, right = rows[: len(one)], rows[len(one) :]
    told, found = original(unique), export(unique)
    mine, theirs = paired_cosine(told[left], told[right]), paired_cosine(found[left], found[right])
    same = paired_cosine(told, found) if kind != "static" else None
    lowest, most = LIMITS[kind]
    check = Check(
        texts=len(unique),
        lowest_cosine=None if same is None else round(float(same.min()), 6),
        mean_cosine=None if same is None else round(float(same.mean()), 6),
        agreement=round(float(spearmanr(mine, theirs).statistic), 4),
        sts=None if pairs is None else (_points(mine, pairs), _points(theirs, pairs)),
    )
    if not np.isfinite(found).all():
        raise ModelError(f"The {kind} export gives vectors with NaN or infinity and was not kept. Take another --to.")
    if lowest is not None and check.lowest_cosine is not None and check.lowest_cosine < lowest:
        raise ModelError(
            f"The {kind} export was not kept: a text's vector has cosine {check.lowest_cosine:.4f} with the "
            f"original's, and {lowest:g} is the least allowed. Take another --to."
        )
    allowed = most if max_loss is None else max_loss
    if check.loss is not None and check.loss > allowed:
        raise ModelError(
            f"The {kind} export was not kept: it loses {check.loss:.2f} points on STS-B dev, and {allowed:g} are "
            "allowed. Take another --to, or allow more with --max-loss."
        )
    return check


def made_up(words: Sequence[str]) -> list[str]:
    """Return texts of 1 to 60 words of a tokenizer, for an encoder of any language."""
    rng = generator(0, "words of a tokenizer")
    plain = sorted(word for word in words if word.isalpha()) or sorted(words)
    return [" ".join(rng.choice(plain, size=1 + place * 59 // _TEXTS)) for place in range(_TEXTS)]


def _sts_pairs() -> ScoredPairs | None:
    """Return the first pairs of STS-B dev, as many as do not keep anyone waiting; nothing is fetched for them."""
    where = STS_TASKS[_TASK]
    if find_split(where.dataset, where.split) is None:
        return None
    task = load_sts(_TASK)
    return ScoredPairs(
        name=task.name,
        split=task.split,
        sentence1=task.sentence1[:_PAIRS],
        sentence2=task.sentence2[:_PAIRS],
        scores=task.scores[:_PAIRS],
    )


def _points(cosines: NDArray[np.float64], pairs: ScoredPairs) -> float:
    return round(100 * float(spearmanr(cosines, pairs.scores).statistic), 2)
