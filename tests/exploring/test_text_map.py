from __future__ import annotations

import base64
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from tests.exploring.conftest import SUBJECTS, ByWords

from mirrormask.core.errors import MirrormaskError
from mirrormask.exploring.telling_words import telling_words
from mirrormask.exploring.text_map import SHOWN, TextMap, draw_map
from mirrormask.exploring.texts import Texts

HOSTILE = (
    "</script><script>window.hit = 1</script>",
    "<!--<script>",
    "]]><img src=x onerror=alert(1)> & \u2028 \u2029 \"quoted\" 'too' \\u003c $script ${title}",
)


class Elements(HTMLParser):
    """Collects the elements of a page with their attributes, and what stands inside scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.found and self.found[-1][0] == "script":
            self.scripts[-1] += data


def parsed(page: str) -> tuple[Elements, dict[str, object]]:
    elements = Elements()
    elements.feed(page)
    return elements, json.loads(elements.scripts[0])


@pytest.fixture
def drawn(pile: Texts, by_words: ByWords) -> TextMap:
    return draw_map(pile, groups=3, steps=60)


def test_groups_are_named_by_what_their_texts_share(drawn: TextMap) -> None:
    assert len(drawn.names) == 3
    subjects = [next(s for s, words in SUBJECTS.items() if name.split(", ")[0] in words) for name in drawn.names]
    assert sorted(subjects) == sorted(SUBJECTS)
    for group, subject in enumerate(subjects):
        own = [text for text, of in zip(drawn.texts.texts, drawn.groups, strict=True) if of == group]
        assert all(any(word in text for word in SUBJECTS[subject]) for text in own)
    record = drawn.to_dict()
    assert sum(each["texts"] for each in record["groups"]) == 90


def test_the_page_holds_everything_and_asks_for_nothing(drawn: TextMap) -> None:
    page = drawn.html("My texts")
    elements, data = parsed(page)
    assert len(elements.scripts) == 2, "the data and the script"
    assert not [each for each in elements.found if {"src", "href"} & set(each[1])]
    assert not re.search(r"https?://|@import|url\(", page)
    policy = next(attrs["content"] for tag, attrs in elements.found if attrs.get("http-equiv"))
    assert policy is not None and policy.startswith("default-src 'none'")
    places = np.frombuffer(base64.b64decode(str(data["places"])), dtype="<u2").reshape(-1, 2) / 65535
    np.testing.assert_allclose(places, drawn.places, atol=1e-4)
    assert np.frombuffer(base64.b64decode(str(data["groups"])), dtype="<u2").tolist() == drawn.groups.tolist()
    assert data["texts"] == drawn.texts.texts
    assert data["ids"] == drawn.texts.ids
    assert data["names"] == list(drawn.names)
    assert (data["title"], data["facts"]) == ("My texts", "90 texts in 3 groups")
    assert "innerHTML" not in page and "eval(" not in page


def test_hostile_texts_are_shown_and_never_run(pile: Texts, by_words: ByWords) -> None:
    texts = Texts(HOSTILE[0], [*pile.texts[:20], *HOSTILE, "half \ud800 a sign"], [*pile.ids[:20], *HOSTILE, "x"])
    page = draw_map(texts, groups=2, steps=30).html(HOSTILE[0])
    elements, data = parsed(page)
    assert len(elements.scripts) == 2
    assert [tag for tag, _ in elements.found].count("img") == 0
    shown = data["texts"]
    assert isinstance(shown, list)
    assert shown[20] == HOSTILE[0]
    assert shown[22].startswith("]]><img src=x onerror=alert(1)>")
    inside = elements.scripts[0]
    assert not set("<>&\u2028\u2029") & set(inside)
    assert page.count("</script>") == 2
    page.encode("utf-8")


def test_long_texts_are_cut_and_too_many_are_sampled(pile: Texts, by_words: ByWords) -> None:
    texts = Texts("x", [text + " more" * 200 for text in pile.texts], pile.ids)
    found = draw_map(texts, groups=2, steps=30, most=40)
    assert (len(found.texts), found.left_out) == (40, 50)
    page = found.html()
    assert "50 more are not shown" in page
    cut = parsed(page)[1]["texts"]
    assert isinstance(cut, list) and max(map(len, cut)) == SHOWN


def test_bad_numbers_are_refused(pile: Texts, by_words: ByWords) -> None:
    with pytest.raises(MirrormaskError, match="'groups' of a map must be at least 1 and below 91"):
        draw_map(pile, groups=200)
    with pytest.raises(MirrormaskError, match="'texts' of a map"):
        draw_map(Texts("x", pile.texts[:5], pile.ids[:5]))


def test_telling_words_are_frequent_here_and_rare_elsewhere() -> None:
    texts = ["The report says rain again", "A report on the rain", "The report says bread", "Of bread a report"]
    assert telling_words(texts, np.array([0, 0, 1, 1]), count=2) == [["rain", "report"], ["bread", "report"]]


def test_a_name_keeps_its_capitals_and_a_first_word_does_not() -> None:
    texts = [
        "Rivers of the north",
        "The rivers of Oslo",
        "Rivers by the Oslo road",
        "In Oslo with the river",
        "Oslo oslo",
    ]
    assert telling_words(texts, np.zeros(5, dtype=np.int64), count=2) == [["Oslo", "river"]]
