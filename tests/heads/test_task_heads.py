from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from mirrormask.heads.task_heads import ClassHead, ParaphraseHead, SimilarityHead, head_of, paraphrase_loss
from mirrormask.heads.task_specs import Task


def vectors(seed: int, n: int = 6) -> torch.Tensor:
    return torch.randn(n, 8, generator=torch.Generator().manual_seed(seed))


def by_loop(cosines: list[float], labels: list[int], hinge: float, faithful: bool) -> float:
    losses = []
    for cosine, label in zip(cosines, labels, strict=True):
        y = max(cosine, hinge)
        losses.append((1 - (y if faithful else cosine)) if label == 1 else y - hinge)
    return sum(losses) / len(losses)


@pytest.mark.parametrize("faithful", [False, True])
def test_the_paraphrase_loss_is_its_formula(faithful: bool) -> None:
    cosines, labels = [0.95, 0.4, 0.9, 0.2, -0.5, 0.71], [1, 1, 0, 0, 1, 0]
    found = paraphrase_loss(torch.tensor(cosines), torch.tensor(labels), hinge=0.7, faithful=faithful)
    assert found.item() == pytest.approx(by_loop(cosines, labels, 0.7, faithful), abs=1e-6)
    if not faithful:
        both = torch.tensor(cosines)[:, None]
        there = torch.cat([both, (1 - both**2).sqrt()], dim=1)  # unit vectors with these cosines to (1, 0)
        ones = torch.tensor([[1.0, 0.0]]).expand_as(there)
        theirs = F.cosine_embedding_loss(ones, there, torch.tensor(labels) * 2 - 1, margin=0.7)
        assert found.item() == pytest.approx(theirs.item(), abs=1e-6)


@pytest.mark.parametrize(("faithful", "moved"), [(False, True), (True, False)])
def test_a_paraphrase_below_the_hinge_learns_unless_it_is_faithful(faithful: bool, moved: bool) -> None:
    cosine = torch.tensor([0.3], requires_grad=True)
    paraphrase_loss(cosine, torch.tensor([1.0]), hinge=0.7, faithful=faithful).backward()  # type: ignore[no-untyped-call]
    assert cosine.grad is not None
    assert bool(cosine.grad.abs().sum() > 0) is moved


def test_a_paraphrase_is_what_reaches_the_middle_between_hinge_and_one() -> None:
    head = ParaphraseHead(2, 2, 0.7, 0.0)
    with torch.no_grad():
        head.project[1].weight.copy_(torch.eye(2))  # type: ignore[operator]
        head.project[1].bias.zero_()  # type: ignore[operator]
    cosines = torch.tensor([0.849, 0.851, 0.2, 1.0])
    others = torch.stack([cosines, (1 - cosines**2).sqrt()], dim=1)
    assert head.predict([torch.tensor([[1.0, 0.0]]).expand(4, 2), others]).tolist() == [0, 1, 0, 1]


def test_similarity_is_scaled_to_the_labels_and_back() -> None:
    head = SimilarityHead(8, 8, 0.2, 0.0, scale=(1.0, 5.0)).eval()
    left, right = vectors(1), vectors(2)
    cosines = head.cosines([left, right]).clamp(min=0.2)
    labels = torch.tensor([1.0, 5.0, 3.0, 2.0, 4.0, 1.5])
    expected = ((cosines - (0.2 + 0.8 * (labels - 1) / 4)) ** 2).mean()
    assert head.loss([left, right], labels).item() == pytest.approx(expected.item(), abs=1e-6)
    found = head.predict([left, right])
    assert found.tolist() == pytest.approx((1 + 4 * (cosines - 0.2) / 0.8).tolist(), abs=1e-5)
    assert head.predict([left, left]).tolist() == pytest.approx([5.0] * 6, abs=1e-4), "the same text is all alike"


def test_scores() -> None:
    assert ClassHead(8, 3, 0.3).score(np.array([0.0, 1, 2]), np.array([0.0, 1, 1])) == pytest.approx(2 / 3)
    head, labels = SimilarityHead(8, 8, 0.0, 0.1), np.array([0.0, 2.5, 5.0])
    assert head.score(np.array([1.0, 2.0, 3.0]), labels) == pytest.approx(1.0)
    assert head.score(np.ones(3), labels) == 0.0, "one prediction for all says nothing, and is no NaN"


def test_the_heads_are_the_reports() -> None:
    sentiment = head_of(Task("a", "classification"), 8, 5)
    assert isinstance(sentiment, ClassHead)
    assert sentiment.head[0].p == 0.3  # type: ignore[index]
    assert sentiment.head[1].out_features == 5  # type: ignore[index]
    assert sentiment.loss([vectors(1)], torch.zeros(6, dtype=torch.long)).item() > 0
    paraphrase, similarity = head_of(Task("b", "paraphrase"), 8, 0), head_of(Task("c", "similarity"), 8, 0)
    assert isinstance(paraphrase, ParaphraseHead)
    assert isinstance(similarity, SimilarityHead)
    assert (paraphrase.hinge, paraphrase.faithful) == (0.7, False)
    assert (similarity.hinge, similarity.scale) == (0.0, (0.0, 5.0))
    assert [str(each.project[0]) for each in (paraphrase, similarity)] == [
        "Dropout(p=0.0, inplace=False)",
        "Dropout(p=0.1, inplace=False)",
    ]
    assert paraphrase.project[1].out_features == 8
