"""FGSM at the word embeddings and at the sentence vectors."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from mirrormask.core.batch import Batch
from mirrormask.core.errors import MirrormaskError
from mirrormask.models.embeddings import word_table
from mirrormask.objectives.info_nce import info_nce
from mirrormask.training.method import Method
from mirrormask.views.fgsm import FGSM, fgsm
from mirrormask.views.output_fgsm import OutputFGSM

TINY = 1e-12  # an epsilon that moves nothing: the same passes with the same dropout, unattacked


def test_equals_the_loop() -> None:
    x, gradient = torch.randn(2, 3), torch.tensor([[1.0, -2.0, 0.0], [-0.1, 0.0, 5.0]])
    found = fgsm(x, gradient, 0.5)
    for i in range(2):
        for j in range(3):
            g = gradient[i, j].item()
            sign = (g > 0) - (g < 0)
            assert found[i, j].item() == pytest.approx(x[i, j].item() + 0.5 * sign)


def by_hand(method: Method, batch: Batch, epsilon: float) -> tuple[Tensor, Tensor]:
    """Return the loss before the attack on the positive's word embeddings, and after it."""
    encoder = method.encoder
    ids, mask = batch.columns[0].padded(0, range(len(batch)))

    def vectors(x: Tensor) -> Tensor:
        return encoder({"inputs_embeds": x, "attention_mask": mask})["sentence_embedding"]

    x = word_table(encoder)(ids).detach()
    moved = x.clone().requires_grad_()
    anchor = vectors(x).detach()
    before = info_nce(anchor, vectors(moved), temperature=0.05)
    (gradient,) = torch.autograd.grad(before, moved)
    return before.detach(), info_nce(anchor, vectors(x + epsilon * gradient.sign()), temperature=0.05).detach()


@pytest.mark.parametrize("epsilon", [1e-3, 1e-2])
def test_the_method_attacks_as_by_hand(method: Callable[..., Method], batch: Batch, epsilon: float) -> None:
    attacked = method(["dropout", {"name": "fgsm", "epsilon": epsilon}])
    before, after = by_hand(attacked, batch, epsilon)
    torch.testing.assert_close(attacked(batch, 0).detach(), after, atol=1e-4, rtol=1e-4)
    assert after > before


@pytest.mark.parametrize("views", [["dropout", "fgsm"], ["fgsm", "dropout"], ["fgsm", "fgsm"]])
def test_the_loss_rises_with_dropout_replayed(method: Callable[..., Method], batch: Batch, views: list[str]) -> None:
    """To first order the loss rises by epsilon times the sum of the gradient's sizes, under the very same masks."""
    found = {}
    for epsilon in (TINY, 1e-4):
        attacked = method([{"name": v, "epsilon": epsilon} if v == "fgsm" else v for v in views], dropout=0.1)
        for seed in range(5):
            torch.manual_seed(seed)
            found[epsilon, seed] = attacked(batch, seed).item()
    rises = [found[1e-4, seed] - found[TINY, seed] for seed in range(5)]
    assert min(rises) > 0
    assert max(rises) < 1, "another mask would change the loss by more than the attack"


def test_gradients_reach_the_weights_through_the_attacked_pass_alone(
    method: Callable[..., Method], batch: Batch
) -> None:
    attacked, plain = method(["dropout", {"name": "fgsm", "epsilon": TINY}]), method(["dropout", "dropout"])
    for each in (attacked, plain):
        each(batch, 0).backward()
    for (name, one), (_, two) in zip(attacked.named_parameters(), plain.named_parameters(), strict=True):
        if two.grad is not None:
            torch.testing.assert_close(one.grad, two.grad, atol=1e-5, rtol=1e-3, msg=name)


@pytest.mark.parametrize("before_head", [False, True])
def test_the_output_is_attacked_as_by_hand(method: Callable[..., Method], batch: Batch, before_head: bool) -> None:
    torch.manual_seed(0)
    head = nn.Sequential(nn.Linear(32, 32), nn.Tanh())
    attacked = method(["dropout", {"name": "output-fgsm", "epsilon": 0.1, "before_head": before_head}], head=head)
    ids, mask = batch.columns[0].padded(0, range(len(batch)))
    raw = attacked.encoder({"input_ids": ids, "attention_mask": mask})["sentence_embedding"]
    last = head if before_head else (lambda z: z)
    anchor, base = head(raw), raw if before_head else head(raw)
    leaf = base.detach().requires_grad_()
    before = info_nce(anchor.detach(), last(leaf), temperature=0.05)
    (gradient,) = torch.autograd.grad(before, leaf)
    positive = last(base + 0.1 * base.detach().std() * gradient.sign())
    expected = info_nce(anchor, positive, temperature=0.05)
    found = attacked(batch, 0)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)
    assert expected > before
    expected.backward()
    by_hand_gradient = [p.grad.clone() for p in attacked.encoder.parameters() if p.grad is not None]
    attacked.zero_grad()
    found.backward()
    for one, two in zip(
        [p.grad for p in attacked.encoder.parameters() if p.grad is not None], by_hand_gradient, strict=True
    ):
        torch.testing.assert_close(one, two, atol=1e-5, rtol=1e-3)


def test_the_output_attack_needs_one_forward(method: Callable[..., Method], batch: Batch) -> None:
    attacked = method(["dropout", "output-fgsm"])
    rows: list[int] = []
    attacked.encoder[0].register_forward_pre_hook(lambda _m, inputs: rows.append(len(inputs[0]["input_ids"])))
    attacked(batch, 0)
    assert sum(rows) == len(batch)


def test_a_chain_of_both_attacks_each_stage_once(method: Callable[..., Method], batch: Batch) -> None:
    both = [{"name": "fgsm", "epsilon": 0.01}, {"name": "output-fgsm", "epsilon": 0.1}]
    attacked = method(["dropout", both])
    encoder = attacked.encoder
    ids, mask = batch.columns[0].padded(0, range(len(batch)))

    def vectors(x: Tensor) -> Tensor:
        found: Tensor = encoder({"inputs_embeds": x, "attention_mask": mask})["sentence_embedding"]
        return found

    def sign(x: Tensor, loss: Callable[[Tensor], Tensor]) -> Tensor:
        leaf = x.detach().requires_grad_()
        return torch.autograd.grad(loss(leaf), leaf)[0].sign()

    x = word_table(encoder)(ids).detach()
    anchor = vectors(x).detach()
    x = x + 0.01 * sign(x, lambda leaf: info_nce(anchor, vectors(leaf), temperature=0.05))
    z = vectors(x).detach()
    z = z + 0.1 * z.std() * sign(z, lambda leaf: info_nce(anchor, leaf, temperature=0.05))
    expected = info_nce(anchor, z, temperature=0.05)
    torch.testing.assert_close(attacked(batch, 0).detach(), expected, atol=1e-4, rtol=1e-4)


def test_an_epsilon_that_cannot_be() -> None:
    with pytest.raises(MirrormaskError, match="The 'epsilon' of fgsm must be above 0. Got 0"):
        FGSM(0.0)
    with pytest.raises(MirrormaskError, match="The 'epsilon' of output-fgsm must be above 0. Got 0"):
        OutputFGSM(0.0)
