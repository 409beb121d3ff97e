"""`mteb` evaluates what mirrormask returns and saves, unchanged, and agrees with our own numbers."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirrormask.core.similarity import paired_cosine
from mirrormask.data.tasks.scored_pairs import ScoredPairs
from mirrormask.evaluation.statistics.correlation import spearman
from mirrormask.evaluation.sts import sts_spearman
from mirrormask.models.bulk import encode_texts
from mirrormask.models.encoder import load, save_encoder

mteb = pytest.importorskip("mteb")


@pytest.fixture
def pairs(sentences: list[str]) -> ScoredPairs:
    """Sentences against their neighbors, scored by the words they share."""
    left, right = zip(*itertools.pairwise(sentences[:80]), strict=True)
    shared = [len(set(a.split()) & set(b.split())) for a, b in zip(left, right, strict=True)]
    return ScoredPairs("shared words", "", left, right, np.array(shared, dtype=float), single=True, source="the test")


@pytest.fixture
def task(pairs: ScoredPairs, monkeypatch: pytest.MonkeyPatch) -> Any:
    """STSBenchmark as mteb has it, with rows written for this test in place of a download."""
    from datasets import Dataset, DatasetDict

    found = mteb.get_task("STSBenchmark")
    rows = {"sentence1": list(pairs.sentence1), "sentence2": list(pairs.sentence2), "score": pairs.scores.tolist()}

    def load_data(*_: Any, **__: Any) -> None:
        found.dataset = DatasetDict({"test": Dataset.from_dict(rows)})
        found.data_loaded = True

    monkeypatch.setattr(found, "load_data", load_data)
    return found


@pytest.mark.filterwarnings("ignore")  # mteb's own
@pytest.mark.parametrize("pooling", ["mean", "first-last", "mask-prompt"])
def test_mteb_gives_our_score(
    tiny: Callable[..., Any], task: Any, pairs: ScoredPairs, tmp_path: Path, pooling: str
) -> None:
    save_encoder(tiny(pooling=pooling), tmp_path / "model")
    encoder = load(tmp_path / "model", device="cpu")
    result = mteb.evaluate(encoder, [task], cache=None, show_progress_bar=False)
    (found,) = result.task_results
    score = found.scores["test"][0]
    exact = [encode_texts(encoder, side, precision="fp32") for side in (pairs.sentence1, pairs.sentence2)]
    ours = 100 * spearman(paired_cosine(*exact), pairs.scores)
    assert score["main_score"] == score["cosine_spearman"]
    assert 100 * score["main_score"] == pytest.approx(ours, abs=1e-2)
    assert sts_spearman(encoder, pairs) == pytest.approx(ours, abs=1.0), "in the precision the device is good at"
    assert abs(ours) > 1, "a score that is not zero by chance"
