from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from mirrormask.core.batch import Tokens
from mirrormask.core.errors import MirrormaskError
from mirrormask.core.framing import frame_of
from mirrormask.models.bulk import tokenize
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.views import Vocabulary
from mirrormask.views.mlm_replacement import MLMReplacement, choose_positions, draw_tokens


@pytest.fixture
def setting(tiny: Callable[..., Any], sentences: list[str]) -> tuple[Any, Tokens, Vocabulary]:
    encoder = tiny()
    tokenizer = encoder.tokenizer
    starts = np.ones(len(tokenizer), dtype=np.bool_)
    special = frozenset(tokenizer.all_special_ids)
    vocabulary = Vocabulary(frame_of(tokenizer), starts, tokenizer.mask_token_id, special)
    return encoder, tokenize(encoder, sentences[:200]), vocabulary


def test_positions_are_chosen_at_the_rate_and_never_in_the_frame(setting: tuple[Any, Tokens, Vocabulary]) -> None:
    _, rows, vocabulary = setting
    places = choose_positions(rows, vocabulary, 0.15, np.random.default_rng(0))
    text = int(rows.lengths.sum()) - 2 * len(rows)
    assert abs(sum(len(each) for each in places) / text - 0.15) < 0.03
    for row, chosen in zip(rows.rows, places, strict=True):
        assert all(0 < place < len(row) - 1 for place in chosen)


def test_tokens_are_drawn_by_softmax_without_the_barred() -> None:
    scores = torch.log(torch.tensor([[0.5, 0.3, 0.15, 0.05]])).repeat(20_000, 1)
    drawn = draw_tokens(scores, frozenset({0}), np.random.default_rng(0))
    shares = [float((drawn == token).mean()) for token in range(4)]
    assert shares == pytest.approx([0, 0.6, 0.3, 0.1], abs=0.015)


def test_replacements_come_from_the_language_model(
    setting: tuple[Any, Tokens, Vocabulary], monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder, rows, vocabulary = setting
    view = MLMReplacement(0.3)
    view.attach(encoder, None)
    kept = [row.copy() for row in rows.rows]
    asked: list[Tokens] = []

    def logits(self: MaskedLM, tokens: Tokens, positions: list[np.ndarray], **_: Any) -> torch.Tensor:
        asked.append(Tokens.of([row.copy() for row in tokens.rows]))
        found = torch.full((sum(len(p) for p in positions), 100), -50.0)
        found[:, 40] = 50.0
        return found

    monkeypatch.setattr(MaskedLM, "logits", logits)
    seen = view.rewrite(rows, np.random.default_rng(3), vocabulary)
    places = choose_positions(rows, vocabulary, 0.3, np.random.default_rng(3))
    for old, new, masked, chosen in zip(kept, seen.rows, asked[0].rows, places, strict=True):
        expected = old.astype(np.int64)
        expected[chosen] = encoder.tokenizer.mask_token_id
        assert masked.tolist() == expected.tolist(), "the language model sees the masks"
        expected[chosen] = 40
        assert new.tolist() == expected.tolist()
    assert all(np.array_equal(a, b) for a, b in zip(kept, rows.rows, strict=True)), "the rows given stay as they were"


def test_the_real_model_changes_words_and_is_not_trained(setting: tuple[Any, Tokens, Vocabulary]) -> None:
    encoder, rows, vocabulary = setting
    view = MLMReplacement()
    view.attach(encoder, None)
    one, two, three = (view.rewrite(rows, np.random.default_rng(seed), vocabulary) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(one.rows, two.rows, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(one.rows, three.rows, strict=True))
    assert not any(vocabulary.special_ids & set(row[1:-1].tolist()) for row in one.rows)
    assert (one.lengths == rows.lengths).all()
    assert list(view.parameters()) == []
    assert list(view.state_dict()) == []


def test_it_needs_a_language_model(tiny: Callable[..., Any]) -> None:
    encoder = tiny()
    del encoder.mirrormask_source
    with pytest.raises(MirrormaskError, match="mlm-replacement needs an encoder built from a masked language model"):
        MLMReplacement().attach(encoder, None)
