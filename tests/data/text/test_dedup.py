"""The set in memory and the buckets on disk remove the same rows: all but the first of a kind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mirrormask.data.text import dedup
from mirrormask.data.text.dedup import Deduplicator, repeated_rows, text_key


def kept(folder: Path, rows: list[tuple[str, ...]], **settings: int) -> list[int]:
    """Return the rows that stay, through both stages."""
    folder.mkdir(exist_ok=True)
    duplicates = Deduplicator(folder, **settings)
    through = [i for i, row in enumerate(rows) if duplicates.is_new(row)]
    bits = duplicates.removed()
    assert list(folder.iterdir()) == []
    if bits is None:
        return through
    removed = np.unpackbits(bits, bitorder="little")[: len(through)].astype(bool)
    return [i for i, gone in zip(through, removed, strict=True) if not gone]


def first_of_each(rows: list[tuple[str, ...]]) -> list[int]:
    seen: set[tuple[str, ...]] = set()
    first = []
    for i, row in enumerate(rows):
        key = tuple(" ".join(text.casefold().split()) for text in row)
        if key not in seen:
            first.append(i)
            seen.add(key)
    return first


@pytest.mark.parametrize("width", [1, 2])
def test_both_ways_keep_the_first_of_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setattr(dedup, "_SCAN", 700)
    chance = np.random.default_rng(width)
    words = ["Sea", "sea", "SEA ", " lake", "lake  house", "Lake house", "straße", "STRASSE", "", "海"]
    rows = [tuple(words[i] + str(chance.integers(400)) for i in chance.integers(10, size=width)) for _ in range(6000)]
    expected = first_of_each(rows)
    assert 500 < len(expected) < 6000
    assert kept(tmp_path / "a", rows) == expected
    assert kept(tmp_path / "b", rows, in_memory=0) == expected
    assert kept(tmp_path / "c", rows, in_memory=100, bucket_rows=50) == expected
    assert kept(tmp_path / "d", rows, in_memory=300, bucket_rows=1000) == expected


def test_nothing_to_remove(tmp_path: Path) -> None:
    rows: list[tuple[str, ...]] = [(f"sentence {i}",) for i in range(500)]
    assert kept(tmp_path / "a", rows) == kept(tmp_path / "b", rows, in_memory=10, bucket_rows=64) == list(range(500))


def test_keys_keep_columns_apart() -> None:
    assert text_key(("a b", "c")) != text_key(("a", "b c")) != text_key(("a b c",))
    assert text_key(("Ａ\ud800",)) == text_key(("ａ?",))  # a lone surrogate cannot be written as UTF-8


def test_repeated_rows_against_a_loop() -> None:
    chance = np.random.default_rng(0)
    keys = chance.integers(0, 50, size=300).astype(np.uint64)
    rows = np.arange(1000, 1300, dtype=np.uint64)
    expected = [row for place, row in enumerate(rows.tolist()) if keys[place] in keys[:place]]
    assert sorted(repeated_rows(keys, rows).tolist()) == expected
