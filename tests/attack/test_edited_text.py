from __future__ import annotations

from mirrormask.attack.edited_text import CutText, Edit, EditedText, in_case_of
from mirrormask.attack.marked_text import as_html, segments

TEXT = '"It\'s a well-made film," she said (twice).'


def test_a_text_is_its_words_and_gaps() -> None:
    cut = CutText.of(TEXT)
    assert cut.words == ("It's", "a", "well-made", "film", "she", "said", "twice")
    assert EditedText(cut).text == TEXT
    assert CutText.of("…").words == ()
    assert EditedText(CutText.of("…")).cut.gaps == ("…",)


def test_a_word_left_out_takes_one_space_along() -> None:
    assert CutText.of("a good film").without(1) == "a film"
    assert CutText.of("a good film!").without(2) == "a good !"
    assert CutText.of("good").without(0) == ""
    assert CutText.of(TEXT).without(3) == TEXT.replace("film", "", 1)


def test_edits_change_only_their_place() -> None:
    text = EditedText(CutText.of(TEXT))
    found = text.edited(Edit("replace", 3, "play")).edited(Edit("left", 3, "short")).edited(Edit("right", 6, "or so"))
    assert found.text == TEXT.replace("film", "short play").replace("twice", "twice or so")
    assert found.places == [3, 6]
    assert text.text == TEXT


def test_a_slot_is_the_text_around_a_word_to_come() -> None:
    text = EditedText(CutText.of(TEXT), (Edit("replace", 1, "one"),))
    for kind in ("replace", "left", "right"):
        for place in range(7):
            if (kind, place) == ("replace", 1):
                continue
            expected = text.edited(Edit(kind, place, "NEW")).text
            assert "NEW".join(text.slot(kind, place)) == expected


def test_a_slot_in_a_window_fits_the_window() -> None:
    text = EditedText(CutText.of("one two three four five six"), (Edit("left", 2, "new"),))
    assert text.window(1, 4) == "two new three four"
    assert "X".join(text.slot("replace", 3, 1, 4)) == "two new three X"
    assert "X".join(text.slot("right", 1, 1, 4)) == "two X new three four"


def test_words_near_a_place_say_where_it_is() -> None:
    text = EditedText(CutText.of("one two three four"), (Edit("left", 1, "new"), Edit("replace", 2, "3")))
    words, here = text.near(1, 1)
    assert (words, words[here]) == (["one", "new", "two", "3"], "two")


def test_letters_are_as_large_as_before() -> None:
    assert [in_case_of("fine", model) for model in ("good", "Good", "GOOD", "I")] == ["fine", "Fine", "FINE", "Fine"]


def test_marked_parts_are_the_new_text_and_the_old_words() -> None:
    text = EditedText(CutText.of("a <good> film"), (Edit("replace", 1, "fine"), Edit("right", 2, "x&y")))
    found = list(segments(text))
    assert "".join(part for kind, part in found if kind != "gone") == text.text
    assert [part for kind, part in found if kind == "gone"] == ["good"]
    assert as_html(text) == 'a &lt;<del>good</del> <ins>fine</ins>&gt; film <ins class="added">x&amp;y</ins>'
