from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from mirrormask.core.batch import Step
from mirrormask.core.errors import MirrormaskError
from mirrormask.objectives.info_nce import info_nce
from mirrormask.objectives.mirror_nce import MirrorNCE, mirror_nce


def vectors(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def by_loop(
    anchor: Tensor, positive: Tensor, extra: Tensor | None, temperature: float, both: bool, texts: list[list[int]]
) -> float:
    n = len(anchor)
    every = [*anchor, *positive]
    ids = [row[0] for row in texts] + [row[-1] for row in texts]
    losses = []
    for i in range(2 * n if both else n):
        partner = (i + n) % (2 * n)
        candidates = [
            x for j, x in enumerate(every) if j == partner or (j != i and ids[j] not in (ids[i], ids[partner]))
        ]
        candidates += [] if extra is None else [*extra]
        scores = [math.exp(float(torch.cosine_similarity(every[i], x, dim=0)) / temperature) for x in candidates]
        own = math.exp(float(torch.cosine_similarity(every[i], every[partner], dim=0)) / temperature)
        losses.append(-math.log(own / sum(scores)))
    return sum(losses) / len(losses)


DIFFERENT = [[2 * i, 2 * i + 1] for i in range(5)]
NEIGHBORS = [[1, 2], [2, 3], [7, 8], [9, 8], [10, 11]]


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("extra", [0, 3])
@pytest.mark.parametrize("texts", [DIFFERENT, NEIGHBORS], ids=["different", "neighbors"])
def test_equals_the_loop(both: bool, extra: int, texts: list[list[int]]) -> None:
    anchor, positive = vectors(5, 6, seed=1), vectors(5, 6, seed=2)
    e = vectors(extra, 6, seed=3) if extra else None
    expected = by_loop(anchor, positive, e, 0.3, both, texts)
    given = {"temperature": 0.3, "both_directions": both, "extra": e}
    found = mirror_nce(anchor, positive, text_ids=torch.tensor(texts), **given)  # type: ignore[arg-type]
    assert found.item() == pytest.approx(expected, abs=1e-9)
    plain = mirror_nce(anchor, positive, **given)  # type: ignore[arg-type]
    assert (plain.item() == pytest.approx(expected, abs=1e-9)) is (texts is DIFFERENT)


def test_closed_forms() -> None:
    """One pair has no negatives; orthogonal pairs see e^(1/t) once and 1 for all others."""
    assert mirror_nce(vectors(1, 4), vectors(1, 4, seed=1), temperature=0.05).item() == pytest.approx(0.0, abs=1e-12)
    eye = torch.eye(4, dtype=torch.float64)
    for both in (True, False):
        found = mirror_nce(eye, eye, temperature=0.5, both_directions=both).item()
        assert found == pytest.approx(math.log(math.e**2 + 6) - 2, abs=1e-12)
    same = torch.ones(4, 3, dtype=torch.float64)
    assert mirror_nce(same, same, temperature=0.05).item() == pytest.approx(math.log(7), abs=1e-9)
    alike = torch.zeros(4, 1, dtype=torch.int64)  # one text four times: no negative is left
    assert mirror_nce(same, same, temperature=0.05, text_ids=alike).item() == pytest.approx(0.0, abs=1e-12)


def test_it_scores_more_candidates_than_info_nce() -> None:
    anchor, positive = vectors(6, 8, seed=1), vectors(6, 8, seed=2)
    assert mirror_nce(anchor, positive, temperature=0.5) > info_nce(anchor, positive, temperature=0.5)


def test_the_objective_hands_everything_on() -> None:
    anchor, positive, hard = vectors(4, 5, seed=1), vectors(4, 5, seed=2), vectors(4, 2, 5, seed=3)
    ids = torch.tensor([[1, 2], [2, 3], [4, 5], [6, 7]])
    found = MirrorNCE(0.2, both_directions=False)(Step(anchor, positive, hard, vectors(3, 5, seed=4), text_ids=ids))
    pool = torch.cat([hard.flatten(0, 1), vectors(3, 5, seed=4)])
    expected = by_loop(anchor, positive, pool, 0.2, False, ids.tolist())
    assert found.item() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("both", [True, False])
def test_positives_and_negatives_alone(both: bool) -> None:
    """With cosines s: positives alone give -s/t of partners, negatives alone log of the sum over all others."""
    anchor, positive = vectors(5, 6, seed=1), vectors(5, 6, seed=2)
    every = torch.nn.functional.normalize(torch.cat([anchor, positive]), dim=1)
    scores = (every @ every.T / 0.3).tolist()
    rows = range(10 if both else 5)
    pulled = sum(-scores[i][(i + 5) % 10] for i in rows) / len(rows)
    pushed = sum(math.log(sum(math.exp(scores[i][j]) for j in range(10) if j not in (i, (i + 5) % 10))) for i in rows)
    step = Step(anchor, positive)
    assert MirrorNCE(0.3, both, negatives=False)(step).item() == pytest.approx(pulled, abs=1e-9)
    assert MirrorNCE(0.3, both, positives=False)(step).item() == pytest.approx(pushed / len(rows), abs=1e-9)
    with pytest.raises(MirrormaskError, match="mirror-nce needs positives or negatives"):
        MirrorNCE(positives=False, negatives=False)


@pytest.mark.parametrize("temperature", [0, -0.1, float("nan")])
def test_a_bad_temperature_is_refused(temperature: float) -> None:
    with pytest.raises(MirrormaskError, match="The 'temperature' of mirror-nce must be above 0. Got"):
        MirrorNCE(temperature=temperature)
