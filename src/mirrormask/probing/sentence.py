"""One sentence probed: its impact matrix, the trees read from it, and pictures of all three."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from mirrormask.core.errors import DataError, one_of
from mirrormask.data.text.sentences import is_chinese
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.models.names import CHINESE_MODEL, DEFAULT_MODEL
from mirrormask.probing.constituency import ConstituencyParser
from mirrormask.probing.dependency import DependencyParser
from mirrormask.probing.impact import DEFAULT, Impact, impact_matrices
from mirrormask.probing.probed import Probed

UNITS = ("words", "spaces", "characters")
"""How a text is cut: words and punctuation (Chinese characters alone), at white space only, or every character."""

_WORD = re.compile(
    r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|(?:(?![\u3400-\u9fff\uf900-\ufaff])\w)+(?:['’.-]\w+)*|\S"
)

_ROOT_FOUND = DependencyParser(root="found")
_PHRASES = ConstituencyParser()


def split(text: str, how: str = "words") -> list[str]:
    """Return the units of a text.

    Example:
        >>> split("Don't wake the cat, please.")
        ["Don't", 'wake', 'the', 'cat', ',', 'please', '.']
        >>> split("今天下雨2024")
        ['今', '天', '下', '雨', '2024']
    """
    one_of("units", how, UNITS, of="a probe")
    if how == "characters":
        return [character for character in text if not character.isspace()]
    return text.split() if how == "spaces" else _WORD.findall(text)


def probe_sentence(
    text: str | Sequence[str],
    *,
    model: str | Path | MaskedLM = "",
    impact: Impact = DEFAULT,
    parser: DependencyParser = _ROOT_FOUND,
    phrases: ConstituencyParser = _PHRASES,
    units: str = "words",
    precision: str = "auto",
) -> Probed:
    """Mask every two words of a sentence and return what that shows.

    Args:
        text: the sentence, or its words.
        model: a masked language model, by name or folder, or loaded; by default `mini`, or `mini-zh` for Chinese text.
        impact: what is read from it, without a root and at one layer.
        parser: how the matrix becomes a dependency tree.
        phrases: how it becomes a constituency tree.
        units: how a text is cut, a name of `UNITS`.
        precision: as for impact matrices.

    Example:
        >>> probe_sentence("the old boat crossed the river").brackets  # doctest: +SKIP
    """
    words = tuple(split(text, units) if isinstance(text, str) else text)
    if not words:
        raise DataError("The sentence is empty, and at least one word is needed. Put it in quotes.")
    if not isinstance(model, MaskedLM):
        name = str(model or default_model("".join(words)))
        lm = MaskedLM.load(name)
    else:
        lm, name = model, str(model.model.name_or_path)
    matrix = next(impact_matrices(lm, [words], impact, precision=precision, label="Sentence"))
    return Probed(name, words, impact, matrix, parser.parse(matrix), phrases.parse(matrix))


def default_model(text: str) -> str:
    """Return the name of the masked language model that reads a text where none is named."""
    return CHINESE_MODEL if is_chinese(text) else DEFAULT_MODEL
