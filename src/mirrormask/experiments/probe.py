"""One sentence probed: its impact matrix, the trees read from it, and pictures of all three."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import DataError, MirrormaskError, one_of
from mirrormask.core.storage import atomic_file, check_writable
from mirrormask.models.names import DEFAULT_MODEL
from mirrormask.probing.constituency import ConstituencyParser
from mirrormask.probing.decoders import Heads, Spans
from mirrormask.probing.dependency import DependencyParser
from mirrormask.probing.impact import DEFAULT, Impact, impact_matrices

UNITS = ("words", "spaces", "characters")
"""How a text is cut: words and punctuation (Chinese characters alone), at white space only, or every character."""

PICTURES = (".png", ".svg", ".html")

_WORD = re.compile(
    r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|(?:(?![\u3400-\u9fff\uf900-\ufaff])\w)+(?:['’.-]\w+)*|\S"
)

_ROOT_FOUND = DependencyParser(root="found")
_PHRASES = ConstituencyParser()


@dataclass(frozen=True)
class Probed:
    """What a model's masks say about one sentence.

    Args:
        model: its name.
        words: the units of the sentence.
        impact: how the matrix was read.
        matrix: how much masking word j moves word i (n, n).
        heads: the head of each word, -1 for the root (n,).
        spans: the phrases of two or more words.
    """

    model: str
    words: tuple[str, ...]
    impact: Impact
    matrix: NDArray[np.float32]
    heads: Heads
    spans: Spans

    @property
    def brackets(self) -> str:
        """Return the phrases in brackets, without labels.

        Example:
            >>> words, spans = ("the", "cat", "sleeps"), [(0, 3), (0, 2)]
            >>> Probed("", words, DEFAULT, np.zeros((3, 3)), np.array([1, 2, -1]), spans).brackets
            '((the cat) sleeps)'
        """
        opened = Counter(start for start, _ in self.spans)
        closed = Counter(stop for _, stop in self.spans)
        return " ".join("(" * opened[place] + word + ")" * closed[place + 1] for place, word in enumerate(self.words))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "model": self.model,
            "words": list(self.words),
            "layer": self.impact.layer,
            "measure": self.impact.measure,
            "impact": np.round(self.matrix.astype(float), 5).tolist(),
            "heads": self.heads.tolist(),
            "spans": [list(span) for span in self.spans],
            "brackets": self.brackets,
        }

    def save(self, path: Path | str) -> None:
        """Write a picture, in the format its ending names: `.png`, `.svg` or `.html`."""
        from mirrormask.experiments import probe_pictures

        path = check_picture(path)
        if path.suffix == ".html":
            content = probe_pictures.page(self).encode("utf-8")
        else:
            content = probe_pictures.picture(self, path.suffix)
        with atomic_file(path, "wb") as stream:
            stream.write(content)


def check_picture(path: Path | str) -> Path:
    """Return the path of a picture, or say what is wrong with it before any work is done."""
    path = Path(path)
    if path.suffix not in PICTURES:
        raise MirrormaskError(f"A picture is written as {', '.join(PICTURES)}. Got {path}.")
    check_writable(path.parent)
    return path


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
    model: str | Path = DEFAULT_MODEL,
    impact: Impact = DEFAULT,
    parser: DependencyParser = _ROOT_FOUND,
    phrases: ConstituencyParser = _PHRASES,
    units: str = "words",
    precision: str = "auto",
) -> Probed:
    """Mask every two words of a sentence and return what that shows.

    Args:
        text: the sentence, or its words.
        model: a masked language model, by name or folder.
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
    from mirrormask.models.masked_lm import MaskedLM

    matrix = next(impact_matrices(MaskedLM.load(model), [words], impact, precision=precision, label="Sentence"))
    return Probed(str(model), words, impact, matrix, parser.parse(matrix), phrases.parse(matrix))
