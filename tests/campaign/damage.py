"""Everything that is wrong with files and model folders, made once in a folder."""

from __future__ import annotations

import bz2
import gzip
import itertools
import json
import lzma
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pyarrow.parquet
import zstandard

LINES = [f"the {word} boat crosses river number {place}" for place in range(40) for word in ("old", "new")]
TEXT = "\n".join(LINES).encode()
TABLE = b"sentence1,sentence2,score\n" + b"\n".join(
    f"{a},{b},{len(a) % 5}".encode() for a, b in itertools.pairwise(LINES)
)

LABELS = b"text,label\n" + b"\n".join(f"{text},{'old' if 'old' in text else 'new'}".encode() for text in LINES)


def parquet() -> bytes:
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.table({"text": LINES}), sink)
    return bytes(sink.getvalue())


FILES: dict[str, Callable[[], bytes]] = {
    "empty.txt": lambda: b"",
    "blank.txt": lambda: b"\n \n\t\n",
    "binary.txt": lambda: bytes(range(256)) * 40,
    "zero.csv": lambda: TABLE.replace(b"river", b"ri\0er"),
    "latin.txt": lambda: "größer\n".encode("latin-1") * 40,
    "utf16.txt": lambda: TEXT.decode().encode("utf-16"),
    "cut.txt.gz": lambda: gzip.compress(TEXT)[:60],
    "cut.txt.bz2": lambda: bz2.compress(TEXT)[:60],
    "cut.txt.xz": lambda: lzma.compress(TEXT)[:60],
    "cut.txt.zst": lambda: zstandard.ZstdCompressor().compress(TEXT)[:60],
    "noise.txt.gz": lambda: TEXT,
    "noise.jsonl.zst": lambda: TEXT,
    "flipped.txt.bz2": lambda: bz2.compress(TEXT)[:40] + b"\xff" * 20 + bz2.compress(TEXT)[60:],
    "cut.parquet": lambda: parquet()[:-40],
    "noise.parquet": lambda: TEXT,
    "bad.jsonl": lambda: b'{"text": "a"}\n{"text": \n',
    "list.jsonl": lambda: b"[1, 2]\n",
    "keyless.jsonl": lambda: b'{"text": "a"}\n{}\n',
    "deep.jsonl": lambda: b'{"text": ' + b"[" * 99_999 + b"]" * 99_999 + b"}\n",
    "digits.jsonl": lambda: b'{"text": ' + b"9" * 6_000 + b"}\n",
    "numbers.jsonl": lambda: b'{"text": 1}\n{"text": NaN}\n',
    "quote.csv": lambda: b'text\n"never closed\n',
    "ragged.csv": lambda: b"text,label\na,b,c\nd\n",
    "twice.csv": lambda: b"text,text\na,b\n",
    "header.csv": lambda: b"text,label\n",
    "columns.tsv": lambda: b"\x1b[31mred\tid\nx\t1\ny\t2\n",
}
"""Files that no command can read as text, pairs, trees or a recipe."""

PATHS = (
    "missing.txt",
    "folder",
    "loop.txt",
    "broken.txt",
    "long" * 2_000,
    "empty.txt/below",
    "caf\udce9.txt",
    "/dev/null",
)
"""Paths that lead to no file with text."""

MODELS = (
    "nowhere",
    "no-folder",
    "empty",
    "no-weights",
    "cut-weights",
    "cut-config",
    "cut-tokenizer",
    "pickled",
    "list",
)
"""Model folders that are none."""


TOMLS = ("latin.toml", "deep.toml", "digits.toml", "cut.toml", "empty.toml", "missing.toml", "folder.toml")
"""Recipes and studies that are none."""


def lay_out(folder: Path, tiny: Path) -> None:
    """Make all of it, and what is sound beside it."""
    for name, content in FILES.items():
        (folder / name).write_bytes(content())
    (folder / "latin.toml").write_bytes("name = 'größer'".encode("latin-1"))
    (folder / "deep.toml").write_text("x = " + "[" * 9_999)
    (folder / "digits.toml").write_text("[training]\nsteps = " + "9" * 6_000)
    (folder / "cut.toml").write_text("[model\n")
    (folder / "empty.toml").write_text("")
    (folder / "folder.toml").mkdir()
    (folder / "folder").mkdir()
    (folder / "loop.txt").symlink_to("loop.txt")
    (folder / "broken.txt").symlink_to("nothing-here.txt")
    (folder / "good.txt").write_bytes(TEXT)
    (folder / "pairs.csv").write_bytes(TABLE)
    (folder / "few.csv").write_text("text,label\nthe old boat,boat\na wide river,river\n")
    (folder / "labels.csv").write_bytes(LABELS)
    (folder / "recipe.toml").write_text(
        '[model]\nname = "tiny"\n[data]\ncorpus = "latin.txt"\n[training]\nsteps = 2\nbatch_size = 8\n'
    )
    (folder / "words.tsv").write_text("boat\tBoot\nriver\tFluss\n")
    (folder / "tasks.toml").write_text(
        '[tasks.near]\nkind = "similarity"\ntrain = "pairs.csv"\nlabel = "score"\n[training]\nsteps = 2\n'
    )
    (folder / "study.toml").write_text('title = "A study"\nbaseline = "plain"\nrecipes = "recipes"\n')
    shutil.copytree(tiny, folder / "tiny")
    (folder / "no-folder").write_text("a file")
    (folder / "empty").mkdir()
    for name in MODELS[3:]:
        shutil.copytree(tiny, folder / name)
    (folder / "no-weights" / "model.safetensors").unlink()
    weights = folder / "cut-weights" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:999])
    (folder / "cut-config" / "config.json").write_text('{"model_type": "be')
    (folder / "cut-tokenizer" / "tokenizer.json").write_text('{"version": "1.0", "mod')
    (folder / "pickled" / "model.safetensors").rename(folder / "pickled" / "pytorch_model.bin")
    (folder / "list" / "config.json").write_text(json.dumps([1, 2]))
