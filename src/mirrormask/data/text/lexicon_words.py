"""Synonyms and antonyms of words, from a lexicon file or from the files of WordNet.

A lexicon is JSON lines with a list `words` of what means the same and perhaps `antonyms` (words, of the first of the
words, or pairs of words), or lines of words that mean the same with commas or tabs between them. WordNet's own files
are `data.noun`, `data.verb`, `data.adj` and `data.adv` in a folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mirrormask.core.errors import DataError
from mirrormask.data.text.files import open_text, records
from mirrormask.data.text.sources import dataset_roots

Entry = tuple[list[str], list[tuple[str, str]]]
"""Words that mean the same, and pairs of words that mean the opposite."""

_LONGEST = 3  # words of a synonym
_PER_WORD = 20  # synonyms of a word that are kept, in the order of the file
_WORDNET = ("data.noun", "data.verb", "data.adj", "data.adv")


def find_lexicon(name: str) -> Path:
    """Return a lexicon that is a path, or the name of one under `lexicon/` of the folders in MIRRORMASK_DATA.

    Raises:
        DataError: there is none.
    """
    if Path(name).exists():
        return Path(name)
    known = [file for root in dataset_roots() for file in sorted((root / "lexicon").glob(f"{name}.*"))]
    if not known:
        raise DataError(
            f"There is no lexicon {name}. Name a file, a folder of WordNet's data files, or one under lexicon/ of the "
            "folders in MIRRORMASK_DATA."
        )
    return known[0]


def read_synonyms(path: Path | str) -> dict[str, list[str]]:
    """Return the synonyms of each word of a lexicon, lower case.

    Raises:
        DataError: the lexicon holds no two words that belong together.
    """
    return read_opposites(path)[0]


def read_opposites(path: Path | str) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return the synonyms and the antonyms of each word of a lexicon, lower case.

    Raises:
        DataError: the lexicon holds no two words that belong together.
    """
    found: dict[str, dict[str, None]] = {}
    against: dict[str, dict[str, None]] = {}
    for words, opposite in _entries(Path(path)):
        plain = [word for word in words if word and len(word.split()) <= _LONGEST]
        for word in plain:
            if " " not in word:
                mine = found.setdefault(word, {})
                mine.update(dict.fromkeys(other for other in plain[: _PER_WORD + 1] if other != word))
        for one, other in opposite:
            against.setdefault(one, {})[other] = None
            against.setdefault(other, {})[one] = None
    kept = {word: list(others)[:_PER_WORD] for word, others in found.items() if others}
    if not kept:
        raise DataError(
            f"{path} names no synonyms. Give JSON lines with a list 'words' each, lines of words with commas or tabs "
            "between them, or a folder with WordNet's data files."
        )
    return kept, {word: list(others)[:_PER_WORD] for word, others in against.items()}


def _entries(path: Path) -> Iterator[Entry]:
    """Yield what every entry of a lexicon says."""
    if path.is_dir():
        files = [path / name for name in _WORDNET if (path / name).is_file()]
        for file in files:
            yield from _wordnet(file)
        return
    if ".json" in path.name:
        for row in records(path):
            words, against = row.get("words"), row.get("antonyms")
            if isinstance(words, list):
                same = [_plain(word) for word in words]
                yield same, _pairs(same, against if isinstance(against, list) else [])
        return
    with open_text(path) as lines:
        for line in lines:
            yield [word.strip().lower() for word in line.strip().replace("\t", ",").split(",")], []


def _pairs(words: list[str], against: list[object]) -> list[tuple[str, str]]:
    found = []
    for other in against:
        pair = other if isinstance(other, list) and len(other) == 2 else (words[0] if words else "", other)
        found.append((_plain(pair[0]), _plain(pair[1])))
    return found


def _plain(word: object) -> str:
    return str(word).replace("_", " ").strip().lower()


def _wordnet(file: Path) -> Iterator[Entry]:
    """Yield the synsets of one of WordNet's data files; an antonym is a pointer `!` between two of their words."""
    sets: dict[str, list[str]] = {}
    pointers: list[tuple[str, int, str, int]] = []
    with open_text(file) as lines:
        for line in lines:
            if line.startswith(" "):  # the licence
                continue
            fields = line.split("|")[0].split()
            try:
                count = int(fields[3], 16)
                words = [_plain(word.split("(")[0]) for word in fields[4 : 4 + 2 * count : 2]]
                rest = fields[5 + 2 * count :]
                sets[fields[0]] = words
                for at in range(0, 4 * int(fields[4 + 2 * count]), 4):
                    if rest[at] == "!":
                        pointers.append((fields[0], int(rest[at + 3][:2], 16), rest[at + 1], int(rest[at + 3][2:], 16)))
            except (IndexError, ValueError) as error:
                raise DataError(f"{file} is no data file of WordNet: {line[:60].strip()!r}.") from error
    opposite: dict[str, list[tuple[str, str]]] = {}
    for synset, mine, other, theirs in pointers:
        if mine and theirs and other in sets:
            opposite.setdefault(synset, []).append((sets[synset][mine - 1], sets[other][theirs - 1]))
    for synset, words in sets.items():
        yield words, opposite.get(synset, [])
