"""Sentence splitting on the cases that go wrong in practice."""

from __future__ import annotations

import time

import pytest

from mirrormask.core.errors import MirrormaskError
from mirrormask.data.text.sentences import count_words, split_sentences

# A bar marks where a text must be split, and nowhere else.
ENGLISH = [
    "The cat sat.| It slept.",
    "Is it raining?| Yes!| Take a coat.",
    "Mr. Smith met Dr. Jones in St. Albans.| They left.",
    "Prof. A. B. Clark and J. R. Hill wrote it.| Nobody read it.",
    "The price fell to 3.14 dollars.| By 2.5 percent.",
    "Version 1.2.3 is out.| Get it at example.com today.",
    '"Stop!" he said.| "Why?" she asked.',
    'She said "no."| Then she left.',
    "(It was late.)| We went home.",
    "He left [see below.]| She stayed.",
    "“Where is it?”| “Over there.”",
    "Well... maybe not.| Who knows...| Not me.",
    "It ended…| Then it began again.",
    "What?!| Really?!| Yes.",
    "See Fig. 3 and Vol. II for more.| No. 5 was best.",
    "No.| That is wrong.",
    "We met on Jan. 5 at 3 p.m. on a boat.| It sank.",
    "They arrived at 5 p.m.| The boat was gone.",
    "He lived in the U.S. Army barracks.| She moved to the U.S.| The house was sold.",
    "Acme Inc. makes tools.| It was founded by Acme Corp.| The end.",
    "Bring nuts, e.g. almonds, i.e. something small, etc. and leave.",
    "1. Introduction",
    "It was in 1990.| The war was over.",
    "He likes Yahoo! because it is loud.",
    "Vitamin C.| The best one.",
    "Smith et al. found it.| Brown vs. Board was cited.",
    "Books by L. A. Bank and P. P. Basil sold well.| В. М. Гаршин too.",
    "The end.",
    "no stop at all",
    "Costs rose.| $5 was too much.| 42 people left.",
    "Élan was there.| Ça va bien.",
]
CHINESE = [
    "今天下雨。|我们在家。",
    "你去吗？|不去！|为什么？！|太远了。",
    "他说：“走吧。”|我们就走了。",
    "（天黑了。）|灯亮了。",
    "价格是3.5元；|数量是2.5吨。",
    "等一等……|好了。",
    "真的吗?|真的!",
    "没有句号",
    "「行くよ。」|彼は言った。",
]


@pytest.mark.parametrize("marked", ENGLISH)
def test_english(marked: str) -> None:
    text = marked.replace("|", "")
    expected = [part.strip() for part in marked.split("|")]
    assert split_sentences(text, "en") == expected
    assert split_sentences(text) == expected


@pytest.mark.parametrize("marked", CHINESE)
def test_chinese(marked: str) -> None:
    expected = marked.split("|")
    assert split_sentences("".join(expected), "zh") == expected
    assert split_sentences("".join(expected)) == expected


@pytest.mark.parametrize("marked", ENGLISH + CHINESE)
def test_nothing_but_white_space_is_lost(marked: str) -> None:
    assert "".join("".join(split_sentences(marked)).split()) == "".join(marked.split())


def test_auto_follows_the_characters() -> None:
    assert split_sentences("The word 你好 means hello. It is short.") == ["The word 你好 means hello.", "It is short."]
    assert split_sentences("他用 Python 写。很好。") == ["他用 Python 写。", "很好。"]


def test_line_breaks() -> None:
    assert split_sentences("A heading\n\nA line that\ngoes on. Then\nends.") == [
        "A heading",
        "A line that\ngoes on.",
        "Then\nends.",
    ]
    assert split_sentences("标题\n正文。") == ["标题", "正文。"]
    assert split_sentences("") == split_sentences("  \n \n ") == split_sentences("\n", "zh") == []


def test_unknown_language_is_named() -> None:
    with pytest.raises(
        MirrormaskError, match=r"'language' of sentence splitting must be one of auto, en, zh\. Got 'eng'"
    ):
        split_sentences("a", "eng")


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("one", 1),
        ("  two   words ", 2),
        ("naïve café", 2),
        ("你好。", 2),
        ("ひらがな", 4),
        ("用Python写", 3),
        ("한국어 문장", 2),
    ],
)
def test_words_are_counted(text: str, count: int) -> None:
    assert count_words(text) == count


def test_splitting_is_fast() -> None:
    text = " ".join(
        ["Mr. Hill walked to the market at 5 p.m. on Oct. 3 and bought 2.5 kilos of pears for his aunt."] * 20
    )
    start = time.perf_counter()
    count = sum(len(split_sentences(text)) for _ in range(200))
    assert count == 4000
    assert count / (time.perf_counter() - start) > 10_000  # measured above 100,000; machines under test are busy
