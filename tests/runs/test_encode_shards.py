"""Folders of shards by the plain engine; by Ray they are the same code, tried in tests/integration/test_ray.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.dataset
import pytest

from mirrormask.core import blocks
from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.runs.encode import encode_file
from mirrormask.runs.vector_file import unfinished


@pytest.fixture(autouse=True)
def blocks_of_8(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 8)


@pytest.fixture
def texts(tmp_path: Path, sentences: list[str]) -> Path:
    """A folder with 20 texts in one file, 5 in another, and files that hold none."""
    folder = tmp_path / "texts"
    (folder / "more").mkdir(parents=True)
    (folder / "a.txt").write_text("\n".join(sentences[:20]))
    (folder / "more" / "b.jsonl").write_text("\n".join(json.dumps({"text": each}) for each in sentences[20:25]))
    for name in ("empty.txt", ".hidden.txt", "picture.png"):
        (folder / name).write_text("" if name == "empty.txt" else "no text")
    return folder


def read(folder: Path) -> dict[str, Any]:
    rows: dict[str, Any] = pyarrow.dataset.dataset(folder, format="parquet").to_table().to_pydict()
    return rows


def test_every_row_of_every_file_has_its_vector(tiny_folder: Path, texts: Path, sentences: list[str]) -> None:
    out, whole = texts.parent / "vectors", texts.parent / "whole.npy"
    done: list[int] = []
    told = encode_file(str(texts), out, model=str(tiny_folder), normalize=True, progress=done.append)
    assert done == [8, 8, 4, 5]
    assert (told["rows"], told["shards"], told["dimension"], told["file"]) == (25, 4, 32, str(out))
    rows = read(out)
    assert rows["file"] == ["a.txt"] * 20 + ["more/b.jsonl"] * 5
    assert rows["row"] == [*range(20), *range(5)]
    assert rows["text"] == sentences[:25]
    (texts.parent / "all.txt").write_text("\n".join(sentences[:25]))
    encode_file(str(texts.parent / "all.txt"), whole, model=str(tiny_folder), normalize=True)
    np.testing.assert_allclose(np.array(rows["vector"]), np.load(whole), atol=1e-6)
    assert not unfinished(out).exists()


class Killed(BaseException):
    pass


def stopped(texts: Path, out: Path, model: Path, after: int, **options: Any) -> None:
    """Encode so many shards and be killed."""
    done: list[int] = []

    def kill(count: int) -> None:
        done.append(count)
        if len(done) == after:
            raise Killed

    with pytest.raises(Killed):
        encode_file(str(texts), out, model=str(model), progress=kill, **options)


def test_a_killed_run_goes_on_with_what_is_missing(tiny_folder: Path, texts: Path) -> None:
    whole, out = texts.parent / "whole", texts.parent / "vectors"
    encode_file(str(texts), whole, model=str(tiny_folder))
    stopped(texts, out, tiny_folder, after=3)
    assert not out.exists()
    (shards,) = (path for path in unfinished(out).iterdir() if path.is_dir())
    sorted(shards.glob("*.parquet"))[1].unlink()  # as if its worker had been killed while others went on
    (shards / ".00000-half.parquet.1234abcd.partial").write_bytes(b"PAR1")
    before = {path.name: path.stat().st_mtime_ns for path in shards.glob("[0-9]*")}
    encode_file(str(texts), out, model=str(tiny_folder), resume=True)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == {
        path.name: path.read_bytes() for path in whole.iterdir()
    }
    assert all((out / name).stat().st_mtime_ns == time for name, time in before.items()), "not encoded twice"
    assert not unfinished(out).exists()


def test_rows_that_are_missing_or_there_twice_are_found(tiny_folder: Path, texts: Path) -> None:
    out = texts.parent / "vectors"
    stopped(texts, out, tiny_folder, after=4)
    (shards,) = (path for path in unfinished(out).iterdir() if path.is_dir())
    first, second, *_ = sorted(shards.glob("*.parquet"))
    second.write_bytes(first.read_bytes())
    with pytest.raises(DataError, match=r"The rows of a\.txt after 8 are missing or there twice"):
        encode_file(str(texts), out, model=str(tiny_folder), resume=True)
    assert not out.exists() and first.exists(), "nothing is thrown away unasked"
    second.unlink()
    assert encode_file(str(texts), out, model=str(tiny_folder), resume=True)["rows"] == 25


def test_what_was_begun_otherwise_is_not_gone_on_with(tiny_folder: Path, texts: Path, sentences: list[str]) -> None:
    out = texts.parent / "vectors"
    stopped(texts, out, tiny_folder, after=2)

    def resumed(**options: Any) -> None:
        encode_file(str(texts), out, **{"model": str(tiny_folder), "resume": True, **options})

    with pytest.raises(MirrormaskError, match="was begun with another model. Leave out --resume"):
        resumed(model="mini")
    with pytest.raises(MirrormaskError, match="was begun with another normalize"):
        resumed(normalize=True)
    for changed in (sentences[1:21], sentences[:8]):
        (texts / "a.txt").write_text("\n".join(changed))
        with pytest.raises(DataError, match=r"a\.txt has changed since its vectors were begun. Leave out --resume"):
            resumed()
    (texts / "more" / "c.txt").write_text("one text more")
    with pytest.raises(MirrormaskError, match="was begun with another list of files"):
        resumed()
    assert unfinished(out).is_dir()
    resumed(resume=False)
    assert len(read(out)["row"]) == 14


def test_a_folder_of_something_else_is_left_alone(tiny_folder: Path, texts: Path) -> None:
    out = texts.parent / "mine"
    out.mkdir()
    (out / "letter.txt").write_text("keep me")
    with pytest.raises(MirrormaskError, match=r"mine holds something else than vectors"):
        encode_file(str(texts), out, model=str(tiny_folder))
    assert (out / "letter.txt").read_text() == "keep me"
    (out / "letter.txt").unlink()
    encode_file(str(texts), out, model=str(tiny_folder))
    encode_file(str(texts / "a.txt"), out, model=str(tiny_folder))
    assert read(out)["file"] == ["a.txt"] * 20, "vectors of before are replaced"
    (texts.parent / "nothing").mkdir()
    with pytest.raises(DataError, match="nothing holds no file of texts"):
        encode_file(str(texts.parent / "nothing"), out, model=str(tiny_folder))
