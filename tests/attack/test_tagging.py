from __future__ import annotations

import pytest

from mirrormask.attack.edited_text import CutText, Edit, EditedText
from mirrormask.attack.tagging import Tagger
from mirrormask.data.text.word_tags import COARSE

SENTENCES = ["The old boat crosses a wide river before sunrise .", "She quickly painted her broken clock and left ."]


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return Tagger()


def test_plain_sentences_have_plain_tags(tagger: Tagger) -> None:
    assert tagger.tags(["the", "old", "boat", "crosses", "the", "river"]) == [
        "DET",
        "ADJ",
        "NOUN",
        "VERB",
        "DET",
        "NOUN",
    ]
    assert tagger.tags([]) == []


def test_every_tag_of_the_model_has_a_coarse_one(tagger: Tagger) -> None:
    tags = set(tagger._hanta.int2tag.values()) - {"END"}
    known = {tag[:2] for tag in tags if len(tag) == 3 and tag[2].isalnum() and tag.isupper()}
    assert known <= set(COARSE), known - set(COARSE)


def test_a_replacement_keeps_the_part_of_speech(tagger: Tagger) -> None:
    text = EditedText(CutText.of("the old boat crosses the river"))
    words = ["ship", "quickly", "of", "leaves"]
    assert tagger.fitting(text, 2, words) == [True, False, False, True]
    assert tagger.fitting(text, 1, ["wooden", "ship"])[0]


def test_the_short_cut_says_what_the_whole_sentence_says(tagger: Tagger) -> None:
    """A word all of whose tags fit, or none, is not looked at in its sentence; the answer is the same."""
    words = ["ship", "film", "offers", "quickly", "good", "run", "running", "paint", "under", "is", "well", "light"]
    for sentence in SENTENCES:
        text = EditedText(CutText.of(sentence), (Edit("left", 2, "really"),))
        for place in range(len(text.pieces)):
            around, here = text.near(place, 4)
            tag = tagger.tags(around)[here]
            fits = {"NOUN", "VERB"} if tag in ("NOUN", "VERB") else {tag}
            slow = [tagger.tags([*around[:here], word, *around[here + 1 :]])[here] in fits for word in words]
            assert tagger.fitting(text, place, words) == slow


def test_strange_signs_are_no_error(tagger: Tagger) -> None:
    assert len(tagger.tags(["zzxqj", "飛", "x1y2", "-"])) == 4
