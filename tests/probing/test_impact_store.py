from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.probing import impact_store
from mirrormask.probing.impact import Impact, impact_matrices
from mirrormask.probing.impact_store import ImpactStore, write_impacts


@pytest.fixture
def lm(tiny_folder: Path) -> MaskedLM:
    return MaskedLM.load(tiny_folder, device="cpu")


@pytest.fixture
def words(sentences: list[str]) -> list[list[str]]:
    return [text.rstrip(".").split()[: 2 + number % 5] for number, text in enumerate(sentences[:23])]


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(impact_store, "_SHARD", 5)


def test_what_is_written_is_read_back(lm: MaskedLM, words: list[list[str]], tmp_path: Path) -> None:
    done: list[int] = []
    store = write_impacts(tmp_path / "store", lm, words, precision="fp32", progress=done.append)
    expected = list(impact_matrices(lm, words, precision="fp32"))
    assert len(store) == sum(done) == 23
    for place, (one, other) in enumerate(zip(ImpactStore(tmp_path / "store"), expected, strict=True)):
        np.testing.assert_allclose(one, other, atol=2e-5)
        np.testing.assert_array_equal(store[place], one)
    with pytest.raises(IndexError):
        store[23]


def test_several_layers_keep_their_shape(lm: MaskedLM, words: list[list[str]], tmp_path: Path) -> None:
    store = write_impacts(tmp_path, lm, words[:6], Impact(layer=(1, 3)), precision="fp32")
    assert [matrix.shape for matrix in store] == [(2, len(each), len(each)) for each in words[:6]]
    assert len(write_impacts(tmp_path, lm, words[:6], Impact(layer=(1, 3)), precision="fp32")) == 6


def test_a_killed_run_goes_on_where_it_ended(
    lm: MaskedLM, words: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = list(write_impacts(tmp_path / "whole", lm, words, precision="fp32"))
    run, ran = impact_store.impact_matrices, 0

    def killed_after(count: int) -> Any:
        def matrices(*given: Any, **options: Any) -> Iterator[Any]:
            nonlocal ran
            for matrix in run(*given, **options):
                if ran == count:
                    raise KeyboardInterrupt
                ran += 1
                yield matrix

        return matrices

    monkeypatch.setattr(impact_store, "impact_matrices", killed_after(14))
    with pytest.raises(KeyboardInterrupt):
        write_impacts(tmp_path / "killed", lm, words, precision="fp32")
    assert len(ImpactStore(tmp_path / "killed")) == 10  # whole shards only
    (tmp_path / "killed" / "000002.safetensors").write_bytes(b"torn")  # in no index: written anew
    ran = 0
    monkeypatch.setattr(impact_store, "impact_matrices", killed_after(99))
    again = write_impacts(tmp_path / "killed", lm, words, precision="fp32")
    assert ran == 23 - 10
    for one, other in zip(again, whole, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-5)


def test_a_finished_store_runs_nothing_and_can_grow(
    lm: MaskedLM, words: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_impacts(tmp_path, lm, words[:7], precision="fp32")
    kept = (tmp_path / "000001.safetensors").read_bytes()
    assert len(write_impacts(tmp_path, lm, words, precision="fp32")) == 23
    assert (tmp_path / "000001.safetensors").read_bytes() == kept
    monkeypatch.setattr("mirrormask.probing.impact._Prober.block", lambda self, block: [][len(block) :])
    assert len(write_impacts(tmp_path, lm, words, precision="fp32")) == 23


def test_another_run_is_refused(lm: MaskedLM, words: list[list[str]], tmp_path: Path) -> None:
    write_impacts(tmp_path, lm, words[:7], precision="fp32")
    with pytest.raises(DataError, match="begun with another impact"):
        write_impacts(tmp_path, lm, words[:7], Impact(layer=1), precision="fp32")
    with pytest.raises(DataError, match="begun with another precision"):
        write_impacts(tmp_path, lm, words[:7], precision="bf16")
    with pytest.raises(DataError, match="begun with other sentences: they differ from line 6 on"):
        write_impacts(tmp_path, lm, [*words[:6], ["bread"]], precision="fp32", label="Line")
    with pytest.raises(DataError, match="begun with other sentences"):
        write_impacts(tmp_path, lm, words[:6], precision="fp32")
    with torch.no_grad():
        next(lm.parameters()).add_(1)
    with pytest.raises(DataError, match="begun with another model"):
        write_impacts(tmp_path, lm, words[:7], precision="fp32")


def test_errors_name_the_line_of_the_whole(lm: MaskedLM, words: list[list[str]], tmp_path: Path) -> None:
    write_impacts(tmp_path, lm, words[:10], precision="fp32")
    with pytest.raises(DataError, match="Line 12 is empty"):
        write_impacts(tmp_path, lm, [*words[:11], []], precision="fp32", label="Line")


def test_what_is_no_store_is_said_so(lm: MaskedLM, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no impact matrices"):
        ImpactStore(tmp_path)
    (tmp_path / "index.json").write_text(json.dumps({"format": 9}))
    with pytest.raises(DataError, match="is no index of impact matrices"):
        ImpactStore(tmp_path)
    (tmp_path / "index.json").write_text("{")
    with pytest.raises(DataError, match="is no index of impact matrices"):
        ImpactStore(tmp_path)
    with pytest.raises(MirrormaskError, match="is, or lies under, a file"):
        write_impacts(tmp_path / "index.json", lm, [])


def test_a_torn_shard_is_named(lm: MaskedLM, words: list[list[str]], tmp_path: Path) -> None:
    store = write_impacts(tmp_path, lm, words[:3], precision="fp32")
    (tmp_path / "000000.safetensors").write_bytes(b"torn")
    with pytest.raises(DataError, match="cannot be read"):
        list(store)


def test_nothing_makes_an_empty_store(lm: MaskedLM, tmp_path: Path) -> None:
    assert list(write_impacts(tmp_path, lm, [])) == []
