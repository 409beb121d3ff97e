from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.models import bulk
from mirrormask.models.encoder import load
from mirrormask.runs.encode import encode_file


@pytest.mark.parametrize("suffix", [".npy", ".parquet"])
def test_blocks_are_put_together(
    tiny_folder: Path, sentences: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    """A file of several blocks, the last of them not full, equals one pass; order and doubles are kept."""
    monkeypatch.setattr(bulk, "BLOCK", 16)
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
    monkeypatch.setattr(bulk, "BLOCK", 8)
    source, out = tmp_path / "texts.txt", tmp_path / "v.npy"
    source.write_bytes("\n".join(sentences[:20]).encode() + b"\n\xff\xfe\n")
    out.write_bytes(b"old")
    with pytest.raises(DataError, match="is not UTF-8"):
        encode_file(str(source), out, model=str(tiny_folder))
    assert out.read_bytes() == b"old"
    assert {path.name for path in tmp_path.iterdir()} == {"texts.txt", "v.npy"}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"out": Path("v.csv")}, r"\.npy or \.parquet\. Got --out v\.csv"),
        ({"precision": "half"}, "'precision' of encoding"),
    ],
)
def test_what_cannot_be_is_said_before_the_model_is_read(tmp_path: Path, options: dict[str, Any], says: str) -> None:
    with pytest.raises(MirrormaskError, match=says):
        encode_file("nothing.txt", **{"out": tmp_path / "v.npy", "model": "./no", **options})
