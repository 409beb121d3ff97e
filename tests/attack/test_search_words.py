from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.attack.conftest import BAD, score

from mirrormask.attack.edited_text import CutText, Edit, EditedText
from mirrormask.attack.meaning import Meaning, Reading
from mirrormask.attack.outcome import HELD, STOPPED, TURNED, WRONG, Outcome, recheck, summarize
from mirrormask.attack.search_words import MODES, Attack, importance
from mirrormask.attack.victims import Victim
from mirrormask.core.errors import DataError, MirrormaskError

TEXTS = [
    "A lovely film about the river, and a warm one.",
    "the bright story of a clever child",
    "an honest song",
    "a dull play",
    "lovely, lovely, lovely and warm and clever and bright for children of every age under the sun",
]
LABELS = [1, 1, 1, 0, 1]


@pytest.fixture
def attack(victim: Victim, meaning: Meaning, proposer: Any) -> Attack:
    return Attack(victim, proposer, meaning, None)


def by_the_book(victim: Victim, meaning: Meaning, words: Sequence[str], text: str, label: int) -> str | None:
    """Algorithm 1 of the paper, a text, a word and a candidate at a time."""
    cut = CutText.of(text)
    closed = {"a", "the", "of", "about", "and", "one", "an", "for", "every", "under"}
    places = [place for place, word in enumerate(cut.words) if word.lower() not in closed]
    before = victim([text])[0][label]
    drops = {place: before - victim([cut.without(place)])[0][label] for place in places}
    now = EditedText(cut)
    for place in sorted(places, key=lambda each: -drops[each]):
        options = []
        for word in words:
            if word == cut.words[place].lower():
                continue
            new = now.edited(Edit("replace", place, word))
            if min(meaning.of_pairs(meaning.pairs(new))) < meaning.reading.threshold:
                continue
            answer = victim([new.text])[0]
            options.append((answer.argmax() != label, meaning.of_edits([new])[0], -answer[label], new))
        turned = [each for each in options if each[0]]
        if turned:
            return max(turned, key=lambda each: each[1])[3].text
        better = [each for each in options if -each[2] < victim([now.text])[0][label]]
        if better:
            now = max(better, key=lambda each: each[2])[3]
    return None


def test_replacing_is_the_papers_algorithm(attack: Attack, victim: Victim, meaning: Meaning) -> None:
    words = ["plain", "dull", "cold", "green", "hollow", "table"]
    for text, label, found in zip(TEXTS, LABELS, attack(TEXTS, LABELS), strict=True):
        assert found.found == by_the_book(victim, meaning, words, text, label)
        assert found.result == (TURNED if found.found else HELD)


@pytest.mark.parametrize("mode", MODES)
def test_every_reported_text_holds_when_looked_at_anew(attack: Attack, mode: str) -> None:
    found = replace(attack, mode=mode)(TEXTS, LABELS)
    assert {each.result for each in found} <= {TURNED, HELD}
    assert any(each.result == TURNED for each in found)
    saved = [Outcome.from_dict(each.to_dict()) for each in found]
    assert saved == found
    assert recheck(saved, attack.victim, attack.meaning) == []


def test_a_report_that_does_not_hold_is_found_out(attack: Attack) -> None:
    good = next(each for each in attack(TEXTS, LABELS) if each.result == TURNED)
    moved = replace(good, found="something else")
    assert "is not what its edits make" in recheck([moved], attack.victim, attack.meaning)[0]
    other = replace(good, label=1 - good.label)
    assert "was not answered rightly" in recheck([other], attack.victim, attack.meaning)[0]
    far = Meaning(attack.meaning.encoder, Reading("calibrated", 0.999))
    assert "less similar" in recheck([good], attack.victim, far)[0]


def test_modes_do_what_they_say(attack: Attack) -> None:
    kinds = {}
    for mode in MODES:
        found = replace(attack, mode=mode)(TEXTS, LABELS)
        kinds[mode] = {edit.kind for each in found for edit in each.edits}
    assert kinds["R"] == {"replace"}
    assert kinds["I"] and kinds["I"] <= {"left", "right"}
    assert kinds["R+I"] >= {"replace"}


def test_inserting_after_replacing_reaches_at_least_as_far(attack: Attack) -> None:
    reached = {mode: summarize(replace(attack, mode=mode)(TEXTS, LABELS)).success for mode in MODES}
    assert reached["R+I"] >= reached["R"]
    assert reached["R/I"] >= reached["R"]


def test_sparing_queries_finds_the_same_texts_with_fewer(attack: Attack) -> None:
    strict = replace(attack, meaning=Meaning(attack.meaning.encoder, Reading("calibrated", 0.85)))
    quick, spared = strict(TEXTS, LABELS), replace(strict, saving="queries")(TEXTS, LABELS)
    assert [each.found for each in quick] == [each.found for each in spared]
    assert sum(each.queries for each in spared) < sum(each.queries for each in quick)


def test_texts_together_are_as_texts_alone(attack: Attack) -> None:
    together = attack(TEXTS, LABELS)
    alone = replace(attack, texts_at_once=1)(TEXTS, LABELS)
    assert [each.found for each in together] == [each.found for each in alone]
    assert [each.queries for each in together] == [each.queries for each in alone]


def test_queries_are_those_the_classifier_was_asked(attack: Attack) -> None:
    asked: list[str] = []

    def counted(texts: list[str]) -> Any:
        asked.extend(texts)
        return score(texts)

    found = replace(attack, victim=Victim(counted))(TEXTS, LABELS)
    assert sum(each.queries for each in found) == len(asked)


@pytest.mark.parametrize("budget", [1, 2, 5, 20])
def test_a_budget_of_queries_is_kept(attack: Attack, budget: int) -> None:
    found = replace(attack, queries=budget)(TEXTS, LABELS)
    assert all(each.queries <= budget for each in found)
    assert budget > 5 or {each.result for each in found} <= {STOPPED, HELD, TURNED}


def test_time_that_is_over_stops_the_attack(attack: Attack) -> None:
    found = replace(attack, seconds=1e-9)(TEXTS, LABELS)
    assert {each.result for each in found} == {STOPPED}
    assert summarize(found).under_attack == summarize(found).accuracy == 100.0


def test_what_is_wrong_already_is_left_alone(attack: Attack) -> None:
    (found,) = attack([TEXTS[0]], [0])
    assert (found.result, found.queries, found.edits) == (WRONG, 1, ())
    assert summarize([found]).accuracy == 0.0


def test_stop_words_stay(attack: Attack) -> None:
    found = replace(attack, mode="R/I")(TEXTS, LABELS)
    touched = {each.edited.cut.words[edit.place].lower() for each in found for edit in each.edits}
    assert not touched & {"a", "the", "of", "about", "and", "an"}


def test_one_word_and_none(attack: Attack) -> None:
    lenient = replace(attack, meaning=Meaning(attack.meaning.encoder, Reading("calibrated", 0.1)))
    found = lenient(["lovely", "Warm!"], [1, 1])
    assert [each.result for each in found] == [TURNED, TURNED]
    assert found[1].found is not None and found[1].found.endswith("!")
    with pytest.raises(DataError, match=r"Text 2 has no words: '…'. Leave it out."):
        attack(["fine", "…"], [1, 1])


def test_similarity_is_never_under_the_threshold(victim: Victim, proposer: Any, meaning: Meaning) -> None:
    for least in (0.3, 0.7, 0.85):
        strict = Meaning(meaning.encoder, Reading("calibrated", least))
        for mode in MODES:
            for each in Attack(victim, proposer, strict, None, mode=mode)(TEXTS, LABELS):
                assert each.similarity is None or each.similarity >= least


def test_importance_by_hand() -> None:
    before = np.array([0.7, 0.2, 0.1])
    without = np.array([[0.6, 0.3, 0.1], [0.3, 0.6, 0.1]])
    assert importance(before, without, 0) == pytest.approx([0.1, 0.4])
    assert importance(before, without, 0, textfooler=True) == pytest.approx([0.1, 0.4 + 0.4])


def test_progress_adds_up(attack: Attack) -> None:
    done: list[int] = []
    replace(attack, texts_at_once=2)(TEXTS, LABELS, progress=done.append)
    assert sum(done) == len(TEXTS)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"mode": "R-I"}, "The 'mode' of an attack must be one of"),
        ({"queries": -1}, "The 'queries' of an attack must be at least 0"),
        ({"seconds": float("nan")}, "The 'seconds' of an attack must be at least 0"),
        ({"saving": "money"}, "The 'saving' of an attack must be one of"),
    ],
)
def test_values_are_checked(attack: Attack, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(MirrormaskError, match=said):
        replace(attack, **wrong)


def test_the_words_of_the_tests_are_what_turns(make: Callable[..., Any] = score) -> None:
    assert make(["a dull film"])[0].argmax() == 0 and BAD[0] == "dull"
