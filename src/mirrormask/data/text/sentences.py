"""Rule-based sentence splitting for English and Chinese: no model, no download, the same result everywhere."""

from __future__ import annotations

import re

from mirrormask.core.errors import one_of

LANGUAGES = ("auto", "en", "zh")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CJK = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"
_CJK_MARKS = r"\u3000-\u303f\uff01-\uff65\u2014\u2018-\u201d\u2026"
_CJK_CHARACTER = re.compile(f"[{_CJK}]")
_WORD = re.compile(rf"[{_CJK}]|[^\s{_CJK}{_CJK_MARKS}]+")
_BLANK_LINE = re.compile(r"\n\s*\n")

# English: a stop, what closes after it, white space, and (looked at only) what opens the next sentence.
_STOP = re.compile(r"""([.!?…]+)["'”’»)\]]*\s+(?=["'“‘«(\[¿¡]*([^\W_]|[$£€¥#@&§])(\w*))""")
_OPENING = "\"'“‘«([{¿¡-–—/"

# Before a name or a number: the full stop after these never ends a sentence.
_TITLES = _words(
    "mr mrs ms mx messrs mme mlle dr prof rev fr st ste sra hon gen col maj capt cmdr lt sgt cpl adm pvt gov sen rep "
    "pres supt det insp amb mt ft rt vs viz cf ca e.g i.e eg ie al approx dept est op ed eds trans fl"
)
# Before a number, or a Roman one: "No. 5", "Vol. II", "Jan. 3".
_NUMBERED = _words(
    "no nos nr vol vols ch chap sec sect fig figs eq eqs art p pp pg par ps pt pts bk tab app ex "
    "jan feb mar apr jun jul aug sep sept oct nov dec"
)
# These end a sentence only when the next word is one that begins sentences.
_PERHAPS = _words(
    "etc inc ltd co corp plc llc bros jr sr esq ph.d b.a m.a b.sc m.sc m.d a.m p.m b.c a.d b.c.e c.e u.s u.k u.n u.s.a "
    "e.u d.c l.a n.y ave blvd rd hwy bldg min max univ assn dist gov't natl intl sq cent"
)
_STARTERS = _words(
    "the this that these those there then they their he she it its his her we our you your i my in on at by for from "
    "with without after before during since when while where who what which why how as if although though because "
    "but and or so yet however moreover furthermore meanwhile also another other some many most several each all both "
    "an a one two three no not to of under over between among according today now here once until"
)
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")
_ROMAN = re.compile(r"[IVXLC]+")

# Chinese: everything up to a run of stops and what closes after it; an ASCII stop needs no white space either.
_CHINESE = re.compile(r"""[^。！？；…!?｡\n]*(?:[。！？；…!?｡]+["'”’」』》）)】〉〕］]*|\n|$)""")


def split_sentences(text: str, language: str = "auto") -> list[str]:
    """Return the sentences of a text, in order, without the white space around them.

    Args:
        text: one paragraph or more; a blank line always ends a sentence, a single line break only in Chinese.
        language: `en`, `zh`, or `auto`: Chinese when a fifth of the characters are.

    Example:
        >>> split_sentences('Dr. Wu paid $3.50. "Really?!" he asked. Yes, at 5 p.m. on Oct. 3.')
        ['Dr. Wu paid $3.50.', '"Really?!" he asked.', 'Yes, at 5 p.m. on Oct. 3.']
        >>> split_sentences("他说：“走吧！”我们走了。天黑了……")
        ['他说：“走吧！”', '我们走了。', '天黑了……']
    """
    one_of("language", language, LANGUAGES, of="sentence splitting")
    if language == "zh" or (language == "auto" and is_chinese(text)):
        return [sentence for found in _CHINESE.findall(text) if (sentence := found.strip())]
    if "\n" in text:
        return [sentence for part in _BLANK_LINE.split(text) for sentence in _english(part)]
    return _english(text)


def count_words(text: str) -> int:
    """Return the number of words; every Chinese or Japanese character counts as one, their punctuation as none.

    Example:
        >>> count_words("two words"), count_words("你好，世界"), count_words("用 Python 写")
        (2, 4, 3)
    """
    return len(text.split()) if text.isascii() else len(_WORD.findall(text))


def is_cjk(text: str) -> bool:
    """Say whether a text begins with a Chinese or Japanese character."""
    return _CJK_CHARACTER.match(text) is not None


def is_chinese(text: str) -> bool:
    """Say whether a good part of a text is written in Chinese characters."""
    return not text.isascii() and 5 * len(_CJK_CHARACTER.findall(text)) >= len(text)


def _english(text: str) -> list[str]:
    sentences = []
    start = 0
    for stop in _STOP.finditer(text):
        mark, first, rest = stop.groups()
        following = first + rest if text[stop.end(3) : stop.end(3) + 1] != "." else first + rest + "."
        if first.islower() or (mark == "." and not _ends(text, start, stop.start(), following)):
            continue
        sentences.append(text[start : stop.end()].strip())
        start = stop.end()
    last = text[start:].strip()
    if last:
        sentences.append(last)
    return sentences


def _ends(text: str, start: int, stop: int, following: str) -> bool:
    """Say whether the full stop at `stop` ends the sentence begun at `start`; `following` is the next word."""
    begin = max(text.rfind(" ", start, stop) + 1, start)
    word = text[begin:stop].lstrip(_OPENING)
    lower = word.lower()
    if lower in _TITLES:
        return False
    if lower in _NUMBERED and not (len(word) == 1 and word.isupper()):
        return not (following[0].isdigit() or _ROMAN.fullmatch(following))
    if word.isdigit() and begin == start:
        return False  # the number of a list: "1. Introduction"
    if lower in _PERHAPS or _INITIALS.fullmatch(word):
        return following.lower() in _STARTERS
    return True
