"""Controls whose answer is known: the second language is the first one turned, noise, or one vector for all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mirrormask.core.errors import DataError, MirrormaskError, ModelError
from mirrormask.data.tasks.bilingual import Dictionary, find_dictionaries, read_dictionary, turn
from mirrormask.evaluation.lexicon import induce_lexicon, orthogonal

WORDS = [f"word{number}" for number in range(400)]
BASE = {word: np.random.default_rng(number).normal(size=20) for number, word in enumerate(WORDS)}
TURN = np.linalg.qr(np.random.default_rng(99).normal(size=(30, 30)))[0][:20]  # into 30 dimensions


def dictionary(words: list[str], source: str) -> Dictionary:
    return Dictionary({word: (word.replace("word", "wort"),) for word in words}, source)


TRAIN, TEST = dictionary(WORDS[:250], "train"), dictionary(WORDS[250:], "test")


def first(texts: list[str]) -> np.ndarray:
    return np.stack([BASE[text] for text in texts])


def turned(texts: list[str]) -> np.ndarray:
    return np.stack([BASE[text.replace("wort", "word")] for text in texts]) @ TURN


def noise(texts: list[str]) -> np.ndarray:
    return np.random.default_rng(5).normal(size=(len(texts), 20))


def test_a_turned_copy_is_found_whole_and_noise_by_chance() -> None:
    found = induce_lexicon(first, turned, TEST, TRAIN, resamples=50)
    assert found.places.tolist() == [1] * 150
    assert (found.candidates, found.learned_from) == (400, 250)
    scores = found.to_dict()["scores"]["test"]
    assert scores["precision_at_1_percent"]["value"] == scores["mrr_percent"]["value"] == 100
    by_chance = induce_lexicon(first, noise, TEST, TRAIN, resamples=50)
    assert (by_chance.places == 1).mean() < 0.03
    assert 150 < np.median(by_chance.places) < 250


def test_without_a_mapping_a_shared_space_is_needed() -> None:
    same = {text: text.replace("wort", "word") for word in WORDS for text in (word, word.replace("word", "wort"))}
    found = induce_lexicon(first, lambda texts: first([same[t] for t in texts]), TEST, TRAIN, mapping="none")
    assert (found.places == 1).all()
    assert found.learned_from == 0
    with pytest.raises(DataError, match="Got vectors of 20 and 30 numbers: take the mapping orthogonal"):
        induce_lexicon(first, turned, TEST, TRAIN, mapping="none")
    with pytest.raises(MirrormaskError, match="The 'mapping' of a lexicon must be one of orthogonal, none"):
        induce_lexicon(first, turned, TEST, TRAIN, mapping="linear")


def test_vectors_that_are_all_alike_do_not_win() -> None:
    found = induce_lexicon(first, lambda texts: np.ones((len(texts), 20)), TEST, TRAIN, resamples=20)
    assert found.places.tolist() == [400] * 150


def test_the_best_of_several_translations_counts_and_asked_words_are_not_learned_from() -> None:
    test = Dictionary({"word300": ("wort7", "wort300"), "word301": ("wort301",)}, "test")
    train = dictionary([*WORDS[:250], "word300"], "train")
    found = induce_lexicon(first, turned, test, train, resamples=20)
    assert found.places.tolist() == [1, 1]
    assert found.learned_from == 250
    with pytest.raises(DataError, match="nothing is left to learn from"):
        induce_lexicon(first, turned, test, dictionary(["word300"], "train"))


def test_the_mapping_is_the_nearest_orthogonal_one() -> None:
    x = np.random.default_rng(0).normal(size=(50, 6))
    turn_ = np.linalg.qr(np.random.default_rng(1).normal(size=(6, 6)))[0]
    np.testing.assert_allclose(orthogonal(x, x @ turn_), turn_, atol=1e-12)


def test_nan_vectors_are_refused() -> None:
    with pytest.raises(ModelError, match="the second model gives vectors with NaN"):
        induce_lexicon(first, lambda texts: np.full((len(texts), 3), np.nan), TEST, TRAIN)


def test_dictionaries_are_read_and_turned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "d.tsv"
    file.write_text("boat\tBoot\nboat\tKahn\n\nship\tBoot\n", encoding="utf-8")
    read = read_dictionary(file)
    assert read.translations == {"boat": ("Boot", "Kahn"), "ship": ("Boot",)}
    assert turn(read).translations == {"Boot": ("boat", "ship"), "Kahn": ("boat",)}
    file.write_text("boat Boot\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 1: expected a word, a tab and its translation"):
        read_dictionary(file)
    file.write_text("\n", encoding="utf-8")
    with pytest.raises(DataError, match="has no words in it"):
        read_dictionary(file)
    monkeypatch.setenv("MIRRORMASK_DATA", str(tmp_path))
    with pytest.raises(DataError, match="The file bli/en-de/yacle.test.freq.2k.en-de.tsv is not under"):
        find_dictionaries("en-de")


def test_the_real_dictionaries(shared_data: Path) -> None:
    train, test = find_dictionaries("en-de", "1k")
    assert len(train.pairs) == 1000
    assert len(test.pairs) == 2000
    back = find_dictionaries("de-en", "1k")[1]
    assert sorted((b, a) for a, b in back.pairs) == sorted(test.pairs), "turned round where there is no file"
