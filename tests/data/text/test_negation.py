from __future__ import annotations

import pytest

from mirrormask.data.text.negation import negated
from mirrormask.data.text.word_tags import WordTagger

PAIRS = {
    # a "not" taken out
    "The boat is not old.": "The boat is old.",
    "He does not.": "He does.",
    "Not now, she said.": "now, she said.",
    "She can't swim.": "She can swim.",
    "They don't know him.": "They do know him.",
    "It isn\u2019t cold.": "It is cold.",
    "We cannot stay.": "We can stay.",
    "Won't you come?": "Will you come?",
    # behind "be", modals and auxiliaries
    "She was happy when he came home.": "She was not happy when he came home.",
    "It can be done in a day.": "It can not be done in a day.",
    "They have seen the boat.": "They have not seen the boat.",
    "He had long been a teacher.": "He had not long been a teacher.",
    "I do know him.": "I do not know him.",
    # other verbs
    "The old baker paints a wooden boat.": "The old baker does not paint a wooden boat.",
    "The band toured in 1999.": "The band did not tour in 1999.",
    "He has two boats.": "He does not have two boats.",
    "He did his work.": "He did not do his work.",
    "They know the river.": "They do not know the river.",
    # none
    "A quiet street in the garden.": "not A quiet street in the garden.",
    "": "not ",
}


@pytest.fixture(scope="module")
def tagger() -> WordTagger:
    return WordTagger()


@pytest.mark.parametrize("text", PAIRS)
def test_a_sentence_is_turned_round(text: str, tagger: WordTagger) -> None:
    assert negated(text, tagger) == PAIRS[text]


def test_nothing_else_changes(tagger: WordTagger) -> None:
    text = "  Prices,  (in 1999) rose\tby 5.5%;  she said \u201cno\u201d. "
    assert negated(text, tagger) == "  Prices,  (in 1999) did not rise\tby 5.5%;  she said \u201cno\u201d. "


def test_signs_that_no_model_has_seen(tagger: WordTagger) -> None:
    for text in ("\u3042\u3044 \u2603", "%%%", "今天下雨。"):
        assert negated(text, tagger).endswith(text)
