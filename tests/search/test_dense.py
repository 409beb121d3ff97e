from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.search import dense
from mirrormask.search.dense import Dense, DenseWriter
from mirrormask.search.storing import KINDS, Storing

WIDTH = 32


def clustered(rows: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    centers = np.random.default_rng(9).normal(size=(20, WIDTH))
    found = centers[rng.integers(0, 20, rows)] + 0.6 * rng.normal(size=(rows, WIDTH))
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of 400 rows, searched by a graph from 100 on."""
    monkeypatch.setattr(dense, "PIECE", 400)
    monkeypatch.setattr(dense, "EXACT", 100)


def written(folder: Path, vectors: Any, storing: Storing, old: Dense | None = None) -> Dense:
    writer = DenseWriter(folder, storing, old)
    for start in range(0, len(vectors), 190):
        writer.add(vectors[start : start + 190])
    writer.finish()
    return Dense(folder, Storing.read(storing.to_dict(), folder))


def recall(found: Any, truth: Any) -> float:
    return float(np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(found, truth, strict=True)]))


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize(("kind", "least"), [("fp32", 0.98), ("fp16", 0.98), ("int8", 0.9), ("binary", 0.4)])
def test_the_nearest_are_found_in_all_pieces(tmp_path: Path, kind: str, least: float) -> None:
    vectors, queries = clustered(950), clustered(20, seed=1)
    found = written(tmp_path / "v", vectors, Storing(kind).fit(vectors))
    assert [piece.ntotal for piece in found.pieces] == [400, 400, 150]
    scores, rows = found.search(queries, 10)
    truth = np.argsort(-(queries @ vectors.T), axis=1)[:, :10]
    assert recall(rows, truth) >= least
    assert (np.diff(scores, axis=1) <= 0).all()
    if kind != "binary":
        assert np.allclose(found.compared(queries[0], truth[0])[0], queries[0] @ vectors[truth[0]].T, atol=0.02)
        assert np.allclose(found.vectors(np.arange(950)), vectors, atol=0.1 if kind == "int8" else 1e-3)


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("step", [2, 50], ids=["many allowed", "few allowed"])
def test_only_what_is_allowed_is_found_and_enough_of_it(tmp_path: Path, kind: str, step: int) -> None:
    vectors, queries = clustered(950), clustered(5, seed=1)
    found = written(tmp_path / "v", vectors, Storing(kind).fit(vectors))
    allowed = np.arange(950) % step == 0
    _, rows = found.search(queries, 10, allowed)
    assert rows.shape == (5, 10) and allowed[rows].all()
    truth = np.argsort(-np.where(allowed, queries @ vectors.T, -9), axis=1)[:, :10]
    assert recall(rows, truth) >= (0.3 if kind == "binary" else 0.9)
    assert found.search(queries, 10, np.zeros(950, dtype=bool))[1].shape == (5, 0)


@pytest.mark.usefixtures("small_pieces")
def test_an_addition_links_whole_pieces_and_goes_on_with_the_last(tmp_path: Path) -> None:
    vectors = clustered(1000)
    storing = Storing().fit(vectors)
    old = written(tmp_path / "old", vectors[:500], storing)
    new = written(tmp_path / "new", vectors[500:], storing, old)
    assert new.paths[0].samefile(old.paths[0]) and not new.paths[1].samefile(old.paths[1])
    assert [piece.ntotal for piece in new.pieces] == [400, 400, 200]
    assert np.allclose(new.vectors(np.arange(1000)), vectors, atol=1e-3)
    assert len(old) == 500


def test_mean_and_deviation_of_all_scores_are_known_without_them(tmp_path: Path) -> None:
    vectors, queries = clustered(950), clustered(4, seed=2)
    found = written(tmp_path / "v", vectors, Storing("fp32").fit(vectors))
    mean, deviation = found.moments(queries)
    products = queries @ vectors.T
    assert np.allclose(mean, products.mean(1), atol=1e-5) and np.allclose(deviation, products.std(1), atol=1e-4)


def test_shorter_vectors_keep_what_varies_and_say_what_is_lost() -> None:
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(300, 8)) @ rng.normal(size=(8, WIDTH))
    vectors = (flat / np.linalg.norm(flat, axis=1, keepdims=True)).astype(np.float32)
    assert Storing("fp32", 8).fit(vectors).loss(vectors) < 0.01
    assert Storing("fp32", 2).fit(vectors).loss(vectors) > 0.3
    assert Storing("fp32").fit(vectors).loss(vectors) == 0
    losses = [Storing(kind).fit(vectors).loss(vectors) for kind in ("fp16", "int8", "binary")]
    assert losses == sorted(losses) and losses[0] < 0.01 < 0.2 < losses[2]
    assert [Storing(kind).fit(vectors).bytes_each for kind in KINDS] == [128, 64, 32, 4]
    with pytest.raises(MirrormaskError, match="Vectors of this encoder have 32 numbers. Got --dimensions 40."):
        Storing("fp16", 40).fit(vectors)
    with pytest.raises(MirrormaskError, match="must be one of fp32, fp16, int8, binary"):
        Storing("fp17")


def test_a_damaged_file_is_said(tmp_path: Path) -> None:
    vectors = clustered(50)
    storing = Storing().fit(vectors)
    path = written(tmp_path / "v", vectors, storing).paths[0]
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(DataError, match=r"The vectors in .* cannot be read .* Index the texts again\."):
        Dense(tmp_path / "v", storing)
