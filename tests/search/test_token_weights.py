"""Tokens that count by how rare they are: against the formula, the library's pooling, and what an index remembers."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirrormask.core.errors import MirrormaskError
from mirrormask.models.bulk import tokenize
from mirrormask.models.encoder import save_encoder
from mirrormask.search.index import Index
from mirrormask.search.text_encoder import TextEncoder
from mirrormask.search.token_weights import token_weights, weighted

TEXTS = ["the old baker", "the young pilot near the river", "some bread near the river", "the clock"]


def test_weights_are_those_of_the_formula(tiny: Callable[..., Any]) -> None:
    encoder = tiny()
    weights = token_weights(encoder, TEXTS)
    held = [set(row.tolist()) for row in tokenize(encoder, TEXTS).rows]
    for token in set.union(*held) | {len(weights) - 1}:
        holding = sum(token in row for row in held)
        expected = math.log(1 + (len(TEXTS) - holding + 0.5) / (holding + 0.5)) ** 0.15
        frames = token in encoder.tokenizer.all_special_ids
        assert weights[token] == pytest.approx(1.0 if frames else expected, rel=1e-5)


def test_a_vector_is_the_weighted_mean_of_its_tokens(tiny: Callable[..., Any]) -> None:
    encoder = tiny()
    weights = np.random.default_rng(0).random(len(encoder.tokenizer)).astype(np.float32)
    found = weighted(encoder, weights).encode(TEXTS, show_progress_bar=False)
    states = encoder.encode(TEXTS, output_value="token_embeddings", show_progress_bar=False)
    for vector, own, row in zip(found, states, tokenize(encoder, TEXTS).rows, strict=True):
        expected = np.average(own.numpy(), axis=0, weights=weights[row])
        np.testing.assert_allclose(vector, expected, atol=1e-5)


def test_an_index_remembers_its_weights(tiny_folder: Path, tmp_path: Path) -> None:
    index = Index.build(TEXTS, tmp_path / "ix", model=str(tiny_folder))
    assert index.record["encoder"]["tokens"] == "idf"
    model = TextEncoder.load(str(tiny_folder)).model
    weights = token_weights(model, TEXTS)
    query = weighted(model, weights).encode(["a river"], normalize_embeddings=True, show_progress_bar=False)[0]
    documents = weighted(model, weights).encode(TEXTS, normalize_embeddings=True, show_progress_bar=False)
    for opened in (index, index.add([{"id": "new", "text": "the moon"}]).delete(["new"])):
        hits = opened.search("a river", mode="vectors")  # by numpy alone
        assert {hit.id: hit.score for hit in hits} == pytest.approx(
            {str(row): float(score) for row, score in enumerate(documents @ query)}, abs=2e-3
        )
    plain = Index.build(TEXTS, tmp_path / "plain", model=str(tiny_folder), tokens="equal")
    assert {hit.score for hit in plain.search("a river", mode="vectors")} != {hit.score for hit in hits}
    with pytest.raises(MirrormaskError, match="was made with --tokens 'idf', not 'equal'"):
        indexing_with(index, "equal")


def indexing_with(index: Index, tokens: str) -> None:
    from mirrormask.search.indexing import Reading, build_index

    build_index(["a text"], index.folder, Reading(), tokens=tokens)


def test_tokens_are_equal_where_an_encoder_takes_no_mean_or_wants_prompts(
    tiny: Callable[..., Any], tmp_path: Path
) -> None:
    save_encoder(tiny(pooling="cls"), tmp_path / "cls")
    assert TextEncoder.load(str(tmp_path / "cls")).facts.tokens == "equal"
    with pytest.raises(MirrormaskError, match="are no mean of tokens. Leave out --tokens idf"):
        TextEncoder.load(str(tmp_path / "cls"), tokens="idf")
    save_encoder(tiny(pooling="mean"), tmp_path / "mean")
    assert TextEncoder.load(str(tmp_path / "mean")).facts.tokens == "idf"
    assert TextEncoder.load(str(tmp_path / "mean"), query_prompt="find: ").facts.tokens == "equal"
