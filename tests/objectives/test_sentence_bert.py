"""Sentence-BERT's three objectives against loops in float64 and against sentence-transformers' own losses."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from mirrormask.core.batch import Step
from mirrormask.core.errors import MirrormaskError
from mirrormask.objectives.cosine_regression import CosineRegression
from mirrormask.objectives.pair_classification import PairClassification
from mirrormask.objectives.triplet_margin import TripletMargin


def vectors(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.float64)


def classifier(product: bool = False) -> PairClassification:
    torch.manual_seed(1)
    objective = PairClassification(classes=3, product=product)
    objective.attach(SimpleNamespace(get_embedding_dimension=lambda: 5))
    return objective.double()


@pytest.mark.parametrize("product", [False, True])
def test_classification_is_its_formula(product: bool) -> None:
    objective = classifier(product)
    assert objective.classifier is not None
    u, v, labels = vectors(7, 5), vectors(8, 5)[:7], [0, 2, 1, 1, 0, 2, 2]
    weights = objective.classifier.weight.tolist()
    total = 0.0
    for a, b, label in zip(u.tolist(), v.tolist(), labels, strict=True):
        features = a + b + [abs(x - y) for x, y in zip(a, b, strict=True)]
        features += [x * y for x, y in zip(a, b, strict=True)] if product else []
        scores = [sum(w * x for w, x in zip(row, features, strict=True)) for row in weights]
        total -= math.log(math.exp(scores[label]) / sum(map(math.exp, scores)))
    found = objective(Step(u, v, labels=torch.tensor(labels)))
    assert found.item() == pytest.approx(total / 7, abs=1e-10)


def test_regression_is_its_formula() -> None:
    u, v, scores = vectors(6, 5), vectors(7, 5)[:6], [0.0, 0.2, 1.0, 0.5, 0.9, 0.1]
    total = 0.0
    for a, b, score in zip(u.tolist(), v.tolist(), scores, strict=True):
        cosine = sum(x * y for x, y in zip(a, b, strict=True)) / (math.hypot(*a) * math.hypot(*b))
        total += (cosine - score) ** 2
    found = CosineRegression()(Step(u, v, labels=torch.tensor(scores, dtype=torch.float64)))
    assert found.item() == pytest.approx(total / 6, abs=1e-10)


@pytest.mark.parametrize("hard", [True, False])
def test_triplets_are_their_formula(hard: bool) -> None:
    a, p, n = vectors(4, 3), vectors(5, 3)[:4], vectors(4, 2, 3)
    terms = []
    for i in range(4):
        negatives = n[i].tolist() if hard else [p[j].tolist() for j in range(4) if j != i]
        near = math.dist(a[i].tolist(), p[i].tolist())
        terms += [max(near - math.dist(a[i].tolist(), each) + 0.2, 0.0) for each in negatives]
    assert 0 < sum(term == 0 for term in terms) < len(terms), "some triplets are far enough, some are not"
    found = TripletMargin(margin=0.2)(Step(a, p, hard=n if hard else None))
    assert found.item() == pytest.approx(sum(terms) / len(terms), abs=1e-10)


class Given(nn.Module):
    """Stands for an encoder where a loss of sentence-transformers wants one: its vectors are the features."""

    def __init__(self) -> None:
        super().__init__()
        self.device = torch.device("cpu")

    def forward(self, features: Any) -> Any:
        return features

    def get_embedding_dimension(self) -> int:
        return 5


def features(*every: Tensor) -> list[dict[str, Tensor]]:
    return [{"sentence_embedding": each} for each in every]


@pytest.mark.parametrize("product", [False, True])
def test_classification_is_softmax_loss(product: bool) -> None:
    from sentence_transformers.sentence_transformer.losses import SoftmaxLoss

    ours = classifier(product)
    assert ours.classifier is not None
    theirs: Any = SoftmaxLoss(
        Given(),  # type: ignore[arg-type]
        num_labels=3,
        embedding_dimension=5,
        concatenation_sent_multiplication=product,
    ).double()
    with torch.no_grad():
        theirs.classifier.weight.copy_(ours.classifier.weight)
        theirs.classifier.bias.zero_()
    u, v, labels = vectors(7, 5), vectors(8, 5)[:7], torch.tensor([0, 2, 1, 1, 0, 2, 2])
    torch.testing.assert_close(ours(Step(u, v, labels=labels)), theirs(features(u, v), labels), rtol=1e-10, atol=1e-10)


def test_regression_and_triplets_are_theirs() -> None:
    from sentence_transformers.sentence_transformer.losses import CosineSimilarityLoss, TripletLoss

    u, v, n = vectors(6, 5), vectors(7, 5)[:6], vectors(9, 5)[:6]
    scores = torch.linspace(0, 1, 6, dtype=torch.float64)
    theirs: Any = CosineSimilarityLoss(Given())  # type: ignore[arg-type]
    torch.testing.assert_close(CosineRegression()(Step(u, v, labels=scores)), theirs(features(u, v), scores))
    triplets: Any = TripletLoss(Given(), triplet_margin=1.0)  # type: ignore[arg-type]
    ours = TripletMargin()(Step(u, v, hard=n[:, None]))
    torch.testing.assert_close(ours, triplets(features(u, v, n), scores), rtol=1e-5, atol=1e-5)  # theirs adds 1e-6


def test_rows_that_say_nothing_are_refused() -> None:
    u = vectors(4, 5)
    with pytest.raises(MirrormaskError, match="needs the score of each pair. Take the pairing scored-pairs"):
        CosineRegression()(Step(u, u))
    for labels in (None, torch.ones(4)):
        with pytest.raises(MirrormaskError, match="needs the relation of each pair. Take the pairing labelled-pairs"):
            classifier()(Step(u, u, labels=labels))
    with pytest.raises(MirrormaskError, match="must be attached to an encoder"):
        PairClassification()(Step(u, u, labels=torch.zeros(4, dtype=torch.int64)))
