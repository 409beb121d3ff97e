from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mirrormask.core.batch import Frame, Tokens
from mirrormask.core.errors import MirrormaskError
from mirrormask.models.bulk import tokenize
from mirrormask.views import Vocabulary
from mirrormask.views.character_span_mask import CharacterSpanMask, mask_characters

LONG = "abcdefghijklmnopqrstuvwxyz0123456789"  # no two places look alike


def masked(text: str, *, faithful: bool = False, seed: int = 0, **options: int) -> str:
    given = {"length": 5, "shortest": 30, **options}
    return mask_characters(text, "#", faithful=faithful, rng=np.random.default_rng(seed), **given)


@pytest.mark.parametrize(("faithful", "places"), [(False, 32), (True, 31)])
def test_five_characters_give_way_to_one_mask_anywhere(faithful: bool, places: int) -> None:
    starts: Counter[int] = Counter()
    for seed in range(3000):
        left, right = masked(LONG, faithful=faithful, seed=seed).split(" # ")
        assert left == LONG[: len(left)]
        assert right == LONG[len(left) + 5 :]
        starts[len(left)] += 1
    assert set(starts) == set(range(places)), "published: never the last character"
    assert min(starts.values()) > 45


def test_the_published_code_takes_the_first_place_with_the_same_characters() -> None:
    text = "so it is so it is so it is so it is so it is"
    firsts = {len(masked(text, faithful=True, seed=seed).split(" # ")[0]) for seed in range(300)}
    assert max(firsts) < 9, "all places repeat the first nine"
    assert max(len(masked(text, seed=seed).split(" # ")[0]) for seed in range(300)) > 30


def test_short_texts_stay() -> None:
    assert masked(LONG[:29]) == LONG[:29]
    assert masked(LONG[:30]) != LONG[:30]
    assert masked("abcde", shortest=1) == "abcde", "a text is never only a mask"
    assert "#" in masked("abcdef", shortest=1)


def test_rows_are_tokenized_anew_around_the_mask(tiny: Callable[..., Any]) -> None:
    encoder = tiny()
    words = Vocabulary.of(encoder)
    texts = ["the tall engineer describes the broken clock near the river", "a boat"]
    rows = tokenize(encoder, texts)
    mask = encoder.tokenizer.mask_token_id
    for seed in range(20):
        seen = CharacterSpanMask().rewrite(rows, np.random.default_rng(seed), words).rows
        assert (seen[0] == mask).sum() == 1
        assert [seen[0][0], seen[0][-1]] == [rows.rows[0][0], rows.rows[0][-1]]
        left, right = words.text_of(seen[0][1:-1]).split("[MASK]")
        kept = left.rstrip(), right.lstrip()
        assert texts[0].startswith(kept[0])
        assert texts[0].endswith(kept[1])
        assert seen[1].tolist() == rows.rows[1].tolist(), "too short"
    assert CharacterSpanMask().forward_key == "plain"


def test_the_tokenizers_own_mask_is_written(wordpiece: Any) -> None:
    """RoBERTa's mask is <mask>; the published code writes [MASK] there too, which is no mask to it."""
    tokenizer = copy.deepcopy(wordpiece)
    tokenizer.add_special_tokens({"mask_token": "<mask>"})
    ids = np.array(tokenizer("the old boat crossed the wide river while one bird sang")["input_ids"])
    frame = Frame(ids[:1], ids[-1:])
    words = Vocabulary(frame, np.ones(len(tokenizer), bool), tokenizer.mask_token_id, frozenset(), tokenizer)
    for faithful, masks in ((False, 1), (True, 0)):
        seen = CharacterSpanMask(faithful=faithful).rewrite(Tokens.of([ids]), np.random.default_rng(0), words)
        assert (seen.rows[0] == tokenizer.mask_token_id).sum() == masks


def test_a_tokenizer_without_a_mask_and_a_length_of_nothing_are_refused() -> None:
    with pytest.raises(MirrormaskError, match="The view character-span-mask needs a tokenizer with a mask token"):
        CharacterSpanMask().attach(SimpleNamespace(tokenizer=SimpleNamespace(mask_token_id=None)), None)
    with pytest.raises(MirrormaskError, match="The 'length' of character-span-mask must be at least 1. Got 0."):
        CharacterSpanMask(length=0)
