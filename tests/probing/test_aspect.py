"""The weighted model learns what only its weights can tell it, and the small parser learns a rule."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from mirrormask.core.errors import MirrormaskError
from mirrormask.data.tasks.absa import AspectExample
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.probing.aspect import AspectSet, AspectSettings, macro_f1, probe_aspect
from mirrormask.probing.decoders import right_chain
from mirrormask.probing.treebank_parser import accuracy, train_parser
from mirrormask.probing.word_states import word_states
from mirrormask.training.row_numbers import RowNumbers

FAST = AspectSettings(filters=16, dropout=0.0, epochs=10.0, batch_size=60, learning_rate=1e-2)


def made_up(count: int, seed: int) -> AspectSet:
    """Ten words, a good one at one end and a bad one at the other; the term stands next to the one that counts."""
    rng = np.random.default_rng(seed)
    examples, states, trees = [], [], []
    for _ in range(count):
        good_first, near_first = rng.random(2) < 0.5
        words = rng.normal(size=(10, 8)).astype(np.float32) * 0.1
        words[0, 0] = words[9, 1] = 0.0
        words[0, 0 if good_first else 1] += 3.0
        words[9, 1 if good_first else 0] += 3.0
        start = 1 if near_first else 8
        polarity = 1 if good_first == near_first else -1
        examples.append(AspectExample(("w",) * 10, start, start + 1, polarity))
        states.append(words)
        trees.append(right_chain(10))
    return AspectSet(examples, states, {"induced": trees})


def test_weights_tell_which_word_counts() -> None:
    train, test = made_up(240, 0), made_up(80, 1)
    result = probe_aspect(train, test, ["none", "position", "induced"], seeds=(1,), settings=FAST)
    means = {kind: np.mean(each["accuracy_percent"]) for kind, each in result.scores.items()}
    assert means["position"] > 95 and means["none"] < 75
    assert result.scores["induced"] == result.scores["position"]  # a chain is the text
    assert json.loads(json.dumps(result.as_json()))["train"] == 240
    with pytest.raises(MirrormaskError, match="There are no trees 'gold'. Take one of none, position, right-chain"):
        probe_aspect(train, test, ["gold"], seeds=(1,), settings=FAST)


def test_macro_f1_is_that_of_scikit_learn() -> None:
    from sklearn.metrics import f1_score

    rng = np.random.default_rng(2)
    predicted, gold = rng.integers(0, 3, 100), rng.integers(0, 3, 100)
    assert macro_f1(predicted, gold) == pytest.approx(f1_score(gold, predicted, average="macro"))
    assert macro_f1(np.array([0]), np.array([0])) == pytest.approx(1 / 3)


def test_every_row_once_an_epoch() -> None:
    source = RowNumbers(10, 4, seed=1)
    batches = [rows.tolist() for rows in source.stream(0, 6, 0, 1)]
    assert len(source) == 3 and [len(batch) for batch in batches] == [4, 4, 2] * 2
    assert sorted(itertools.chain(*batches[:3])) == sorted(itertools.chain(*batches[3:])) == list(range(10))
    assert batches[:3] != batches[3:]
    shares = [next(source.stream(0, 1, rank, 2)) for rank in (0, 1)]
    assert sorted(row for share in shares if share is not None for row in share.tolist()) == sorted(batches[0])


def test_the_parser_learns_a_rule() -> None:
    """The word that carries the mark is the root, all others hang on it."""
    rng = np.random.default_rng(3)
    states, heads = [], []
    for _ in range(160):
        n = int(rng.integers(2, 7))
        root = int(rng.integers(n))
        words = rng.normal(size=(n, 6)).astype(np.float32) * 0.3
        words[root, 0] += 3.0
        states.append(words)
        heads.append(np.array([-1 if i == root else root for i in range(n)]))
    parser = train_parser(states[:120], heads[:120], epochs=15)
    assert accuracy(parser, states[120:], heads[120:]) > 90


def test_states_of_words_are_means_of_their_pieces(tiny_folder: Path) -> None:
    lm = MaskedLM.load(tiny_folder, device="cpu")
    sentences = [["the", "red", "cat"], ["a", "dog"], ["the", "red", "cat"]]
    found = word_states(lm, sentences, layer=2)
    assert [each.shape for each in found] == [(3, 32), (2, 32), (3, 32)]
    assert found[0] is found[2]
    import torch

    with torch.inference_mode():
        encoded = lm.tokenizer([" ".join(sentences[0])], return_tensors="pt")
        hidden = lm.model.base_model(
            encoded["input_ids"], attention_mask=encoded["attention_mask"], output_hidden_states=True
        ).hidden_states[2][0]
    owner = encoded.word_ids(0)
    for word in range(3):
        places = [place for place, each in enumerate(owner) if each == word]
        assert found[0][word] == pytest.approx(hidden[places].mean(0).numpy(), abs=1e-5)
