from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mirrormask.core.errors import DataError
from mirrormask.data.tasks.classified import Classified
from mirrormask.heads import predicting
from mirrormask.heads.classifier import Classifier
from mirrormask.heads.judging import judge
from mirrormask.heads.predicting import predict_file

Tiny = Callable[..., Any]
Write = Callable[[str, list[dict[str, object]]], Path]


def test_blocks_change_nothing(
    tiny: Tiny, sentences: list[str], write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    classifier = Classifier(tiny(), ["calm", "glad", "sad"])
    source = write("rows.jsonl", [{"body": text, "id": place} for place, text in enumerate(sentences[:250])])
    seen: list[int] = []
    predict_file(classifier, source, tmp_path / "one.jsonl", text="body", every=True)
    monkeypatch.setattr(predicting, "BLOCK", 7)
    found = predict_file(classifier, source, tmp_path / "two.jsonl", text="body", every=True, progress=seen.append)
    one, two = (
        [json.loads(line) for line in (tmp_path / f"{name}.jsonl").read_text().splitlines()] for name in ("one", "two")
    )
    assert [row["id"] for row in two] == list(range(250)) and found["rows"] == sum(seen) == 250
    assert [row["label"] for row in one] == [row["label"] for row in two]
    assert sum(found["labels"].values()) == 250 and set(one[0]["probabilities"]) == {"calm", "glad", "sad"}


def test_several_labels_are_a_list_and_in_a_table_one_cell(tiny: Tiny, write: Write, tmp_path: Path) -> None:
    classifier = Classifier(tiny(), ["calm", "glad"], several=True, threshold=0.0)
    source = write("rows.jsonl", [{"text": "a boat"}, {"text": None}])
    predict_file(classifier, source, tmp_path / "out.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert sorted(rows[0]["label"]) == ["calm", "glad"] and rows[1]["label"] == [] and rows[1]["probability"] is None
    predict_file(classifier, source, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().splitlines()[1].split('"')[1] in ("calm,glad", "glad,calm")


def test_a_number_is_no_text(tiny: Tiny, write: Write, tmp_path: Path) -> None:
    source = write("rows.jsonl", [{"text": "a boat"}, {"text": 7}])
    with pytest.raises(DataError, match="row 2: 'text' must be a text. Got 7"):
        predict_file(Classifier(tiny(), ["calm", "glad"]), source, tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists(), "whole or not at all"


def test_one_label_and_several_are_not_mixed_up(tiny: Tiny) -> None:
    one, many = Classifier(tiny(), ["calm", "glad"]), Classifier(tiny(), ["calm", "glad"], several=True)
    data = Classified("rows.csv", ("a boat", "a river"), (("calm",), ("calm", "glad")), several=True)
    with pytest.raises(DataError, match="have several labels or none, and the classifier gives one"):
        judge(one, data)
    assert judge(one, data.take([0]))["rows"] == 1
    assert "micro_f1_percent" in judge(many, data)
    assert "micro_f1_percent" in judge(many, Classified("rows.csv", ("a boat",), (("calm",),)))
