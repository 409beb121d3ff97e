"""A transform fitted on text: saved with the model, and what the text is too little for or far from is said."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirrormask.core.errors import DataError, MirrormaskError, MirrormaskWarning
from mirrormask.isotropy import transforms
from mirrormask.isotropy.fitting_on_text import different, fit_on_texts, mean_cosine, transform_model
from mirrormask.isotropy.without_mean import Centering
from mirrormask.models.description import describe_model
from mirrormask.models.encoder import load

KINDS = ["whitening", "centering", "standardization", "component-removal"]


def test_mean_cosine_is_that_of_all_pairs() -> None:
    rows = np.random.default_rng(0).normal(size=(7, 3)) + 1
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    pairs = [unit[i] @ unit[j] for i in range(7) for j in range(7) if i != j]
    assert mean_cosine(rows) == pytest.approx(np.mean(pairs))


def test_texts_are_read_once_and_blank_ones_not_at_all() -> None:
    assert list(different(["a", " ", "b", "a", "", "c"])) == ["a", "b", "c"]


@pytest.mark.parametrize("kind", [*KINDS, "flow"])
def test_a_fresh_process_gives_the_same_vectors(
    kind: str, tiny_folder: Path, sentences: list[str], tmp_path: Path
) -> None:
    """Linear maps open with plain sentence-transformers, a flow with mirrormask."""
    transform = transforms.build(kind)
    found = transform_model(str(tiny_folder), sentences, tmp_path / "out", transform)
    assert found.texts == 400
    assert abs(found.after) < 0.05 < found.before
    plain = load(tiny_folder, device="cpu").encode(sentences[:30], convert_to_tensor=True)
    expected = load(tmp_path / "out", device="cpu").encode(sentences[:30])
    np.testing.assert_allclose(expected, transform.transform(plain).numpy(), atol=1e-3)
    opening = (
        "from mirrormask import load"
        if kind == "flow"
        else "from sentence_transformers import SentenceTransformer as load"
    )
    (tmp_path / "texts.txt").write_text("\n".join(sentences[:30]), encoding="utf-8")
    code = (
        f"{opening}; import sys, numpy\n"
        "texts = open(sys.argv[2], encoding='utf-8').read().splitlines()\n"
        "numpy.save(sys.argv[3], load(sys.argv[1], device='cpu').encode(texts))\n"
        "assert ('mirrormask' in sys.modules) == ('mirrormask' in sys.argv[4])"
    )
    command = [sys.executable, "-c", code, *(str(tmp_path / name) for name in ("out", "texts.txt", "v.npy")), opening]
    subprocess.run(command, check=True)
    np.testing.assert_allclose(np.load(tmp_path / "v.npy"), expected, atol=1e-5)
    described = describe_model(str(tmp_path / "out"))
    assert described["transform"] == transform.name
    assert described["fitted_on"] == "400 texts"


def test_few_texts_are_said(tiny: Callable[..., Any], sentences: list[str]) -> None:
    with pytest.warns(MirrormaskWarning, match="100 texts are few for vectors of 32 dimensions.* From 320 on"):
        fit_on_texts(tiny(pooling="mean"), sentences[:100], transforms.build("whitening"))


def test_other_texts_are_said(tiny: Callable[..., Any], sentences: list[str]) -> None:
    other = [f"{text} this sentence means {word}: {word}, {word}." for word in ("a", "b") for text in ("x", "y", "z z")]
    with pytest.warns(MirrormaskWarning, match="unlike those that centering was fitted on"):
        found = fit_on_texts(tiny(pooling="mean"), sentences, Centering(), meant_for=other)
    assert found.there is not None
    assert found.there > 0.1


def test_like_texts_pass_in_silence(tiny: Callable[..., Any], sentences: list[str]) -> None:
    found = fit_on_texts(tiny(pooling="mean"), sentences[:340], Centering(), meant_for=sentences[340:])
    assert found.there is not None
    assert abs(found.there) < 0.03


def test_a_transform_on_a_transform(tiny: Callable[..., Any], sentences: list[str]) -> None:
    encoder = tiny(pooling="mean")
    fit_on_texts(encoder, sentences, transforms.build("whitening", dimension=8))
    found = fit_on_texts(encoder, sentences, transforms.build("flow", levels=2))
    assert found.dimension == 8
    assert encoder.mirrormask_transform == "whitening + flow"
    assert encoder.encode(sentences[:3]).shape == (3, 8)


def test_what_cannot_be(tiny_folder: Path, sentences: list[str], tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(MirrormaskError, match="is not empty, and holds no model made by this"):
        transform_model(str(tiny_folder), sentences, tmp_path / "full", Centering())
    assert (tmp_path / "full" / "mine.txt").read_text(encoding="utf-8") == "mine"
    with pytest.raises(DataError, match="needs more vectors than a vector has dimensions, 32, and there are 20"):
        transform_model(str(tiny_folder), sentences[:20], tmp_path / "new", transforms.build("whitening"))
    assert not list((tmp_path / "new").iterdir())
    with pytest.raises(DataError, match="texts that will be encoded are none, or blank"):
        transform_model(str(tiny_folder), sentences, tmp_path / "new", Centering(), meant_for=[" "])
    with pytest.raises(DataError, match="and there is none"):
        transform_model(str(tiny_folder), [" ", ""], tmp_path / "new", Centering())


def test_the_limit_is_kept(tiny: Callable[..., Any], sentences: list[str]) -> None:
    assert fit_on_texts(tiny(pooling="mean"), sentences, Centering(), limit=330).texts == 330
