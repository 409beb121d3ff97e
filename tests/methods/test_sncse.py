from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tests.methods.whole_step import ROWS, batch_of, built, cos, one_by_one

from mirrormask.core.batch import Batch, Tokens
from mirrormask.core.framing import frame_of
from mirrormask.data.pairs import pairings
from mirrormask.data.text.corpus import build_corpus
from mirrormask.data.text.tokens import LazyTokens, build_tokens
from mirrormask.methods import methods
from mirrormask.models.bulk import tokenize
from mirrormask.views.other_template import OTHER


def in_template(encoder: Any, rows: Tokens, template: str) -> Tokens:
    """Return the rows with another template around their texts."""
    own, other = encoder[0].frame, frame_of(encoder.tokenizer, template)
    texts = [row[len(own.prefix) : len(row) - len(own.suffix)] for row in rows.rows]
    return Tokens.of([np.concatenate([other.prefix, text, other.suffix]) for text in texts])


def test_a_step_is_the_papers_formula(tiny: Callable[..., Any], sentences: list[str]) -> None:
    method = built(tiny, "sncse", temperature=0.3, weight=0.7, near=0.001, far=0.01)
    encoder = method.encoder
    text = batch_of(encoder, sentences).columns[0]
    turned = batch_of(encoder, sentences, first=ROWS).columns[0]
    found = method(Batch((text, text, turned)), 0)
    a, p, n = (
        method.head(one_by_one(encoder, rows))  # type: ignore[misc]
        for rows in (text, in_template(encoder, text, OTHER), in_template(encoder, turned, OTHER))
    )
    expected = 0.0
    for i in range(ROWS):
        total = sum(torch.exp(cos(a[i], p[j]) / 0.3) for j in range(ROWS))
        expected -= torch.log(torch.exp(cos(a[i], p[i]) / 0.3) / total).item() / ROWS
        less = (cos(a[i], n[i]) - cos(a[i], p[i])).item()
        expected += 0.7 * (max(0.0, less + 0.001) + max(0.0, -less - 0.01)) / ROWS
    assert abs(found.item() - expected) < 1e-10


def test_negations_are_the_third_column(tiny: Callable[..., Any], sentences: list[str], tmp_path: Path) -> None:
    """The same from tokens on disk and from those made when they are asked for, cut where the others are."""
    encoder = tiny(pooling="mean")
    corpus = build_corpus(["the old baker paints a boat", *sentences[:3]], tmp_path / "corpus")
    lazy = LazyTokens(corpus, encoder.tokenizer, max_tokens=7)
    stored, again = (build_tokens(corpus, encoder.tokenizer, tmp_path / "tokens", max_tokens=7) for _ in range(2))
    wanted = tokenize(encoder, ["the old baker does not paint a boat"]).rows[0][1:8]
    for tokens in (lazy, stored, again):
        examples = pairings.build("negation").index(corpus, tokens, tmp_path / "pairs")
        one, two, turned = examples.columns(np.array([0, 2]), 5)
        assert np.array_equal(one[0], two[0])
        assert turned[0].tolist() == wanted.tolist()
        assert len(turned[1]) == 7


def test_it_has_the_published_constants() -> None:
    built = methods.build("sncse")
    loss = built.record()["objective"]
    assert (loss["near"], loss["far"], loss["weight"], loss["temperature"]) == (0.1, 0.3, 1e-3, 0.05)
    assert (built.pairing, built.pooling) == (("negation", {}), "mask-prompt")
    assert (built.training["batch_size"], built.training["learning_rate"]) == (256, 1e-5)
