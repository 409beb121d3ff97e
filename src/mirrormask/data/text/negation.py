"""English sentences with their meaning turned round, by rule: a "not" put in or taken out.

Paper: Wang et al. 2022, "SNCSE: Contrastive Learning for Unsupervised Sentence Embedding with Soft Negative Samples",
    Section 3.2. Its code asks a dependency parser for the first auxiliary or the root; here the first finite verb, by
    its part of speech, stands for both:

    a sentence with "not", "n't" or "cannot"        loses it
    "is", "was", a modal, an auxiliary              gets "not" behind it
    another verb                                    "does not", "do not" or "did not" and its lemma
    no finite verb                                  gets "not" in front
"""

from __future__ import annotations

import re

from mirrormask.data.text.word_tags import WordTagger

_WORD = re.compile(r"\w+(?:['\u2019]\w+)*|[^\w\s]")
_SHORT = {"won't": "will", "can't": "can", "shan't": "shall", "cannot": "can", "ain't": "is"}
_DO = {"B": "do", "Z": "does", "D": "did"}
_REACH = 3  # words between an auxiliary and its verb


def negated(text: str, tagger: WordTagger) -> str:
    """Return the sentence that says the opposite, as far as a rule can.

    Args:
        text: an English sentence.
        tagger: tells verbs.
    """
    found = list(_WORD.finditer(text))
    words = [each.group() for each in found]
    for place, word in enumerate(words):
        plain = word.lower().replace("\u2019", "'")
        if plain == "not":
            before = text[: found[place].start()].rstrip()
            return before + text[found[place].end() :] if before else text[found[place].end() :].lstrip()
        if plain in _SHORT or plain.endswith("n't"):
            start = found[place].start()
            return text[:start] + _as(word, _SHORT.get(plain, plain[:-3])) + text[found[place].end() :]
    tagged = tagger.lemmas(words)
    for place, (lemma, tag) in enumerate(tagged):
        if re.fullmatch(r"VM0|V[BDHV][BDZ]", tag):
            start, end = found[place].span()
            if tag[:2] in ("VM", "VB") or _helps(tag, [each for _, each in tagged[place + 1 : place + 1 + _REACH]]):
                return f"{text[:end]} not{text[end:]}"
            return f"{text[:start]}{_as(words[place], _DO[tag[2]])} not {lemma}{text[end:]}"
    return f"not {text}"


def _helps(tag: str, after: list[str]) -> bool:
    """Say whether "have" or "do" is the auxiliary of a verb that follows it, adverbs and pronouns between them."""
    wanted = {"VH": "N", "VD": "IB"}.get(tag[:2], "")
    for each in after:
        if each[:1] == "V":
            return each[2:3] in wanted and bool(wanted)
        if each[:2] not in ("AV", "PN"):
            return False
    return False


def _as(word: str, other: str) -> str:
    """Return another word with a capital where the first has one."""
    return other.capitalize() if word[:1].isupper() else other
