"""Averaged word vectors against loops, opened by plain sentence-transformers and measured beside an encoder."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from typer.testing import CliRunner

from mirrormask.cli import app
from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.models.bulk import encode_texts
from mirrormask.models.encoder import load
from mirrormask.runs.average_words import average_words
from mirrormask.runs.recipe import build_recipe
from mirrormask.runs.runner import run_recipe


@pytest.fixture(scope="module")
def table(sentences: list[str]) -> dict[str, NDArray[np.float64]]:
    words = sorted({word for text in sentences for word in re.findall(r"\w+", text)} - {"boat"})
    drawn = np.random.default_rng(3).normal(size=(len(words), 6)) + np.arange(6)  # they have much in common
    return dict(zip(words, drawn.round(4), strict=True))


@pytest.fixture
def vectors(table: dict[str, NDArray[np.float64]], tmp_path: Path) -> Path:
    lines = [f"{word} {' '.join(map(str, row))}" for word, row in table.items()]
    (tmp_path / "vectors.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path / "vectors.txt"


def expected(weights: str, text: str, texts: list[str], table: dict[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the sum that a weighting says, before what is common is left out."""
    words = [re.findall(r"\w+", each.lower()) for each in texts]
    total = sum(word in table for each in words for word in each)
    found = np.zeros(6)
    for word in re.findall(r"\w+", text.lower()):
        if word in table:
            count = sum(each.count(word) for each in words)
            weight = {
                "plain": 1.0,
                "sif": 1e-3 / (1e-3 + count / total),
                "idf": math.log(len(texts) / max(1, sum(word in each for each in words))),
            }[weights]
            found += weight * table[word]
    return found


@pytest.mark.parametrize("weights", ["plain", "sif", "idf"])
def test_a_vector_is_its_formula(
    vectors: Path, table: dict[str, NDArray[np.float64]], sentences: list[str], tmp_path: Path, weights: str
) -> None:
    texts = sentences[:60]
    made = average_words(texts, out=tmp_path / "out", vectors=vectors, weights=weights)
    assert (made.words, made.dimensions, made.texts) == (len(table), 6, 60)
    asked = ["The old baker paints the river", "a wooden boat", "my neighbor finds bread in the garden"]
    found = SentenceTransformer(str(tmp_path / "out"), device="cpu").encode(asked)
    sums = np.stack([expected(weights, text, texts, table) for text in asked])
    if weights == "sif":
        lengths = np.array([len(re.findall(r"\w+|[^\w\s]", text)) for text in texts])
        every = np.stack([expected(weights, text, texts, table) for text in texts]) / lengths[:, None]
        u = np.linalg.svd(every)[2][0]
        sums = sums - np.outer(sums @ u, u)
    cosines = (found * sums).sum(axis=1) / np.linalg.norm(found, axis=1) / np.linalg.norm(sums, axis=1)
    np.testing.assert_allclose(cosines, 1, atol=1e-5)


def test_mirrormask_opens_it_and_its_bulk_pass_is_theirs(vectors: Path, sentences: list[str], tmp_path: Path) -> None:
    average_words(sentences[:60], out=tmp_path / "out", vectors=vectors)
    encoder = load(tmp_path / "out", device="cpu")
    theirs = SentenceTransformer(str(tmp_path / "out"), device="cpu").encode(sentences[:9])
    np.testing.assert_allclose(encode_texts(encoder, sentences[:9]), theirs, atol=1e-6)
    tables = {"model": {"name": str(tmp_path / "out")}, "training": {"steps": 1}}
    with pytest.raises(MirrormaskError, match="is a table of word vectors, and what is trained here is a transformer"):
        run_recipe(build_recipe(tables), tmp_path / "run", source=sentences[:40])


def test_without_a_text_the_order_of_the_file_tells(vectors: Path, sentences: list[str], tmp_path: Path) -> None:
    made = average_words(out=tmp_path / "out", vectors=vectors)
    assert "was told from its place in the file" in made.said[0]
    plain = average_words(out=tmp_path / "plain", vectors=vectors, weights="plain", limit=9)
    assert (plain.words, plain.said) == (9, ())
    with pytest.raises(MirrormaskError, match="Weights by idf need a text to count words in"):
        average_words(out=tmp_path / "idf", vectors=vectors, weights="idf")
    with pytest.raises(MirrormaskError, match="need a text, a file of vectors, or both"):
        average_words(out=tmp_path / "none")
    with pytest.raises(DataError, match="No word of the text has a vector"):
        average_words(["今天 下雨"], out=tmp_path / "other", vectors=vectors)


def test_its_own_vectors_and_evaluate_beside_an_encoder(
    sentences: list[str], tiny_folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "text.txt").write_text("\n".join(sentences), encoding="utf-8")
    out = tmp_path / "words"
    runner = CliRunner()
    made = runner.invoke(
        app, ["word-vectors", str(tmp_path / "text.txt"), "--out", str(out), "--dimensions", "16", "--json"]
    )
    assert made.exit_code == 0, made.output
    assert json.loads(made.stdout)["dimensions"] == 16
    pairs = ["sentence1,sentence2,score"]
    pairs += [
        f"{a},{b},{len(set(a.split()) & set(b.split()))}" for a, b in zip(sentences[:40], sentences[40:80], strict=True)
    ]
    (tmp_path / "pairs.csv").write_text("\n".join(pairs), encoding="utf-8")
    said = runner.invoke(
        app,
        ["evaluate", str(out), str(tiny_folder), "--data", str(tmp_path / "pairs.csv"), "--json", "--resamples", "20"],
    )
    assert said.exit_code == 0, said.output
    assert json.loads(said.stdout)["models"] == ["words", "tiny"]
    told = runner.invoke(app, ["info", str(out), "--json"])
    assert told.exit_code == 0, told.output
    assert json.loads(told.stdout)["opens_with"].startswith("SentenceTransformer")
