from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirrormask.core import blocks
from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.models.encoder import load
from mirrormask.runs.encode import encode_file
from mirrormask.runs.vector_file import unfinished


@pytest.mark.parametrize("suffix", [".npy", ".parquet"])
def test_blocks_are_put_together(
    tiny_folder: Path, sentences: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    """A file of several blocks, the last of them not full, equals one pass; order and doubles are kept."""
    monkeypatch.setattr(blocks, "BLOCK", 16)
    texts = [*sentences[:40], sentences[3], ""]
    source = tmp_path / "texts.txt"
    source.write_text("\n".join(texts) + "\n")
    done: list[int] = []
    out = tmp_path / f"v{suffix}"
    found = encode_file(str(source), out, model=str(tiny_folder), precision="fp32", progress=done.append)
    assert (found["rows"], found["dimension"]) == (42, 32)
    assert done == [16, 16, 10]
    expected = load(tiny_folder, device="cpu").encode(texts)
    if suffix == ".npy":
        vectors = np.load(out)
        assert vectors.dtype == np.float32
        assert np.load(out, mmap_mode="r").shape == (42, 32)
    else:
        import pyarrow.parquet as pq

        table = pq.read_table(out)
        assert table["text"].to_pylist() == texts
        vectors = np.array(table["vector"].to_pylist())
    np.testing.assert_allclose(vectors, expected, atol=1e-5)


def test_vectors_of_length_one(tiny_folder: Path, sentences: list[str], tmp_path: Path) -> None:
    source = tmp_path / "texts.jsonl"
    source.write_text('{"id": 1, "text": "a quiet child"}\n{"id": 2, "text": "some bread"}\n')
    encode_file(str(source), tmp_path / "v.npy", model=str(tiny_folder), column="text", normalize=True)
    np.testing.assert_allclose(np.linalg.norm(np.load(tmp_path / "v.npy"), axis=1), 1, atol=1e-6)


def test_a_failure_half_way_leaves_the_old_file(
    tiny_folder: Path, sentences: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 64)
    source, out = tmp_path / "texts.txt", tmp_path / "v.npy"
    source.write_bytes("\n".join(sentences[:220]).encode() + b"\n\xff\xfe\n")
    out.write_bytes(b"old")
    with pytest.raises(DataError, match="is not UTF-8"):
        encode_file(str(source), out, model=str(tiny_folder))
    assert out.read_bytes() == b"old"
    assert {path.name for path in tmp_path.iterdir()} == {"texts.txt", "v.npy", ".v.npy.unfinished"}
    source.write_text("\n".join(sentences[:224]))
    done: list[int] = []
    encode_file(str(source), out, model=str(tiny_folder), resume=True, progress=done.append)
    assert done == [192, 32], "what was there before the line that is mended now was kept"
    assert {path.name for path in tmp_path.iterdir()} == {"texts.txt", "v.npy"}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"out": Path("v.csv")}, r"\.npy or \.parquet, or as shards to a folder\. Got --out v\.csv"),
        ({"precision": "half"}, "'precision' of encoding"),
    ],
)
def test_what_cannot_be_is_said_before_the_model_is_read(tmp_path: Path, options: dict[str, Any], says: str) -> None:
    with pytest.raises(MirrormaskError, match=says):
        encode_file("nothing.txt", **{"out": tmp_path / "v.npy", "model": "./no", **options})


@pytest.fixture
def blocks_of_8(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 8)


@pytest.mark.usefixtures("blocks_of_8")
@pytest.mark.parametrize("suffix", [".npy", ".parquet"])
@pytest.mark.parametrize("written", [0, 3, 700])
def test_a_killed_run_goes_on_to_the_same_bytes(
    tiny_folder: Path, sentences: list[str], tmp_path: Path, suffix: str, written: int
) -> None:
    """Stopped after the second block was recorded, with so many bytes of the third behind it."""
    source = tmp_path / "texts.txt"
    source.write_text("\n".join(sentences[:30]))
    whole, out = tmp_path / f"whole{suffix}", tmp_path / f"v{suffix}"

    class Killed(BaseException):
        pass

    def kill(count: int) -> None:
        done.append(count)
        if len(done) == 2:
            raise Killed

    def encode(to: Path, **options: Any) -> None:
        encode_file(str(source), to, model=str(tiny_folder), normalize=True, **options)

    done: list[int] = []
    encode(whole)
    with pytest.raises(Killed):
        encode(out, progress=kill)
    for file in unfinished(out).glob("*s.*l*"):
        with file.open("ab") as stream:
            stream.write(b"x" * written)
    assert not out.exists()
    done.clear()
    encode(out, resume=True, progress=done.append)
    assert done == [16, 8, 6]
    assert out.read_bytes() == whole.read_bytes()
    assert not unfinished(out).exists()


@pytest.mark.usefixtures("blocks_of_8")
def test_what_was_begun_otherwise_is_not_gone_on_with(tiny_folder: Path, sentences: list[str], tmp_path: Path) -> None:
    source, out = tmp_path / "texts.txt", tmp_path / "v.npy"
    source.write_bytes("\n".join(sentences[:210]).encode() + b"\n\xff\n")
    with pytest.raises(DataError, match="is not UTF-8"):
        encode_file(str(source), out, model=str(tiny_folder))
    with pytest.raises(MirrormaskError, match="begun with another normalize. Leave out --resume"):
        encode_file(str(source), out, model=str(tiny_folder), normalize=True, resume=True)
    with pytest.raises(MirrormaskError, match="begun with another model"):
        encode_file(str(source), out, model="mini", resume=True)
    source.write_text("\n".join(reversed(sentences[:210])))
    with pytest.raises(DataError, match="The text has changed since"):
        encode_file(str(source), out, model=str(tiny_folder), resume=True)
    assert unfinished(out).is_dir(), "nothing is thrown away unasked"
    with pytest.raises(MirrormaskError, match="stdin cannot be read again"):
        encode_file("-", out, model=str(tiny_folder), resume=True)
    (unfinished(out) / "progress.json").write_text('{"rows"')
    encode_file(str(source), out, model=str(tiny_folder), resume=True)
    assert np.load(out).shape == (210, 32)


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ('{"text": "a"}\n{"text": null}', r"The column 'text' in row 2 of .* is missing or null\. Fill it"),
        ('{"text": "a"}\n{"text": NaN}', r"The column 'text' in row 2 of .* holds no text but float"),
        ('{"text": "a"}\n{"other": "b"}', r"The column 'text' in row 2 of .* is missing or null"),
        ('{"text": 5}', r"The column 'text' in row 1 of .* holds no text but int"),
    ],
)
def test_a_row_without_text_is_named(tiny_folder: Path, tmp_path: Path, lines: str, says: str) -> None:
    source = tmp_path / "texts.jsonl"
    source.write_text(lines)
    with pytest.raises(DataError, match=says):
        encode_file(str(source), tmp_path / "v.npy", model=str(tiny_folder))
    assert [path.name for path in tmp_path.iterdir()] == ["texts.jsonl"]


def test_the_column_that_plainly_holds_the_text(tiny_folder: Path, sentences: list[str], tmp_path: Path) -> None:
    table, plain = tmp_path / "table.csv", tmp_path / "plain.txt"
    table.write_text("id,review\n" + "\n".join(f"{i},{text}" for i, text in enumerate(sentences[:9])))
    plain.write_text("\n".join(sentences[:9]))
    notes = encode_file(str(table), tmp_path / "a.npy", model=str(tiny_folder))["notes"]
    encode_file(str(plain), tmp_path / "b.npy", model=str(tiny_folder))
    assert len(notes) == 1 and "'review'" in notes[0]
    assert (tmp_path / "a.npy").read_bytes() == (tmp_path / "b.npy").read_bytes()


def test_two_at_a_time_do_not_mix(tiny_folder: Path, sentences: list[str], tmp_path: Path) -> None:
    source, out = tmp_path / "texts.txt", tmp_path / "v.npy"
    source.write_text("\n".join(sentences[:9]))
    unfinished(out).mkdir()
    holder = "import sys, mirrormask.core.locking as l\nwith l.locked(sys.argv[1]): print(flush=True); input()"
    command = [sys.executable, "-c", holder, str(unfinished(out))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdout.readline()
        with pytest.raises(MirrormaskError, match=f"is in use. Process {other.pid} "):
            encode_file(str(source), out, model=str(tiny_folder))
        other.communicate(b"\n")
    encode_file(str(source), out, model=str(tiny_folder))
    assert np.load(out).shape == (9, 32)
    assert {path.name for path in tmp_path.iterdir()} == {"texts.txt", "v.npy"}


def test_a_backend_that_was_asked_for_is_kept_when_a_killed_run_goes_on(
    tiny_folder: Path, sentences: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mirrormask.models.encoder import build_encoder, save_encoder

    monkeypatch.setattr(blocks, "BLOCK", 64)
    model = tmp_path / "model"
    save_encoder(build_encoder(tiny_folder, device="cpu"), model)
    source, out, whole = tmp_path / "texts.txt", tmp_path / "v.npy", tmp_path / "whole.npy"
    source.write_bytes("\n".join(sentences[:220]).encode() + b"\n\xff\xfe\n")
    with pytest.raises(DataError, match="is not UTF-8"):
        encode_file(str(source), out, model=str(model), backend="onnx")
    assert unfinished(out).is_dir()
    source.write_text("\n".join(sentences[:250]), encoding="utf-8")
    done = encode_file(str(source), out, model=str(model), resume=True)
    assert done["backend"].startswith("onnx, ")
    assert encode_file(str(source), whole, model=str(model), backend="onnx")["backend"].startswith("onnx, ")
    assert out.read_bytes() == whole.read_bytes()
    told = encode_file(str(source), tmp_path / "torch.npy", model=str(model), precision="fp32")
    assert told["backend"] == "torch, fp32"
    np.testing.assert_allclose(np.load(out), np.load(tmp_path / "torch.npy"), atol=1e-4)
