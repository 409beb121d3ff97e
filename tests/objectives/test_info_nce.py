from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from mirrormask.core.batch import Batch, Step, Tokens
from mirrormask.core.errors import MirrormaskError
from mirrormask.objectives.info_nce import InfoNCE, info_nce

BATCH = Batch((Tokens(()),))


def vectors(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def cos(a: Tensor, b: Tensor) -> float:
    return float(a @ b / (a.norm() * b.norm()))


def by_loop(
    anchor: Tensor,
    positive: Tensor,
    hard: Tensor | None,
    extra: Tensor | None,
    temperature: float,
    hard_weight: float,
    smoothing: float,
) -> float:
    total = 0.0
    for i in range(len(anchor)):
        logits = [cos(anchor[i], p) / temperature for p in positive]
        if hard is not None:
            for j in range(len(hard)):
                for h in hard[j]:
                    logits.append(cos(anchor[i], h) / temperature + (hard_weight if i == j else 0.0))
        if extra is not None:
            logits += [cos(anchor[i], e) / temperature for e in extra]
        log_sum = math.log(sum(math.exp(x) for x in logits))
        own = log_sum - logits[i]
        spread = sum(log_sum - x for x in logits) / len(logits)
        total += (1 - smoothing) * own + smoothing * spread
    return total / len(anchor)


@pytest.mark.parametrize("hard", [0, 1, 3])
@pytest.mark.parametrize("extra", [0, 4])
@pytest.mark.parametrize(("hard_weight", "smoothing"), [(0.0, 0.0), (0.7, 0.0), (0.0, 0.1), (-0.4, 0.3)])
def test_equals_the_loop(hard: int, extra: int, hard_weight: float, smoothing: float) -> None:
    anchor, positive = vectors(5, 6, seed=1), vectors(5, 6, seed=2)
    h = vectors(5, hard, 6, seed=3) if hard else None
    e = vectors(extra, 6, seed=4) if extra else None
    found = info_nce(
        anchor, positive, temperature=0.3, hard=h, extra=e, hard_weight=hard_weight, label_smoothing=smoothing
    )
    assert found.item() == pytest.approx(by_loop(anchor, positive, h, e, 0.3, hard_weight, smoothing), abs=1e-9)


def test_closed_forms() -> None:
    eye = torch.eye(4, dtype=torch.float64)
    # every other positive is orthogonal: loss = log(e^{1/t} + 3) - 1/t
    assert info_nce(eye, eye, temperature=0.5).item() == pytest.approx(math.log(math.e**2 + 3) - 2, abs=1e-12)
    same = torch.ones(4, 3, dtype=torch.float64)
    assert info_nce(same, same, temperature=0.05).item() == pytest.approx(math.log(4), abs=1e-9)


def test_both_directions_is_the_mean_of_the_two() -> None:
    anchor, positive = vectors(5, 6, seed=1), vectors(5, 6, seed=2)
    forth = info_nce(anchor, positive, temperature=0.1)
    back = info_nce(positive, anchor, temperature=0.1)
    found = InfoNCE(temperature=0.1, both_directions=True)(Step(BATCH, anchor, positive))
    torch.testing.assert_close(found, (forth + back) / 2)


def test_equals_sentence_transformers() -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    anchor, positive, hard = (vectors(6, 8, seed=s).float() for s in (1, 2, 3))
    model = SentenceTransformer(modules=[torch.nn.Identity()], device="cpu")
    peer = MultipleNegativesRankingLoss(model, scale=20.0)
    ours = InfoNCE(temperature=0.05)
    theirs = peer.compute_loss_from_embeddings([anchor, positive], None)
    torch.testing.assert_close(ours(Step(BATCH, anchor, positive)), theirs)
    theirs = peer.compute_loss_from_embeddings([anchor, positive, hard], None)
    torch.testing.assert_close(ours(Step(BATCH, anchor, positive, hard=hard[:, None])), theirs)
    symmetric = MultipleNegativesRankingLoss(
        model, scale=20.0, directions=("query_to_doc", "doc_to_query"), partition_mode="per_direction"
    )
    theirs = symmetric.compute_loss_from_embeddings([anchor, positive], None)
    torch.testing.assert_close(InfoNCE(0.05, both_directions=True)(Step(BATCH, anchor, positive)), theirs)


def test_gradients_reach_everything_and_pull_the_right_way() -> None:
    anchor, positive = vectors(4, 5, seed=1).requires_grad_(), vectors(4, 5, seed=2).requires_grad_()
    hard, extra = vectors(4, 1, 5, seed=3).requires_grad_(), vectors(2, 5, seed=4).requires_grad_()
    loss = info_nce(anchor, positive, temperature=0.5, hard=hard, extra=extra)
    loss.backward()
    for tensor in (anchor, positive, hard, extra):
        assert tensor.grad is not None
        assert (tensor.grad.norm(dim=-1) > 0).all()
    with torch.no_grad():
        moved = info_nce(anchor - 0.01 * anchor.grad, positive, temperature=0.5, hard=hard, extra=extra)  # type: ignore[operator]
    assert moved < loss


def test_composition() -> None:
    step = Step(BATCH, vectors(4, 5, seed=1), vectors(4, 5, seed=2))
    one, two = InfoNCE(0.1), InfoNCE(0.5)
    torch.testing.assert_close((one + 0.1 * two)(step), one(step) + 0.1 * two(step))
    assert (one + 0.1 * two).in_batch


@pytest.mark.parametrize("temperature", [0, -0.1, float("nan")])
def test_a_bad_temperature_is_refused(temperature: float) -> None:
    with pytest.raises(MirrormaskError, match="The 'temperature' of info-nce must be above 0. Got"):
        InfoNCE(temperature=temperature)


def test_bad_smoothing_is_refused() -> None:
    with pytest.raises(MirrormaskError, match="label_smoothing"):
        InfoNCE(label_smoothing=1.0)
