from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from mirrormask.core.batch import Batch, Step
from mirrormask.core.errors import MirrormaskError
from mirrormask.models.bulk import tokenize
from mirrormask.objectives.self_guided import SelfGuided, pooled_layers, self_guided


def test_the_formula_against_a_loop() -> None:
    drawn = torch.Generator().manual_seed(0)
    vectors = torch.randn(5, 4, generator=drawn, dtype=torch.float64)
    layers = torch.randn(5, 3, 4, generator=drawn, dtype=torch.float64)
    ids = torch.tensor([0, 1, 2, 1, 4])  # rows 1 and 3 are one text
    for text_ids in (None, ids):
        total = 0.0
        for i in range(5):
            near = torch.cosine_similarity(vectors[i], layers, dim=-1) / 0.3  # (5, 3)
            others = [m for m in range(5) if (m != i if text_ids is None else ids[m] != ids[i])]
            away = near[others].exp().sum()
            total += sum(-(s.exp() / (s.exp() + away)).log().item() for s in near[i]) / 15
        assert abs(self_guided(vectors, layers, temperature=0.3, text_ids=text_ids).item() - total) < 1e-10


@pytest.mark.parametrize("pool", ["mean", "max"])
def test_layers_are_pooled_over_real_tokens(tiny: Callable[..., Any], sentences: list[str], pool: str) -> None:
    encoder = tiny(pooling="mean").double().eval()
    rows = tokenize(encoder, [sentences[0], "the old baker", sentences[1][:20]])
    found = pooled_layers(encoder, rows, pool)
    for row, layers in zip(rows.rows, found, strict=True):
        ids = torch.from_numpy(row)[None]
        with torch.no_grad():
            states = encoder[0].model(input_ids=ids, output_hidden_states=True).hidden_states
        for state, layer in zip(states, layers, strict=True):
            expected = state[0].mean(dim=0) if pool == "mean" else state[0].amax(dim=0)
            torch.testing.assert_close(layer, expected, atol=1e-12, rtol=1e-10)


def test_the_copy_stays_and_embeddings_may_learn(tiny: Callable[..., Any], sentences: list[str]) -> None:
    encoder = tiny(pooling="mean")
    objective = SelfGuided(width=4, freeze_embeddings=False)
    objective.attach(encoder)
    rows = tokenize(encoder, sentences[:3])
    before = objective.target(rows)
    with torch.no_grad():
        for parameter in encoder.parameters():
            assert parameter.requires_grad
            parameter += 0.1
    assert torch.equal(objective.target(rows), before)
    assert not [name for name in objective.state_dict() if "projection" not in name], "the copy is not saved"


def test_it_must_be_attached(tiny: Callable[..., Any], sentences: list[str]) -> None:
    rows = tokenize(tiny(), sentences[:2])
    with pytest.raises(MirrormaskError, match="must be attached to an encoder first"):
        SelfGuided().target(Batch((rows,)).columns[0])
    with pytest.raises(MirrormaskError, match="needs the layers of its copy"):
        SelfGuided()(Step(torch.eye(2), torch.eye(2)))
