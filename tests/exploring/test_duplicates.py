from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from tests.exploring.conftest import ByWords

from mirrormask.core.errors import MirrormaskError
from mirrormask.exploring.duplicates import _Joined, find_duplicates
from mirrormask.exploring.texts import Texts


def with_copies(pile: Texts) -> Texts:
    short = "Nobody had told the choir."
    long = "A long report on the rain and the storm that came over the hills in spring and stayed for nine days"
    texts = [*pile.texts, short, short.upper(), f"{short[:-1]}!!", long, f"{long} or ten"]
    return Texts("pile.txt", texts, [f"pile.txt:{row}" for row in range(1, len(texts) + 1)])


def test_every_kind_of_copy_is_found_and_nothing_else_is_lost(pile: Texts, by_words: ByWords) -> None:
    texts = with_copies(pile)
    found = find_duplicates(texts, by="words")
    assert found.closeness is None
    kinds = {group.members: group.kind for group in found.groups}
    assert kinds[90, 91, 92] == "exact"
    assert kinds[93, 94] == "words"
    both = find_duplicates(texts, threshold=0.97)
    assert both.closeness is not None and "as asked" in both.closeness.reason
    assert {90, 91, 92} <= set(next(group.members for group in both.groups if 90 in group.members))
    members = [place for group in both.groups for place in group.members]
    assert len(members) == len(set(members)), "a text is in one group"
    assert both.repeated == len(members) - len(both.groups)
    assert [len(group.members) for group in both.groups] == sorted((len(g.members) for g in both.groups), reverse=True)


def test_the_threshold_is_chosen_and_said(pile: Texts, by_words: ByWords) -> None:
    found = find_duplicates(with_copies(pile))
    assert found.closeness is not None
    assert 0.5 <= found.closeness.threshold <= 0.99
    assert found.closeness.reason in found.summary()
    assert found.to_dict()["threshold"] == found.closeness.threshold


def test_groups_are_written_whole(pile: Texts, by_words: ByWords, tmp_path: Path) -> None:
    found = find_duplicates(with_copies(pile), by="words")
    found.save(tmp_path / "groups.csv")
    found.save(tmp_path / "groups.jsonl")
    with (tmp_path / "groups.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    lines = [json.loads(line) for line in (tmp_path / "groups.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == [line["id"] for line in lines]
    copies = [row for row in rows if row["kind"] == "exact"]
    assert [row["text"] for row in copies] == [found.texts.texts[place] for place in (90, 91, 92)]
    assert len({row["group"] for row in copies}) == 1
    with pytest.raises(MirrormaskError, match="Groups are written as .csv or .jsonl"):
        found.save(tmp_path / "groups.xml")
    assert all(len(row) == 5 for row in found.table().rows)
    groups = json.loads(json.dumps(found.to_dict()))["groups"]
    assert {"id": "pile.txt:91", "text": found.texts.texts[90]} in [each for one in groups for each in one["members"]]


def test_a_pile_without_copies_says_so(by_words: ByWords) -> None:
    texts = Texts("two.txt", ["rain falls", "bread is baked"], ["1", "2"])
    found = find_duplicates(texts)
    assert found.groups == ()
    assert found.summary()[0] == "None of 2 texts repeats another."


def test_a_chain_of_small_steps_ties_no_ends_together() -> None:
    turn = np.linspace(0, np.pi / 2, 40)
    units = np.stack([np.cos(turn), np.sin(turn)], axis=1).astype(np.float32)
    near = np.float32(np.cos(turn[1]))
    chain = np.arange(39), np.arange(1, 40), np.full(39, near)
    joined = _Joined(40)
    joined.join(chain, "meaning", units)
    groups = joined.groups([[place] for place in range(40)])
    assert max(len(group.members) for group in groups) <= 4


def test_bad_numbers_are_refused(pile: Texts) -> None:
    with pytest.raises(MirrormaskError, match="'threshold' of duplicates"):
        find_duplicates(pile, threshold=1.5)
    with pytest.raises(MirrormaskError, match="'words' of duplicates"):
        find_duplicates(pile, words=0)
    with pytest.raises(MirrormaskError, match="'by' of duplicates"):
        find_duplicates(pile, by="looks")
