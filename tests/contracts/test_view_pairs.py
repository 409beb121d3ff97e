"""Any two registered views train the encoder that is saved, or are refused before anything runs."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch

from mirrormask.core.batch import Batch
from mirrormask.core.errors import MirrormaskError
from mirrormask.methods.composition import composition
from mirrormask.models.bulk import tokenize
from mirrormask.training.method import Method
from mirrormask.views import Vocabulary, views

OWN = {"twin", "momentum", "layer-sample"}
"""Views with an encoder of their own; whoever adds one sees the test below fail and adds it here."""


@pytest.fixture(scope="module")
def encoder(tiny_folder: Any) -> Any:
    from mirrormask.models.encoder import build_encoder

    return build_encoder(tiny_folder, pooling="mean", device="cpu")


@pytest.fixture(scope="module")
def learns(encoder: Any, sentences: list[str]) -> Callable[[list[Any]], bool | None]:
    """Return whether one step with two views changes the encoder that is saved; None where they are refused."""
    tokens, vocabulary = tokenize(encoder, sentences[:4]), Vocabulary.of(encoder)

    def step(pair: list[Any]) -> bool | None:
        try:
            method = Method(copy.deepcopy(encoder), composition(pair), vocabulary).train()
        except MirrormaskError as error:
            assert str(error).count(".") == 2, "what is wrong, and the way out"
            return None
        before = [p.detach().clone() for p in method.encoder.parameters()]
        optimizer = torch.optim.SGD([p for p in method.parameters() if p.requires_grad], lr=0.1)
        torch.manual_seed(0)
        method(Batch((tokens,)), 0).backward()
        optimizer.step()
        method.observe()
        changed = [not torch.equal(a, b) for a, b in zip(before, method.encoder.parameters(), strict=True)]
        return sum(changed) > 20

    return step


@pytest.mark.parametrize("first", views.names())
def test_two_views_train_the_saved_encoder_or_are_refused(
    first: str, learns: Callable[[list[Any]], bool | None]
) -> None:
    found = {second: learns([first, second]) for second in views.names()}
    assert False not in found.values(), found
    shared = {part.name for part in views if part.build().shares_forward}
    refused = {second for second, learned in found.items() if learned is None}
    assert refused == (OWN | shared if first in OWN else set())


@pytest.mark.parametrize("name", sorted(OWN))
def test_a_view_after_one_with_an_encoder_of_its_own(name: str, learns: Callable[[list[Any]], bool | None]) -> None:
    """As one view with it: attacked at the output, changed at the words, rewritten."""
    found = {other: learns(["dropout", [name, other]]) for other in views.names() if other not in OWN}
    assert False not in found.values(), found
    refused = {other for other, learned in found.items() if learned is None}
    assert refused == (set() if name == "twin" else {"fgsm"})
