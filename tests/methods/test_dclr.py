from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.methods.whole_step import ROWS, batch_of, built, cos, method_of, one_by_one, without_chance

from mirrormask.core.errors import MirrormaskError
from mirrormask.methods import methods
from mirrormask.models.encoder import save_encoder
from mirrormask.models.training_heads import mlp


def seeded(draw: Callable[..., Any], step: Any, criterion: Any) -> Any:
    torch.manual_seed(4)
    return draw(step, criterion)


def test_a_step_is_the_papers_formula(
    tiny: Callable[..., Any], sentences: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise drawn, moved twice up its non-uniformity; no negatives that the start finds too similar."""
    before = without_chance(tiny(pooling="mean"))  # whose vectors differ more than those of first tokens
    texts = one_by_one(before, batch_of(before, sentences).columns[0])
    for faithful in (False, True):
        told = texts if faithful else texts - texts.mean(dim=0)
        cosines = torch.cosine_similarity(told[:, None], told[None], dim=-1).flatten().sort().values
        middle = cosines[13:15].mean().item()  # between two pairs: every cosine stands there twice
        parts = methods.build("dclr", temperature=0.4, threshold=middle, size=0.2, steps=2, faithful=faithful)
        method = method_of(tiny, dataclasses.replace(parts, pooling="mean", head=mlp))
        start = copy.deepcopy(method.encoder)
        with torch.no_grad():
            for parameter in method.encoder.parameters():
                parameter.add_(0.02 * torch.randn_like(parameter))
        batch = batch_of(method.encoder, sentences)
        source: Any = method.negatives
        monkeypatch.setattr(source, "draw", partial(seeded, source.draw))
        found = method(batch, 0)

        torch.manual_seed(4)
        noise = torch.randn(ROWS, 32, dtype=torch.float64)
        h = method.head(one_by_one(method.encoder, batch.columns[0])).detach()  # type: ignore[misc]
        for _ in range(2):
            noise = noise.detach().requires_grad_()
            total = torch.zeros((), dtype=torch.float64)
            for i in range(ROWS):
                away = sum(torch.exp(cos(h[i], noise[j]) / 0.4) for j in range(ROWS))
                total = total - torch.log(torch.exp(cos(h[i], h[i]) / 0.4) / away) / ROWS
            (gradient,) = torch.autograd.grad(total, noise)
            with torch.no_grad():
                for j in range(ROWS):
                    length = 1.0 if faithful else noise[j].norm()
                    noise[j] += 0.2 * length * gradient[j] / gradient[j].norm()
        second = one_by_one(start.eval(), batch.columns[0])
        second = second if faithful else second - second.mean(dim=0)
        left_out, expected = 0, 0.0
        for i in range(ROWS):
            total = torch.exp(cos(h[i], h[i]) / 0.4)
            for j in range(ROWS):
                similar = cos(second[i], second[j]) >= middle
                left_out += bool(similar) and i != j
                if i != j and not similar:
                    total = total + torch.exp(cos(h[i], h[j]) / 0.4)
                total = total + torch.exp(cos(h[i], noise[j]) / 0.4)
            expected -= torch.log(torch.exp(cos(h[i], h[i]) / 0.4) / total).item() / ROWS
        assert 0 < left_out < ROWS * (ROWS - 1), "some are left out, some not"
        assert abs(found.item() - expected) < 1e-10


def test_the_second_model_may_be_another(tiny: Callable[..., Any], sentences: list[str], tmp_path: Path) -> None:
    save_encoder(tiny(pooling="mean"), tmp_path / "other")
    method = built(tiny, "dclr", exact=False, complement=str(tmp_path / "other"))
    batch = batch_of(method.encoder, sentences)
    method(batch, 0).backward()
    expected = one_by_one(tiny(pooling="mean").eval(), batch.columns[0])
    torch.testing.assert_close(method.objective.target(batch.columns[0]), expected, atol=1e-5, rtol=1e-4)


def test_a_second_model_with_other_tokens_is_refused(tiny: Callable[..., Any]) -> None:
    with pytest.raises(MirrormaskError, match="mini, has other tokens than the encoder. Name a model that was trained"):
        built(tiny, "dclr", exact=False, complement="mini")


def test_it_has_the_papers_constants() -> None:
    record = methods.build("dclr").record()
    assert (record["objective"]["threshold"], record["objective"]["temperature"]) == (0.9, 0.05)
    noise = record["negatives"]
    assert (noise["mean"], noise["deviation"], noise["direction"]) == ("zero", "one", "gradient")
    assert (noise["loss"], noise["relative"]) == ("non-uniformity", True)
