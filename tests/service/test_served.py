"""What is served is opened once, and an index again when it was replaced."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirrormask.core.errors import ModelError
from mirrormask.search.index import Index
from mirrormask.service.answering import Service
from mirrormask.service.served import Served, open_all


@pytest.fixture
def copied(notes_index: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(notes_index, tmp_path / "mine"))


def test_a_replaced_index_is_opened_and_the_old_one_goes_on_answering(
    copied: Path, notes: list[dict[str, Any]], tiny_folder: Path
) -> None:
    served = Served(str(copied), "mine")
    old = served.generation
    assert old is not None
    served.refresh()
    assert served.generation is old and served.reloads == 0
    Index.build(notes[:7], copied, model=str(tiny_folder))
    found = old.index.search("the old baker", where="lang = 'en' and year >= 2000", top=40)  # its files are gone
    assert len(found) == 20 and not (copied / "g000001").exists()
    served.refresh()
    assert served.generation is not old and served.generation is not None and served.reloads == 1
    assert len(served.generation.index) == 7 and served.about()["documents"] == 7
    assert served.generation.index.encoder.model is old.index.encoder.model  # not loaded twice


def test_an_index_that_cannot_be_opened_leaves_the_one_before(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    served = Served(str(copied), "mine")
    (copied / "index.json").write_text("{", encoding="utf-8")
    served.refresh()
    served.refresh()
    assert served.generation is not None and len(served.generation.index) == 40
    assert served.failures == 1 and capsys.readouterr().err.count("mine was replaced and cannot be opened") == 1
    (copied / "index.json").unlink()
    served.refresh()
    assert served.failures == 2 and len(served.generation.index.search("baker", mode="words")) > 0


def test_an_index_of_another_model_is_refused(copied: Path) -> None:
    with pytest.raises(ModelError, match="This index was made with another encoder than mini is now"):
        open_all([str(copied)], model="mini")


def test_names_tell_apart_and_hold_no_folders(notes_index: Path, copied: Path, tmp_path: Path) -> None:
    again = Path(shutil.copytree(copied, tmp_path / "other" / "mine"))
    served = open_all([str(copied), str(again)])
    assert [each.name for each in served] == ["mine", "mine-2"]
    assert all("/" not in str(each.about()) for each in served)


def test_a_column_that_was_not_read_before_its_files_went_is_asked_of_the_new_one(
    copied: Path, notes: list[dict[str, Any]], tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mirrormask.search.index._LONG_COLUMN", 10)
    service = Service([Served(str(copied), "mine")])
    (column,) = [each for each in service.served[0].about()["columns"] if each["name"] == "year"]
    assert column["values"] == [] and column["different"] is None
    Index.build(notes[:7], copied, model=str(tiny_folder))
    options = {"mode": "both", "top": 40, "where": "year >= 2000"}
    found = asyncio.run(service.search(service.served[0], "the old baker", **options))
    service.close()
    assert len(found) == 7 and service.served[0].reloads == 1


def test_another_backend_gives_the_same_and_is_told(copied: Path, sentences: list[str]) -> None:
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    plain, quick = Served(str(copied), "mine"), Served(str(copied), "mine", backend="onnx")
    assert plain.about()["backend"].startswith("torch") and "onnx" in quick.about()["backend"]
    assert plain.generation is not None and quick.generation is not None
    pairs: list[tuple[Any, Any]] = [(plain.texts, quick.texts), (plain.generation.queries, quick.generation.queries)]
    for pair in pairs:
        one, other = (own.vectors(sentences[:9], own.rows(sentences[:9])) for own in pair)
        assert np.abs(one - other).max() < 1e-3
