from __future__ import annotations

import math

import pytest
import torch

from mirrormask.pretraining.masking import IGNORED
from mirrormask.pretraining.row_losses import bag_loss, row_vectors, word_weights


def test_bag_loss_is_the_loop() -> None:
    torch.manual_seed(0)
    scores, weights = torch.randn(3, 11), torch.rand(11)
    labels = torch.tensor([[1, 5, IGNORED], [2, 2, 10], [IGNORED, IGNORED, IGNORED]])
    total = weight = 0.0
    for row in range(3):
        for word in labels[row].tolist():
            if word != IGNORED:
                probability = math.exp(scores[row, word]) / sum(math.exp(s) for s in scores[row].tolist())
                total -= float(weights[word]) * math.log(probability)
                weight += float(weights[word])
    assert bag_loss(scores, labels, weights).item() == pytest.approx(total / weight, rel=1e-5)


def test_bag_loss_of_even_scores_is_the_logarithm_of_the_vocabulary() -> None:
    labels = torch.tensor([[0, 3]])
    assert bag_loss(torch.zeros(1, 7), labels, torch.ones(7)).item() == pytest.approx(math.log(7))


def test_row_vectors_are_means_of_what_counts() -> None:
    states = torch.arange(12.0).reshape(1, 4, 3)
    mask = torch.tensor([[False, True, True, False]])
    assert row_vectors(states, mask).tolist() == [[4.5, 5.5, 6.5]]


def test_rare_words_weigh_more() -> None:
    weights = word_weights(torch.tensor([0, 1, 9_999, 10_000_000]), threshold=1e-4)
    frequency = 10_000_000 / 10_010_000
    assert weights[:2].tolist() == [1.0, 1.0]
    assert weights[3].item() == pytest.approx(math.sqrt(1e-4 / frequency), rel=1e-5)
