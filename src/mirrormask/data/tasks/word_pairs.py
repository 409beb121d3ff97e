"""Word similarity: pairs of words with a score that people gave them, by the names of their files."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mirrormask.core.errors import DataError, one_of
from mirrormask.data.tasks.scored_pairs import ScoredPairs
from mirrormask.data.text.files import open_text
from mirrormask.data.text.sources import COMPRESSIONS, DatasetMissing, dataset_roots

FOLDER = "words"
"""Where the files lie, below a root of MIRRORMASK_DATA."""


@dataclass(frozen=True)
class WordSource:
    """Where a task's pairs come from, what it is called, and what a reader should know about it."""

    title: str
    file: str
    note: str = ""


WORD_TASKS: dict[str, WordSource] = {
    "simlex": WordSource("SimLex-999", "EN-SIMLEX-999.txt"),
    "simverb": WordSource("SimVerb-3500", "EN-SimVerb-3500.txt"),
    "rw": WordSource("RW", "EN-RW-STANFORD.txt"),
    "men": WordSource("MEN", "EN-MEN-TR-3k.txt"),
    "ws353": WordSource("WS-353", "EN-WS-353-ALL.txt"),
    "ws353-sim": WordSource("WS-353 sim", "EN-WS-353-SIM.txt", "pairs of WS-353"),
    "ws353-rel": WordSource("WS-353 rel", "EN-WS-353-REL.txt", "pairs of WS-353"),
    "rg65": WordSource("RG-65", "EN-RG-65.txt"),
    "mc30": WordSource("MC-30", "EN-MC-30.txt", "pairs of RG-65, judged again"),
    "yp130": WordSource("YP-130", "EN-YP-130.txt"),
    "mturk287": WordSource("MTurk-287", "EN-MTurk-287.txt"),
    "mturk771": WordSource("MTurk-771", "EN-MTurk-771.txt"),
    "verb143": WordSource("Verb-143", "EN-VERB-143.txt"),
}


def load_words(name: str) -> ScoredPairs:
    """Read one task from the folder `words` of a local root.

    Raises:
        DatasetMissing: no root has its file.
        DataError: a line is not two words and a number; the message names file and line.
    """
    where = WORD_TASKS[one_of("task", name, WORD_TASKS, of="a word evaluation")]
    path = find_word_file(where.file)
    left, right, scores = [], [], []
    with open_text(path) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            cells = line.split("\t") if "\t" in line else line.split()
            if len(cells) != 3 or not all(cell.strip() for cell in cells[:2]):
                raise DataError(f"{path}, line {number}: expected two words and a score. Got {line.strip()!r}.")
            left.append(cells[0].strip())
            right.append(cells[1].strip())
            scores.append(_score(cells[2], path, number))
    if len(set(scores)) < 2:
        raise DataError(f"{path} has no two different scores, so nothing can be ranked by them.")
    return ScoredPairs(
        name,
        "",
        tuple(left),
        tuple(right),
        np.array(scores, dtype=np.float64),
        single=True,
        source=str(path),
        note=where.note,
    )


def find_word_file(name: str, folder: str = FOLDER) -> Path:
    """Return a file below the folder of a local root, packed or not."""
    roots = dataset_roots()
    for root in roots:
        for ending in COMPRESSIONS:
            path = root / folder / f"{name}{ending}"
            if path.is_file():
                return path
    searched = f"under {', '.join(map(str, roots))}" if roots else "to be had (MIRRORMASK_DATA is not set)"
    raise DatasetMissing(
        f"The file {folder}/{name} is not {searched}. Set MIRRORMASK_DATA to a folder that holds it: one pair a line, "
        "with tabs between."
    )


def _score(text: str, path: Path, number: int) -> float:
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise DataError(f"{path}, line {number}: the score must be a number. Got {text.strip()!r}.")
    return score
