"""Peak memory of `train` on a long corpus against a short one: text streams, so the two should be close.

    python benchmarks/train_memory.py --model mini

Each corpus is generated line by line, the same on every machine, and each figure comes from a process of its own.
Two are taken of each corpus: a short training, which is what the bar is about, and the preparation of the text alone,
because the weights and activations of a training would hide a growth of some hundred MB before it.
The last line is one JSON object; `ratio` is the peak of training on the short corpus over that on the long one.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BAR_MB = 300
SHORT = 10_000
STEPS = 5


def write_corpus(path: Path, lines: int, seed: int = 0) -> None:
    """Write different lines of 8 to 24 made-up words, some thousand at a time."""
    chance = random.Random(seed)
    syllables = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
    words = ["".join(chance.choices(syllables, k=chance.randint(1, 4))) for _ in range(30_000)]
    with path.open("w", encoding="utf-8") as stream:
        for start in range(0, lines, 5_000):
            count = min(5_000, lines - start)
            block = [" ".join([*chance.choices(words, k=chance.randint(7, 23)), str(start + i)]) for i in range(count)]
            stream.write("\n".join(block) + "\n")


def prepare(corpus: Path, folder: Path) -> None:
    from mirrormask.data.text.corpus import build_corpus

    build_corpus(corpus, folder / "corpus")


def train(corpus: Path, folder: Path, model: str) -> None:
    from mirrormask.runs.recipe import build_recipe
    from mirrormask.runs.runner import run_recipe

    tables = {
        "model": {"name": model},
        "data": {"corpus": str(corpus)},
        "method": {"name": "simcse-unsup"},
        "training": {"steps": STEPS, "batch_size": 64, "evaluate_every": STEPS},
    }
    run_recipe(build_recipe(tables), folder / "run")


def measure(what: str, corpus: Path, model: str) -> None:
    """Do one thing and print this process's peak; runs in a process started for that."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(dir=corpus.parent) as folder:
        if what == "text":
            prepare(corpus, Path(folder))
        else:
            train(corpus, Path(folder), model)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)
    print(json.dumps({"mb": peak, "seconds": time.monotonic() - begun}))


def measured(folder: Path, lines: int, model: str) -> dict[str, dict[str, float]]:
    corpus = folder / f"{lines}.txt"
    write_corpus(corpus, lines)
    size = corpus.stat().st_size / 1024**2
    found: dict[str, dict[str, float]] = {}
    for what in ("text", "train"):
        command = [sys.executable, __file__, "--measure", what, str(corpus), "--model", model]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stderr)
        found[what] = json.loads(done.stdout.splitlines()[-1])
    corpus.unlink()
    shown = ", ".join(f"{what} {one['mb']:,.0f} MB in {one['seconds']:.0f} s" for what, one in found.items())
    print(f"{lines:>12,} lines ({size:,.0f} MB): {shown}", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=10_000_000, help="lines of the long corpus")
    parser.add_argument("--model", default="mini", help="model name or folder")
    parser.add_argument("--folder", default=None, help="where the corpora go (a few GB; removed at the end)")
    parser.add_argument("--measure", nargs=2, default=None, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure is not None:
        measure(asked.measure[0], Path(asked.measure[1]), asked.model)
        return
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        short, long = (measured(Path(folder), lines, asked.model) for lines in (SHORT, asked.lines))
    more = {what: long[what]["mb"] - short[what]["mb"] for what in long}
    print(f"training {more['train']:+,.0f} MB, text alone {more['text']:+,.0f} MB; the bar is {BAR_MB} MB")
    result = {
        "name": "train_memory",
        "ratio": round(short["train"]["mb"] / long["train"]["mb"], 3),
        "short_lines": SHORT,
        "long_lines": asked.lines,
        "short_train_mb": round(short["train"]["mb"]),
        "long_train_mb": round(long["train"]["mb"]),
        "difference_mb": round(more["train"]),
        "short_text_mb": round(short["text"]["mb"]),
        "long_text_mb": round(long["text"]["mb"]),
        "text_difference_mb": round(more["text"]),
        "bar_mb": BAR_MB,
        "within_bar": max(more.values()) <= BAR_MB,
        "short_seconds": round(short["train"]["seconds"], 1),
        "long_seconds": round(long["train"]["seconds"], 1),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
