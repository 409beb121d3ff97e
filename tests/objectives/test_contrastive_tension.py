from __future__ import annotations

import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from mirrormask.core.batch import Step
from mirrormask.core.errors import MirrormaskError
from mirrormask.objectives.contrastive_tension import ContrastiveTension, contrastive_tension


def vectors(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def log_sigmoid(x: float) -> float:
    return -math.log1p(math.exp(-x))


@pytest.mark.parametrize("extra", [0, 3])
def test_equals_the_mean_over_all_draws(extra: int) -> None:
    """The paper's loss with K drawn negatives, averaged over every way to draw them."""
    anchor, positive, more = vectors(4, 3, seed=1), vectors(4, 3, seed=2), vectors(extra, 3, seed=3)
    for drawn in (1, 2, 3):
        total = 0.0
        for i in range(4):
            others = [p for j, p in enumerate(positive) if j != i] + list(more)
            losses = []
            for chosen in itertools.combinations(others, drawn):
                own = -log_sigmoid(float(anchor[i] @ positive[i]))
                losses.append((own - sum(log_sigmoid(-float(anchor[i] @ other)) for other in chosen)) / (1 + drawn))
            total += sum(losses) / len(losses) / 4
        found = contrastive_tension(anchor, positive, negatives=drawn, extra=more if extra else None)
        assert found.item() == pytest.approx(total, abs=1e-12)


def test_all_others_drawn_is_binary_cross_entropy_over_all_pairs() -> None:
    anchor, positive = vectors(5, 3, seed=1), vectors(5, 3, seed=2)
    expected = F.binary_cross_entropy_with_logits(anchor @ positive.T, torch.eye(5, dtype=torch.float64))
    torch.testing.assert_close(contrastive_tension(anchor, positive, negatives=4), expected)


def test_equals_sentence_transformers() -> None:
    """The library's loss takes pairs with labels, here each anchor with itself and with all others, and adds them."""
    from sentence_transformers.sentence_transformer.losses import ContrastiveTensionLoss

    anchor, positive = vectors(4, 3, seed=1).float(), vectors(4, 3, seed=2).float()
    pairs = [(i, j) for i in range(4) for j in range(4)]
    labels = torch.tensor([float(i == j) for i, j in pairs])
    peer = ContrastiveTensionLoss(torch.nn.Identity())
    sides = zip(*pairs, strict=True)
    first, second = ({"sentence_embedding": v[list(side)]} for v, side in zip((anchor, positive), sides, strict=True))
    theirs = peer([first, second], labels) / len(pairs)
    torch.testing.assert_close(ContrastiveTension(negatives=3.0)(Step(anchor, positive)), theirs)


def test_closed_form() -> None:
    eye = 2 * torch.eye(3, dtype=torch.float64)
    # own pairs score 4, others 0: (log(1 + e^-4) + 7 log 2) / 8
    expected = (math.log1p(math.exp(-4)) + 7 * math.log(2)) / 8
    assert contrastive_tension(eye, eye, negatives=7).item() == pytest.approx(expected)


def test_hard_and_extra_are_negatives_like_others() -> None:
    anchor, positive, hard, extra = (
        vectors(3, 4),
        vectors(3, 4, seed=1),
        vectors(3, 2, 4, seed=2),
        vectors(5, 4, seed=3),
    )
    found = ContrastiveTension()(Step(anchor, positive, hard=hard, extra=extra))
    expected = contrastive_tension(anchor, positive, negatives=7, extra=torch.cat([hard.flatten(0, 1), extra]))
    torch.testing.assert_close(found, expected)


def test_gradients_pull_own_pairs_together() -> None:
    anchor, positive = vectors(4, 5).requires_grad_(), vectors(4, 5, seed=1)
    loss = contrastive_tension(anchor, positive, negatives=7)
    (gradient,) = torch.autograd.grad(loss, anchor)
    assert contrastive_tension(anchor.detach() - 0.01 * gradient, positive, negatives=7) < loss


def test_negatives_that_cannot_be() -> None:
    with pytest.raises(MirrormaskError, match="The 'negatives' of contrastive-tension must be above 0. Got 0"):
        ContrastiveTension(0.0)
