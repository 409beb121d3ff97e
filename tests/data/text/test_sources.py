from __future__ import annotations

import builtins
import gzip
import json
import os
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from mirrormask.core.errors import DataError
from mirrormask.data.text import sources
from mirrormask.data.text.sources import (
    DatasetMissing,
    dataset_roots,
    describe_source,
    find_corpus,
    find_split,
    load_rows,
)


def write_split(root: Path, name: str, split: str, rows: list[dict[str, Any]]) -> Path:
    path = root / name / f"{split}.jsonl.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
    return path


@pytest.fixture
def roots(tmp_path: Path, hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    monkeypatch.setenv("MIRRORMASK_DATA", os.pathsep.join(map(str, folders)))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.delenv("HF_DATASETS_OFFLINE", raising=False)
    return folders


def test_roots_come_from_the_environment_in_order(roots: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    assert dataset_roots() == roots
    monkeypatch.delenv("MIRRORMASK_DATA")
    assert dataset_roots() == []


def test_the_first_root_that_has_the_split_wins(roots: list[Path]) -> None:
    second = write_split(roots[1], "some/task", "test", [{"n": 2}])
    assert find_split("some/task", "test") == second
    first = write_split(roots[0], "some/task", "test", [{"n": 1}])
    assert find_split("some/task", "test") == first
    assert list(load_rows("some/task", "test")) == [{"n": 1}]
    assert describe_source("some/task", "test") == str(first)
    assert describe_source("some/task", "dev") == "some/task (dev)"
    assert find_split("some/task", "dev") is None


def test_any_format_is_a_split(roots: list[Path]) -> None:
    (roots[0] / "plain").mkdir()
    (roots[0] / "plain" / "test.tsv").write_text("a\tb\n1\t2\n")
    assert list(load_rows("plain", "test")) == [{"a": "1", "b": "2"}]


def test_a_corpus_is_found_with_and_without_its_endings(roots: list[Path]) -> None:
    (roots[1] / "corpus").mkdir()
    inside = roots[1] / "corpus" / "letters.txt.bz2"
    inside.write_bytes(b"")
    assert find_corpus("letters") == inside
    assert find_corpus("letters.txt.bz2") == inside
    outside = roots[0] / "letters.jsonl"
    outside.write_text("{}\n")
    assert find_corpus("letters") == outside
    assert find_corpus("absent") is None


@pytest.mark.parametrize("name", ["../one/secret", "/etc/hosts", "a b", ""])
def test_a_name_never_leads_out_of_the_roots(roots: list[Path], name: str) -> None:
    (roots[0] / "secret.txt").write_text("x")
    assert find_corpus(name) is None
    assert find_split(name, "test") is None
    with pytest.raises(DataError, match="is no dataset name"):
        load_rows(name, "test")


def test_an_offline_miss_names_the_roots_and_both_ways_out(
    roots: list[Path], hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    hub.HF_HUB_OFFLINE = True
    hub.load_error = ConnectionError("not cached")
    write_split(roots[0], "some/task", "train", [{"n": 1}])
    with pytest.raises(DatasetMissing) as caught:
        load_rows("some/task", "test")
    message = str(caught.value)
    assert f"under {roots[0]}, {roots[1]} (only train)" in message
    assert "HF_HUB_OFFLINE is set" in message
    assert "Set MIRRORMASK_DATA to a folder that holds some/task/test.jsonl.gz, or unset HF_HUB_OFFLINE" in message
    assert "\n" not in message


def test_offline_rows_come_from_the_librarys_cache(
    roots: list[Path], hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "true")
    hub.rows = [{"n": 1}]
    with pytest.raises(DatasetMissing, match="HF_HUB_OFFLINE is set"):
        load_rows("some/task", "test")  # the library was imported before it was told, and would wait for the network
    hub.HF_HUB_OFFLINE = True
    assert list(load_rows("some/task", "test")) == [{"n": 1}]
    assert hub.timeout is None
    assert hub.loaded == [("some/task", "test", False)]


def test_without_roots_the_message_says_so(roots: list[Path], hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MIRRORMASK_DATA", raising=False)
    hub.info_error = OSError("down")
    with pytest.raises(DatasetMissing, match="MIRRORMASK_DATA is not set"):
        load_rows("some/task", "test")


def test_a_hub_that_cannot_be_reached_is_told_quickly(roots: list[Path], hub: FakeHub) -> None:
    hub.info_error = OSError("Name or service not known")
    for _ in range(3):
        with pytest.raises(DatasetMissing, match=r"the hub cannot be reached.*or connect to the internet"):
            load_rows("some/task", "test")
    assert hub.timeout is not None and hub.timeout <= 10
    assert hub.asked == 1  # several tasks do not wait for a silent hub one after the other
    assert hub.loaded == []


def test_rows_come_from_the_hub_as_a_stream(roots: list[Path], hub: FakeHub) -> None:
    hub.rows = [{"n": 1}, {"n": 2}]
    assert list(load_rows("some/task", "test")) == [{"n": 1}, {"n": 2}]
    assert hub.loaded == [("some/task", "test", True)]


def test_an_unknown_name_and_an_unknown_split_are_told_apart(roots: list[Path], hub: FakeHub) -> None:
    hub.info_error = hub.not_found
    with pytest.raises(DatasetMissing, match=r"the hub has no such dataset.*check the name"):
        load_rows("some/task", "test")
    hub.info_error = None
    hub.load_error = ValueError('Bad split: tset. Available splits: ["test"]')
    with pytest.raises(DatasetMissing, match=r"no such split .Bad split: tset.*check the split"):
        load_rows("some/task", "tset")


def test_a_stream_that_breaks_is_one_error(roots: list[Path], hub: FakeHub) -> None:
    hub.rows = [{"n": 1}]
    hub.stream_error = ConnectionError("reset by peer")
    with pytest.raises(DataError, match=r"stopped coming from the hub .reset by peer"):
        list(load_rows("some/task", "test"))


def test_a_missing_datasets_package_names_its_extra(roots: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "datasets":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(DatasetMissing, match=r'pip install "mirrormask\[data\]"'):
        load_rows("some/task", "test")


class FakeHub:
    """Stands in for the two hub packages, and remembers what it was asked."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.loaded: list[tuple[str, str, bool]] = []
        self.info_error: Exception | None = None
        self.load_error: Exception | None = None
        self.stream_error: Exception | None = None
        self.timeout: float | None = None
        self.asked = 0
        self.HF_HUB_OFFLINE = False
        self.not_found: Exception = RuntimeError()

    def dataset_info(self, name: str, timeout: float) -> None:
        self.timeout = timeout
        self.asked += 1
        if self.info_error is not None:
            raise self.info_error

    def load_dataset(self, name: str, split: str, streaming: bool = False) -> Any:
        if self.load_error is not None:
            raise self.load_error
        self.loaded.append((name, split, streaming))

        def rows() -> Any:
            yield from self.rows
            if self.stream_error is not None:
                raise self.stream_error

        return rows()


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> FakeHub:
    fake = FakeHub()
    monkeypatch.setattr(sources, "_silent_until", [0.0])

    class NotFound(Exception):
        pass

    fake.not_found = NotFound()
    monkeypatch.setitem(sys.modules, "datasets", types.SimpleNamespace(load_dataset=fake.load_dataset, config=fake))
    monkeypatch.setitem(sys.modules, "huggingface_hub", types.SimpleNamespace(HfApi=lambda: fake))
    errors = types.SimpleNamespace(RepositoryNotFoundError=NotFound)
    monkeypatch.setitem(sys.modules, "huggingface_hub.errors", errors)
    return fake
