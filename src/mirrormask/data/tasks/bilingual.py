"""Bilingual dictionaries: words with their translations, as the files of XLing-Eval have them.

Paper: Glavaš et al. 2019, "How to (Properly) Evaluate Cross-Lingual Word Embeddings: On Strong Baselines, Comparative
    Analyses, and Some Misconceptions"
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mirrormask.core.errors import DataError
from mirrormask.data.tasks.word_pairs import find_word_file
from mirrormask.data.text.files import open_text

SIZES = ("500", "1k", "3k", "5k")
"""Training dictionaries that there are."""


@dataclass(frozen=True)
class Dictionary:
    """Words of one language with all their translations into another.

    Args:
        translations: of each word, in the order of the file.
        source: the file, for messages.
    """

    translations: Mapping[str, tuple[str, ...]] = field(repr=False)
    source: str

    def __len__(self) -> int:
        return len(self.translations)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Return every word with every translation."""
        return [(word, each) for word, found in self.translations.items() for each in found]


def read_dictionary(path: Path | str) -> Dictionary:
    """Read a dictionary: a word and a translation a line, with a tab between; a word may have several lines.

    Raises:
        DataError: there is no such file, or a line is not two words.
    """
    found: dict[str, dict[str, None]] = {}
    with open_text(path) as lines:
        for number, line in enumerate(lines, 1):
            cells = [cell.strip() for cell in line.rstrip("\n").split("\t")]
            if cells == [""]:
                continue
            if len(cells) != 2 or not all(cells):
                raise DataError(f"{path}, line {number}: expected a word, a tab and its translation. Got {line!r}.")
            found.setdefault(cells[0], {})[cells[1]] = None
    if not found:
        raise DataError(f"{path} has no words in it. A line is a word, a tab and its translation.")
    return Dictionary({word: tuple(each) for word, each in found.items()}, str(path))


def find_dictionaries(languages: str, size: str = "5k") -> tuple[Dictionary, Dictionary]:
    """Return the dictionaries to learn from and to be measured by, of a pair such as `en-de`, from a local root.

    Args:
        languages: the two languages; `de-en` turns the files of `en-de` round where there are none of its own.
        size: of the one to learn from.
    """
    one, _, other = languages.partition("-")
    for folder in (languages, f"{other}-{one}"):
        for name, turned in ((languages, False), (f"{other}-{one}", True)):
            files = (f"yacle.train.freq.{size}.{name}.tsv", f"yacle.test.freq.2k.{name}.tsv")
            if all(_there(folder, file) for file in files):
                read = [read_dictionary(find_word_file(file, f"bli/{folder}")) for file in files]
                train, test = (turn(each) for each in read) if turned else read
                return train, test
    missing = find_word_file(f"yacle.test.freq.2k.{languages}.tsv", f"bli/{languages}")  # says what is missing
    raise DataError(f"{missing} is there, and the dictionary of {size} words to learn from is not.")


def turn(dictionary: Dictionary) -> Dictionary:
    """Return the dictionary from the other language."""
    found: dict[str, dict[str, None]] = {}
    for word, translation in dictionary.pairs:
        found.setdefault(translation, {})[word] = None
    return Dictionary({word: tuple(each) for word, each in found.items()}, dictionary.source)


def _there(folder: str, file: str) -> bool:
    try:
        find_word_file(file, f"bli/{folder}")
    except DataError:
        return False
    return True
