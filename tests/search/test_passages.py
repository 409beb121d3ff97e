from __future__ import annotations

import pytest

from mirrormask.core.errors import MirrormaskError
from mirrormask.data.text.sentences import count_words
from mirrormask.search.passages import Cutting, cut

ENGLISH = " ".join(f"Sentence number {n} says that boat {n} floats well." for n in range(200))
CHINESE = "".join(f"今天第{n}条船在河上漂得很好。" for n in range(200))


@pytest.mark.parametrize("text", [ENGLISH, CHINESE], ids=["en", "zh"])
def test_passages_end_at_sentences_overlap_and_leave_nothing_out(text: str) -> None:
    places = cut(text, Cutting(words=60, overlap=0.25))
    passages = [text[a:b] for a, b in places]
    assert len(passages) > 10
    assert all(passage.endswith((".", "。")) and count_words(passage) <= 60 for passage in passages)
    assert all(count_words(passage) > 30 for passage in passages[:-1])
    overlaps = [places[n][1] - places[n + 1][0] for n in range(len(places) - 1)]
    assert all(0 < size < 0.3 * 60 * 6 for size in overlaps)
    covered = set().union(*(range(a, b) for a, b in places))
    assert all(n in covered for n, letter in enumerate(text) if letter != " ")


def test_a_short_text_stays_whole() -> None:
    text = "  One. Two. Three.\n"
    assert [text[a:b] for a, b in cut(text, Cutting(words=8))] == ["One. Two. Three."]
    assert cut(" \n ", Cutting()) == []


@pytest.mark.parametrize("text", ["word " * 5000, "x" * 30_000, "字" * 5000], ids=["words", "letters", "zh"])
def test_what_has_no_sentences_is_cut_anyway(text: str) -> None:
    places = cut(text, Cutting(words=50))
    assert all(b - a <= 50 * 12 and count_words(text[a:b]) <= 50 for a, b in places)
    assert "".join(text[a:b] for a, b in cut(text, Cutting(words=50, overlap=0))).replace(" ", "") == text.replace(
        " ", ""
    )


def test_a_text_longer_than_a_window_is_cut_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    from mirrormask.search import passages

    whole = cut(ENGLISH, Cutting(words=60))
    monkeypatch.setattr(passages, "_WINDOW", 5000)
    assert len(cut(ENGLISH, Cutting(words=60))) - len(whole) in (0, 1)
    assert max(b for _, b in cut(ENGLISH, Cutting(words=60))) == len(ENGLISH)


def test_too_short_passages_are_refused() -> None:
    with pytest.raises(MirrormaskError, match="The 'words' of a passage must be at least 8. Got 3."):
        Cutting(words=3)
