from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from mirrormask.core.batch import Tokens
from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.prompting.cloze import Cloze, mask_states, padded_words, word_scores
from mirrormask.prompting.pattern import Pattern
from mirrormask.prompting.verbalizer import Verbalizer, parse_labels
from mirrormask.prompting.word_search import find_words
from mirrormask.prompting.zero_shot import labels_of, zero_shot

TEXTS = [{"text": t} for t in ("the old baker paints a wooden boat", "a quiet child", "the gray cat finds some bread")]
WORDS = Verbalizer({"a": ["boat", "river"], "b": ["child"]})


@pytest.fixture(scope="module")
def lm(tiny_folder: Path) -> MaskedLM:
    return MaskedLM.load(tiny_folder)


def cloze(lm: MaskedLM, template: str = "{text} means [MASK].", words: Verbalizer | None = WORDS) -> Cloze:
    return Cloze(lm, Pattern(template, lm.tokenizer, 64), words)


def slow_scores(lm: MaskedLM, text: str, word: str) -> float:
    """The log probability of a word of several tokens, each forward by the library alone."""
    tokens = lm.tokenizer(word, add_special_tokens=False)["input_ids"]
    ids = lm.tokenizer(text.replace("[MASK]", "[MASK] " * len(tokens)))["input_ids"]
    places = [i for i, token in enumerate(ids) if token == lm.tokenizer.mask_token_id]
    left, total = dict(zip(places, tokens, strict=True)), 0.0
    while left:
        with torch.no_grad():
            scores = lm.model(torch.tensor([ids])).logits[0].log_softmax(-1)
        best = max(left, key=lambda place: scores[place, left[place]].item())
        total += scores[best, left[best]].item()
        ids[best] = left.pop(best)
    return total


def test_scores_are_the_library_s_at_the_mask(lm: MaskedLM) -> None:
    found = cloze(lm).word_scores(TEXTS)
    for row, fields in zip(found, TEXTS, strict=True):
        expected = [slow_scores(lm, f"{fields['text']} means [MASK].", word) for word in ("boat", "river", "child")]
        assert row == pytest.approx(expected, abs=1e-4)


def test_several_patterns_in_one_forward_are_each_by_itself(lm: MaskedLM) -> None:
    patterns = [cloze(lm), cloze(lm, "this sentence: [MASK] {text}")]
    for one, found in zip(patterns, word_scores(patterns, TEXTS), strict=True):
        assert found == pytest.approx(one.word_scores(TEXTS), abs=1e-5)


def test_words_of_several_tokens_are_read_the_most_confident_first(lm: MaskedLM) -> None:
    found = cloze(lm, "{text} means [MASKS].", None).word_scores(TEXTS[:2], [("boat", "boats"), ("childish", "boat")])
    for row, fields, words in zip(found, TEXTS, (("boat", "boats"), ("childish", "boat")), strict=False):
        expected = [slow_scores(lm, f"{fields['text']} means [MASK].", word) for word in words]
        assert row == pytest.approx(expected, abs=1e-4)


def test_at_once_is_one_forward_with_all_masks(lm: MaskedLM) -> None:
    one = cloze(lm, "{text} means [MASK*2].", Verbalizer({"a": ["boats"], "b": ["child"]}))
    rows = one.pattern.rows(TEXTS)
    scores = one.at_once(rows, one.word_table())
    ids = [int(i) for i in one.words[0][0]]
    with torch.no_grad():
        wanted = lm.model(torch.from_numpy(rows.tokens.rows[0])[None]).logits[0].log_softmax(-1)
    first, second = rows.masks[0].tolist()
    assert scores[0, 0].item() == pytest.approx((wanted[first, ids[0]] + wanted[second, ids[1]]).item(), abs=1e-4)
    assert scores[0, 1].item() == pytest.approx(wanted[first, one.words[1][0][0]].item(), abs=1e-4)
    scores.sum().backward()
    assert lm.model.get_input_embeddings().weight.grad is not None
    lm.zero_grad(set_to_none=True)


def test_soft_tokens_are_read_from_their_embeddings(lm: MaskedLM) -> None:
    rows = Pattern("{text} [P*2] [MASK].", lm.tokenizer).rows(TEXTS)
    table = lm.model.get_input_embeddings().weight
    words = lm.tokenizer("this means", add_special_tokens=False)["input_ids"]
    plain = Pattern("{text} this means [MASK].", lm.tokenizer).rows(TEXTS)
    with torch.no_grad():
        assert torch.allclose(mask_states(lm, rows, table[words]), mask_states(lm, plain), atol=1e-5)
        assert not torch.allclose(mask_states(lm, rows, table[words[::-1]]), mask_states(lm, plain), atol=1e-3)


def test_calibration_takes_the_prior_off(lm: MaskedLM) -> None:
    one = cloze(lm)
    shot = zero_shot([one], TEXTS, TEXTS)
    words = one.word_scores(TEXTS)
    freed = words - np.log(np.exp(words).mean(0))
    scores = np.stack([freed[:, :2].mean(1), freed[:, 2]], 1)
    expected = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    assert shot.calibrated == pytest.approx(expected, abs=1e-5)
    assert np.exp(shot.plain).sum(1) == pytest.approx(np.ones(3))
    assert zero_shot([one], TEXTS, None).calibrated is None
    assert labels_of(one, words).shape == (3, 2)


def test_found_words_tell_the_labels_apart(lm: MaskedLM) -> None:
    fields = [{"text": text} for text in ("a boat", "two boats", "the old boat", "a child", "the quiet child")]
    labels = ["sea", "sea", "sea", "home", "home"]
    one = cloze(lm, words=None)
    found = find_words([one], fields, labels, TEXTS, words=3, candidates=20)
    assert set(found) == {"sea", "home"}
    assert not {word for word, _ in found["sea"]} & {word for word, _ in found["home"]}
    word, score = found["sea"][0]
    number = lm.tokenizer.convert_tokens_to_ids(word)
    with torch.no_grad():
        chance = one.token_scores(one.pattern.rows(fields))[:, number].exp().double()
    odds = (chance / (1 - chance)).log()
    assert score == pytest.approx((odds[:3].mean() - odds[3:].mean()).item(), abs=1e-4)
    with pytest.raises(DataError, match="at least two labels"):
        find_words([one], fields[:3], labels[:3], TEXTS)


def test_what_is_wrong_with_words_is_said(lm: MaskedLM) -> None:
    with pytest.raises(MirrormaskError, match="label 'b' has no word"):
        Verbalizer({"a": ["boat"], "b": []})
    with pytest.raises(MirrormaskError, match="'boat' stands for the labels 'a' and 'b'"):
        Verbalizer({"a": ["boat"], "b": ["boat"]})
    with pytest.raises(MirrormaskError, match="At least two labels"):
        Verbalizer({"a": ["boat"]})
    with pytest.raises(MirrormaskError, match=r"'boats' is 2 tokens \(boat, ##s\), and the template has 1 mask\."):
        cloze(lm, words=Verbalizer({"a": ["boats"], "b": ["child"]}))
    with pytest.raises(MirrormaskError, match=r"has 2 masks, and the longest word has 1 token\. Write \[MASK\*1\]"):
        cloze(lm, "{text} [MASK*2]", WORDS)
    with pytest.raises(MirrormaskError, match="does not know the word '道'"):
        cloze(lm, words=Verbalizer({"a": ["道"], "b": ["child"]}))


def test_labels_of_the_command_line() -> None:
    assert parse_labels("good, bad") == {"good": ("good",), "bad": ("bad",)}
    assert parse_labels("1=good|great,0=bad") == {"1": ("good", "great"), "0": ("bad",)}
    for text, says in (("good,,bad", "must be like"), ("a=x,a=y", "'a' twice")):
        with pytest.raises(MirrormaskError, match=says):
            parse_labels(text)
    assert parse_labels("a=,b=x") == {"a": ("",), "b": ("x",)}  # a verbalizer says that a has no word


def test_padded_words() -> None:
    assert padded_words([[(1, 2), (3,)], [(4,)]]).tolist() == [[[1, 2], [3, -1]], [[4, -1], [-1, -1]]]
    assert Tokens.of([]).rows == ()
