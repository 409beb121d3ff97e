from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch

from mirrormask.core.batch import Batch, text_ids_of
from mirrormask.core.errors import MirrormaskError
from mirrormask.methods import methods
from mirrormask.models.bulk import tokenize
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.objectives import WeightedSum
from mirrormask.objectives.info_nce import InfoNCE
from mirrormask.objectives.masked_lm_loss import MaskedLMLoss
from mirrormask.runs.recipe import build_recipe
from mirrormask.runs.runner import run_recipe
from mirrormask.training.method import Method
from mirrormask.views import Vocabulary


def test_the_constants_are_the_papers() -> None:
    built = methods.build("supervised-simcse")
    loss = cast(InfoNCE, built.objective)
    assert (loss.temperature, loss.hard_weight, loss.both_directions, loss.mask_same_text) == (0.05, 0.0, False, True)
    assert (built.pooling, built.pairing) == ("cls-mlp-kept", ("columns", {}))
    assert {key: built.training[key] for key in ("batch_size", "learning_rate", "epochs", "max_length")} == {
        "batch_size": 512,
        "learning_rate": 5e-5,
        "epochs": 3.0,
        "max_length": 32,
    }
    assert methods.build("simcse-sup").record() == built.record(), "the earlier name"


def test_the_auxiliary_has_its_weight_and_its_rate() -> None:
    built = methods.build("supervised-simcse", masked_lm=0.1)
    (one, contrast), (weight, guess) = cast(WeightedSum, built.objective).parts_of()
    assert one == 1.0 and isinstance(contrast, InfoNCE)
    assert weight == 0.1 and isinstance(guess, MaskedLMLoss)
    assert (guess.rate, guess.faithful) == (0.15, False)
    faithful = methods.build("supervised-simcse", masked_lm=0.1, faithful=True).objective
    (_, contrast), (_, guess) = cast(WeightedSum, faithful).parts_of()
    assert cast(MaskedLMLoss, guess).faithful and not cast(InfoNCE, contrast).mask_same_text
    with pytest.raises(MirrormaskError, match=r"The 'masked_lm' of supervised-simcse must be at least 0. Got -1"):
        methods.build("supervised-simcse", masked_lm=-1)


def test_every_anchor_sees_every_hard_negative_and_its_own_with_the_weight(
    tiny: Callable[..., Any], sentences: list[str]
) -> None:
    """The loss of three columns is Eq. 5, written as a loop, with the logit on the own pair."""
    encoder = tiny(pooling="mean").eval()
    columns = tuple(tokenize(encoder, sentences[start : start + 5]) for start in (0, 5, 10))
    method = Method(encoder, methods.build("supervised-simcse", hard_weight=0.7), Vocabulary.of(encoder)).eval()
    with torch.no_grad():
        found = method(Batch(columns, text_ids=text_ids_of(columns))).item()
    a, p, h = (encoder.encode(sentences[start : start + 5]).astype(np.float64) for start in (0, 5, 10))
    a, p, h = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (a, p, h))
    losses = []
    for i in range(5):
        total = sum(np.exp(a[i] @ p[j] / 0.05) + np.exp(a[i] @ h[j] / 0.05 + 0.7 * (i == j)) for j in range(5))
        losses.append(-np.log(np.exp(a[i] @ p[i] / 0.05) / total))
    assert found == pytest.approx(np.mean(losses), abs=1e-4)


@pytest.mark.parametrize("width", [2, 3])
def test_pairs_and_triplets_train_with_the_auxiliary_in_small_parts(
    width: int, tiny_folder: Path, sentences: list[str], tmp_path: Path
) -> None:
    """With large batches the same weights come out, and the head that was trained is the one that is saved."""
    rows = list(zip(*(sentences[40 * column : 40 * column + 40] for column in range(width)), strict=True))
    found = []
    for large_batch in (0, 8):
        tables = {
            "model": {"name": str(tiny_folder), "pooling": "mean"},
            "method": {"name": "supervised-simcse", "masked_lm": 0.1},
            "training": {
                "steps": 3,
                "batch_size": 16,
                "learning_rate": 1e-3,
                "precision": "fp32",
                "large_batch": large_batch,
            },
        }
        run = run_recipe(build_recipe(tables), tmp_path / f"run{large_batch}", source=rows)
        lm = MaskedLM.load(run.model, device="cpu")
        found.append(lm.model.get_output_embeddings().weight.detach())
        assert lm.model.get_output_embeddings().weight is lm.model.get_input_embeddings().weight
    start = MaskedLM.load(tiny_folder, device="cpu").model.get_output_embeddings().weight
    assert (found[0] - start).abs().max() > 1e-3, "it was trained"
    assert found[0].shape == found[1].shape
