from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.methods.whole_step import ROWS, batch_of, built, cos, one_by_one

from mirrormask.core.errors import ModelError
from mirrormask.models.encoder import save_encoder
from mirrormask.objectives.ranking_distillation import RankingDistillation


def softmax(scores: list[float]) -> list[float]:
    total = sum(map(math.exp, scores))
    return [math.exp(score) / total for score in scores]


@pytest.mark.parametrize("list_net", [False, True])
def test_a_step_is_its_formula(tiny: Callable[..., Any], sentences: list[str], list_net: bool) -> None:
    method = built(tiny, "rankcse", list_net=list_net, consistency=0.7, distillation=0.3)
    batch = batch_of(method.encoder, sentences)
    found = method(batch, 0).item()
    raw = one_by_one(method.encoder, batch.columns[0])
    assert method.head is not None
    z = method.head(raw)  # both views are one here: dropout is off
    taught: Any = method.objective.parts_of()[2][1]
    teacher = taught.target(batch.columns[0]).double()
    expected = 0.0
    for i in range(ROWS):
        mine = [cos(z[i], z[j]).item() / 0.05 for j in range(ROWS)]
        theirs = [cos(teacher[i], teacher[j]).item() for j in range(ROWS)]
        expected -= math.log(softmax(mine)[i])
        if list_net:
            share = softmax([score / 0.025 for score in theirs])
            expected -= 0.3 * sum(p * math.log(q) for p, q in zip(share, softmax(mine), strict=True))
        else:
            order = sorted(range(ROWS), key=lambda j: -theirs[j])
            for rank, j in enumerate(order):
                rest = sum(math.exp(mine[k]) for k in order[rank:])
                expected -= 0.3 * math.log(math.exp(mine[j]) / rest)
    assert found == pytest.approx(expected / ROWS, abs=1e-10), "the consistency of equal views is 0"


def test_consistency_is_the_jensen_shannon_divergence() -> None:
    from mirrormask.core.batch import Step
    from mirrormask.objectives.ranking_consistency import RankingConsistency

    drawn = torch.Generator().manual_seed(2)
    a, p = torch.randn(2, 5, 4, generator=drawn, dtype=torch.float64)
    total = 0.0
    for i in range(5):
        one = softmax([cos(a[i], p[j]).item() / 0.5 for j in range(5)])
        other = softmax([cos(p[i], a[j]).item() / 0.5 for j in range(5)])
        for x, y in zip(one, other, strict=True):
            m = (x + y) / 2
            total += (x * math.log(x / m) + y * math.log(y / m)) / 2
    assert RankingConsistency(temperature=0.5)(Step(a, p)).item() == pytest.approx(total / 5, abs=1e-10)


def test_the_teacher_may_be_another_encoder(
    tiny: Callable[..., Any], tiny_of_kind: Callable[[str], Path], sentences: list[str], tmp_path: Path
) -> None:
    encoder, other = tiny(pooling="mean"), tiny(pooling="mean")
    with torch.no_grad():
        other[0].model.embeddings.word_embeddings.weight.mul_(1.5)
    save_encoder(other, tmp_path / "teacher")
    rows = batch_of(encoder, sentences).columns[0]
    taught, itself = RankingDistillation(teacher=str(tmp_path / "teacher")), RankingDistillation()
    for objective in (taught, itself):
        objective.attach(encoder)
        assert not list(objective.parameters()), "it is neither trained nor saved"
    expected = one_by_one(other.eval(), rows).detach()
    np.testing.assert_allclose(taught.target(rows).numpy(), expected.numpy(), atol=1e-5)
    assert not torch.allclose(taught.target(rows), itself.target(rows), atol=1e-3)
    from tests.conftest import build_tiny

    folder = build_tiny(tmp_path / "changed")
    words = (folder / "tokenizer.json").read_text(encoding="utf-8").replace('"baker"', '"bakers"')
    (folder / "tokenizer.json").write_text(words, encoding="utf-8")
    with pytest.raises(ModelError, match="has other tokens than the model in training"):
        RankingDistillation(teacher=str(folder)).attach(encoder)
