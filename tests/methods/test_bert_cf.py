"""BERT-CF's two stages and its ablations, each a run of a recipe."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from mirrormask.core.batch import Step
from mirrormask.methods import methods
from mirrormask.models.encoder import load
from mirrormask.models.glow import Flow
from mirrormask.objectives.mirror_nce import mirror_nce
from mirrormask.runs.recipe import build_recipe, read_recipe
from mirrormask.runs.runner import RunResult, run_recipe

RECIPES = Path(__file__).parents[2] / "recipes" / "bert-cf"


@pytest.fixture
def run(tiny_folder: Path, sentences: list[str], tmp_path: Path) -> Callable[..., RunResult]:
    def start(method: str, out: str, model: Path | None = None, **parameters: Any) -> RunResult:
        tables: dict[str, Any] = {
            "model": {"name": str(model or tiny_folder)},
            "method": {"name": method, **parameters},
            "training": {"steps": 4, "batch_size": 8, "precision": "fp32", "evaluate_every": 4},
        }
        return run_recipe(build_recipe(tables), tmp_path / out, source=sentences[:60])

    return start


def test_the_report_s_numbers() -> None:
    first, second = methods.build("bert-cf-contrast"), methods.build("bert-cf-flow")
    assert first.training == {**second.training, "learning_rate": 1e-4}
    assert {
        "batch_size": 16,
        "steps": 10_000,
        "weight_decay": 0.01,
        "learning_rate": 3e-4,
    }.items() <= second.training.items()
    assert second.objective.parts_of()[0][0] == 0.3
    assert second.frozen
    assert not first.frozen
    recorded = first.record()["views"][1]["views"]
    assert recorded == [{"type": "Dropout", "rate": 0.1}, {"type": "SpanMask", "stop": 0.3, "longest": 5}]


def test_one_direction_of_mirror_nce() -> None:
    """N(x_i) is f'(x_i') and, of the others, both views; positives do not look for their anchors."""
    drawn = torch.Generator().manual_seed(0)
    anchor, positive = torch.randn(5, 4, generator=drawn), torch.randn(5, 4, generator=drawn)
    unit = torch.nn.functional.normalize(torch.cat([anchor, positive]), dim=1)
    total = 0.0
    for i in range(5):
        among = [5 + i] + [j for k in range(5) if k != i for j in (k, 5 + k)]
        assert len(among) == 2 * 5 - 1
        scores = torch.stack([unit[i] @ unit[j] for j in among]) / 0.05
        total += float(torch.logsumexp(scores, 0) - scores[0])
    objective = methods.build("bert-cf-contrast", temperature=0.05).objective
    assert float(objective(Step(anchor, positive))) == pytest.approx(total / 5, rel=1e-5)
    assert float(mirror_nce(anchor, positive, temperature=0.05)) != pytest.approx(total / 5, rel=1e-3)


def test_contrast_then_a_flow_over_the_frozen_encoder(run: Callable[..., RunResult], sentences: list[str]) -> None:
    first = run("bert-cf-contrast", "first")
    second = run("bert-cf-flow", "second", model=first.model)
    before, after = (load_file(done.model / "model.safetensors") for done in (first, second))
    assert all(torch.equal(before[name], after[name]) for name in before)
    encoder = load(second.model, device="cpu")
    assert isinstance(encoder[-1], Flow)
    flow = encoder[-1]
    plain = load(first.model, device="cpu").encode(sentences[:9], convert_to_tensor=True)
    found = encoder.encode(sentences[:9], convert_to_tensor=True)
    with torch.no_grad():
        torch.testing.assert_close(found, flow.with_log_determinant(plain)[0], atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(flow.inverse(found), plain, atol=1e-3, rtol=1e-3)
    assert second.record["parts"]["flow"]["levels"] == 3


def test_jointly_the_contrast_moves_the_encoder(run: Callable[..., RunResult], tiny_folder: Path) -> None:
    def moved(done: RunResult) -> int:
        before, after = load_file(tiny_folder / "model.safetensors"), load_file(done.model / "model.safetensors")
        return sum(
            not np.array_equal(after[n].numpy(), before[f"bert.{n}"].float().numpy())
            for n in after
            if f"bert.{n}" in before
        )

    assert moved(run("bert-cf-flow", "joint", frozen=False)) > 20
    assert moved(run("bert-cf-flow", "alone", frozen=False, contrast=0.0)) == 0, "likelihood never does"


@pytest.mark.parametrize("path", sorted(RECIPES.glob("*.toml")), ids=lambda path: path.stem)
def test_the_recipes_are_whole(path: Path) -> None:
    recipe = read_recipe(path)
    assert path.read_text(encoding="utf-8").startswith(f"# mirrormask run recipes/bert-cf/{path.name}\n")
    assert recipe.data.min_words == 6
    assert recipe.data.dev == "stsb-dev"
    assert recipe.method.name in ("bert-cf-contrast", "bert-cf-flow")


def test_there_is_a_recipe_for_every_row() -> None:
    assert len(list(RECIPES.glob("*.toml"))) == 7


def test_a_recipe_fits_a_transform_at_its_end(tiny_folder: Path, sentences: list[str], tmp_path: Path) -> None:
    tables: dict[str, Any] = {
        "model": {"name": str(tiny_folder), "pooling": "mean"},
        "method": {"name": "simcse-unsup"},
        "transform": {"name": "whitening", "dimension": 5},
        "training": {"steps": 2, "batch_size": 8, "precision": "fp32"},
    }
    done = run_recipe(build_recipe(tables), tmp_path / "run", source=sentences)
    assert done.record["parts"]["transform"] == {"type": "Whitening", "dimension": 5}
    white = load(done.model, device="cpu").encode(sentences)
    np.testing.assert_allclose(np.cov(white.T), np.eye(5), atol=0.02)
    from mirrormask.core.errors import MirrormaskError

    for table, says in (
        ({"name": "whitning"}, "Did you mean 'whitening'"),
        ({"name": "whitening", "dimension": -1}, "must be at least 0"),
        ({"dimension": 3}, r"\[transform\] needs a name"),
    ):
        with pytest.raises(MirrormaskError, match=says):
            build_recipe({"transform": table})
