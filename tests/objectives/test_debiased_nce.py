from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.methods.whole_step import one_by_one

from mirrormask.core.batch import Step
from mirrormask.core.errors import MirrormaskError
from mirrormask.core.framing import frame_of
from mirrormask.models.bulk import tokenize
from mirrormask.objectives.debiased_nce import DebiasedNCE, debiased_nce
from mirrormask.objectives.info_nce import info_nce


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.float64)


def test_the_formula_against_a_loop() -> None:
    anchor, positive, extra = drawn(5, 4), drawn(5, 4) + 1, drawn(3, 4)
    weights = (drawn(5, 5) > 0).double()
    total = 0.0
    for i in range(5):
        own = (torch.cosine_similarity(anchor[i], positive[i], dim=0) / 0.3).exp()
        away = (torch.cosine_similarity(anchor[i], extra, dim=1) / 0.3).exp().sum()
        for j in range(5):
            if j != i:
                away = away + weights[i, j] * (torch.cosine_similarity(anchor[i], positive[j], dim=0) / 0.3).exp()
        total -= (own / (own + away)).log().item() / 5
    found = debiased_nce(anchor, positive, temperature=0.3, weights=weights, extra=extra)
    assert abs(found.item() - total) < 1e-10
    plain = debiased_nce(anchor, positive, temperature=0.3, extra=extra)
    torch.testing.assert_close(plain, info_nce(anchor, positive, temperature=0.3, extra=extra))


def test_the_threshold_decides() -> None:
    close = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]], dtype=torch.float64)
    step = Step(drawn(3, 4), drawn(3, 4) + 1, targets=(close,))
    weights = torch.tensor([[0.0, 0, 1], [0, 0, 1], [1, 1, 0]], dtype=torch.float64)
    expected = debiased_nce(step.anchor, step.positive, temperature=0.05, weights=weights)
    assert torch.equal(DebiasedNCE(threshold=0.7, centered=False)(step), expected)


def test_vectors_that_are_all_alike_are_told_apart_without_their_mean() -> None:
    """As they are, no negative would be left: nothing to learn."""
    alike = drawn(5, 4) + 100
    step = Step(drawn(5, 4), drawn(5, 4) + 1, targets=(alike,))
    assert DebiasedNCE(centered=False)(step).item() == 0
    assert DebiasedNCE()(step).item() > 0.1
    two = Step(step.anchor, step.positive, targets=(alike, alike))
    torch.testing.assert_close(DebiasedNCE()(two), DebiasedNCE()(step))


def test_a_prompted_encoder_asks_a_plain_second_model(tiny: Callable[..., Any], sentences: list[str]) -> None:
    """The prompt around the text is the encoder's own, and not what the second model reads."""
    encoder, second = tiny(pooling="mask-prompt"), tiny(pooling="mean").eval()
    objective = DebiasedNCE()
    objective.attach(encoder)
    objective._second = (second,)
    objective._frames = [encoder[0].frame, frame_of(second.tokenizer)]
    found = objective.target(tokenize(encoder, sentences[:3]))
    torch.testing.assert_close(found, one_by_one(second, tokenize(second, sentences[:3])), atol=1e-5, rtol=1e-4)


def test_it_must_be_attached(tiny: Callable[..., Any], sentences: list[str]) -> None:
    with pytest.raises(MirrormaskError, match="must be attached first"):
        DebiasedNCE().target(tokenize(tiny(), sentences[:2]))
