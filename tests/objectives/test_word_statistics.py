from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from tests.objectives.token_rows import Rows
from torch import Tensor

from mirrormask.core.batch import Step, Tokens
from mirrormask.core.errors import MirrormaskError
from mirrormask.data.text.tokens import Tokenized
from mirrormask.objectives.info_nce import InfoNCE
from mirrormask.objectives.word_statistics import WordStatistics, ranking_loss


def vectors(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.fixture
def text() -> Tokenized:
    """Return sentences of 38 words over 40 ids, the last two never used."""
    chance = np.random.default_rng(1)
    common = 1 / np.arange(1, 39)
    rows = [chance.choice(38, 9, p=common / common.sum()).tolist() for _ in range(400)]
    return Rows([[], *rows], 40)  # type: ignore[return-value]


def test_the_loss_is_the_divergence_of_two_rankings() -> None:
    z, t, tau = vectors(5, 3, seed=1), vectors(5, 4, seed=2), 0.3

    def ranking(x: Tensor, i: int) -> list[float]:
        scores = {j: math.exp(float(F.cosine_similarity(x[i], x[j], dim=0)) / tau) for j in range(5) if j != i}
        return [score / sum(scores.values()) for score in scores.values()]

    expected = 0.0
    for i in range(5):
        expected += sum(p * math.log(p / q) for p, q in zip(ranking(t, i), ranking(z, i), strict=True)) / 5
    assert ranking_loss(z, t, temperature=tau).item() == pytest.approx(expected, abs=1e-12)


def test_nothing_is_left_to_learn_where_the_cosines_agree() -> None:
    z = vectors(6, 4)
    turned = torch.linalg.qr(vectors(4, 4, seed=5))[0]
    assert ranking_loss(z, 3 * z @ turned, temperature=0.05).item() == pytest.approx(0, abs=1e-12)


def test_a_target_is_the_weighted_mean_without_what_all_share(text: Tokenized) -> None:
    objective = WordStatistics(dimensions=6, rarity=0.01, common=2)
    objective.read(text)
    rows = [np.array([39, 1, 5, 5, 20, 38]), np.array([7, 8])]  # 38 and 39 stand for the special tokens
    found = objective.target(Tokens.of(rows))
    counts = np.bincount(np.concatenate(text.take(range(len(text)))), minlength=40)
    for row, target in zip(rows, found, strict=True):
        total, mean = 0.0, torch.zeros(6)
        for word in row:
            weight = 0.01 / (0.01 + counts[word] / counts.sum()) if counts[word] else 0.0
            total += weight
            mean += weight * objective.words[word]
        left = mean / total - objective.mean
        for direction in objective.shared.T:
            left = left - (left @ direction) * direction
        torch.testing.assert_close(target, left, atol=1e-5, rtol=1e-4)
    every = objective.target(Tokens.of([row for row in text.take(range(len(text))) if len(row)]))
    torch.testing.assert_close(every.mean(dim=0), torch.zeros(6), atol=1e-5, rtol=0)
    torch.testing.assert_close(every @ objective.shared, torch.zeros(len(every), 2), atol=1e-5, rtol=0)


def test_directions_left_out_are_those_that_vary_most(text: Tokenized) -> None:
    plain, less = WordStatistics(dimensions=6, common=0), WordStatistics(dimensions=6, common=2)
    rows = Tokens.of([row for row in text.take(range(len(text))) if len(row)])
    for objective in (plain, less):
        objective.read(text)
    spread = torch.linalg.eigvalsh(torch.cov(plain.target(rows).T))
    torch.testing.assert_close(
        torch.linalg.eigvalsh(torch.cov(less.target(rows).T))[2:], spread[:4], atol=1e-5, rtol=1e-3
    )


def test_training_brings_the_vectors_to_the_targets(text: Tokenized) -> None:
    objective = WordStatistics(dimensions=6, temperature=0.1)
    objective.read(text)
    rows = Tokens.of(text.take(range(1, 33)))
    targets = objective.target(rows)
    z = torch.randn(32, 8, generator=torch.Generator().manual_seed(0)).requires_grad_()
    optimizer = torch.optim.Adam([z], lr=0.05)
    losses = []
    for _ in range(300):
        loss = objective(Step(z[:16], z[16:], targets=(targets[:16], targets[16:])))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.1 * losses[0]


def test_one_column_is_target_of_both_views() -> None:
    step = Step(vectors(4, 3, seed=1), vectors(4, 3, seed=2), targets=(vectors(4, 5, seed=3),))
    expected = ranking_loss(torch.cat([step.anchor, step.positive]), torch.cat([step.targets[0]] * 2), temperature=0.1)
    torch.testing.assert_close(WordStatistics()(step), expected)


def test_reading_twice_gives_the_same(text: Tokenized) -> None:
    one, other = WordStatistics(dimensions=6), WordStatistics(dimensions=6)
    one.read(text)
    other.read(text)
    for name, value in one.state_dict().items():
        torch.testing.assert_close(value, other.state_dict()[name], atol=0, rtol=0)


def test_it_must_read_first() -> None:
    with pytest.raises(MirrormaskError, match="must read the text"):
        WordStatistics().target(Tokens.of([np.array([1])]))
    with pytest.raises(MirrormaskError, match="needs the targets"):
        WordStatistics()(Step(torch.eye(2), torch.eye(2)))


def test_text_of_nothing_is_refused() -> None:
    with pytest.raises(MirrormaskError, match="there is none"):
        WordStatistics().read(Rows([[], []], 5))  # type: ignore[arg-type]


def test_two_kinds_of_targets_are_refused() -> None:
    with pytest.raises(MirrormaskError, match="Only one"):
        WordStatistics() + WordStatistics(window=2)
    assert (InfoNCE() + 0.5 * WordStatistics()).needs_target
