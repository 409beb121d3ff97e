"""The template language of cloze questions: text around fields, masks and soft tokens.

    {text} It was [MASK].           a field, and one mask
    {a|bare}? [MASK], {b|whole}     premise without its final mark, hypothesis never cut
    {text} A [MASK*2] story.        two masks, for words of at most two tokens
    {a}, so [MASKS].                as many masks as the word at hand has tokens
    [P*3] {text} [P] in [MASK]      soft tokens, whose embeddings are learned, with the anchor "in"

Papers: Schick and Schütze 2021, "Exploiting Cloze Questions for Few Shot Text Classification and Natural Language
    Inference"; Liu et al. 2021, "GPT Understands, Too" (soft tokens anywhere in the text)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from mirrormask.core.errors import MirrormaskError, did_you_mean

WAYS = ("bare", "whole", "lower")
"""What may follow a field's name: without its final mark, never cut, first letter small."""

_PART = re.compile(r"\{([^{}]*)\}|\[(MASKS|MASK|P|SEP)(?:\*(\d+))?\]")


@dataclass(frozen=True)
class Part:
    """One part of a template.

    Args:
        kind: "words", "field", "mask", "soft" or "separator".
        text: the words, or the name of the field.
        ways: how the field is put in.
        count: masks or soft tokens; 0 stands for as many masks as a word has tokens.
        spaced: whether white space stands before it.
    """

    kind: str
    text: str = ""
    ways: tuple[str, ...] = ()
    count: int = 1
    spaced: bool = False


@dataclass(frozen=True)
class Template:
    """A cloze question, checked: fields, and one place of masks.

    Args:
        text: in the template language.

    Example:
        >>> question = Template("{text} It was [MASK*2].")
        >>> question.fields, question.masks, question.soft
        (('text',), 2, 0)
    """

    text: str

    def __post_init__(self) -> None:
        kinds = [part.kind for part in self.parts]
        if "mask" not in kinds:
            raise MirrormaskError(
                f"The template {self.text!r} has no [MASK]. Put one where the word is to be guessed, as in "
                "'{text} It was [MASK].'"
            )
        if kinds.count("mask") > 1:
            raise MirrormaskError(
                f"The template {self.text!r} has masks in several places, and one word is guessed. Write them "
                "together, as [MASK*2]."
            )
        if "field" not in kinds:
            raise MirrormaskError(f"The template {self.text!r} has no place for a text. Put in {{text}}.")

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Return the parts in their order; masks side by side are one part."""
        found: list[Part] = []
        end = 0
        spaced = False
        for match in _PART.finditer(self.text):
            spaced = _words(found, self.text[end : match.start()], spaced=spaced)
            found.append(self._part(match, spaced))
            spaced, end = False, match.end()
        _words(found, self.text[end:], spaced=spaced)
        joined: list[Part] = []
        for part in found:
            last = joined[-1] if joined else None
            if last is not None and last.kind == part.kind == "mask" and last.count and part.count:
                joined[-1] = Part("mask", count=last.count + part.count, spaced=last.spaced)
            else:
                joined.append(part)
        return tuple(joined)

    def _part(self, match: re.Match[str], spaced: bool) -> Part:
        field, special, times = match.groups()
        if special:
            if times == "0" or (times and special in ("MASKS", "SEP")) or len(times or "") > 3:
                raise MirrormaskError(f"{match.group()} in the template {self.text!r} is no number of tokens.")
            kind = {"P": "soft", "SEP": "separator"}.get(special, "mask")
            return Part(kind, count=0 if special == "MASKS" else int(times or 1), spaced=spaced)
        name, *ways = (each.strip() for each in field.split("|"))
        if not name:
            raise MirrormaskError(f"The template {self.text!r} has a place without a name. Write {{text}}.")
        for way in ways:
            if way not in WAYS:
                raise MirrormaskError(
                    f"There is no way {way!r} to put a field into a template; known are {', '.join(WAYS)}."
                    f"{did_you_mean(way, WAYS)}"
                )
        return Part("field", name, tuple(ways), spaced=spaced)

    @property
    def fields(self) -> tuple[str, ...]:
        """Return the names of the fields."""
        return tuple(dict.fromkeys(part.text for part in self.parts if part.kind == "field"))

    @property
    def masks(self) -> int:
        """Return the number of masks; 0 stands for as many as a word has tokens."""
        return next(part.count for part in self.parts if part.kind == "mask")

    @property
    def soft(self) -> int:
        """Return the number of soft tokens."""
        return sum(part.count for part in self.parts if part.kind == "soft")

    @property
    def spaced(self) -> bool:
        """Return whether the guessed word stands after a space, or begins the text, as byte-level tokenizers ask."""
        place = next(i for i, part in enumerate(self.parts) if part.kind == "mask")
        return self.parts[place].spaced or place == 0


def whole_template(text: str) -> Template:
    """Return a template, with the text put in front where it names no field.

    Example:
        >>> whole_template("It was [MASK].").text
        '{text} It was [MASK].'
    """
    fields = any(match.group(1) is not None for match in _PART.finditer(text))
    return Template(text if fields or "[MASK" not in text else f"{{text}} {text}")


def _words(found: list[Part], text: str, *, spaced: bool) -> bool:
    """Add the words between two places, and return whether white space follows them."""
    if text.strip():
        found.append(Part("words", text.strip(), spaced=spaced or text[0].isspace()))
        return text[-1].isspace()
    return spaced or bool(text)


def put_in(text: str, ways: tuple[str, ...]) -> str:
    """Return a field's text as a template asks for it.

    Example:
        >>> put_in("The boat left.", ("bare", "lower"))
        'the boat left'
    """
    text = text.strip()
    if "bare" in ways:
        text = text.rstrip(".!?。！？…,;， ")
    if "lower" in ways:
        text = text[:1].lower() + text[1:]
    return text
