"""Peak memory of `train` on a long corpus against a short one: text streams, so the two should be close.

    python benchmarks/train_memory.py --model mini

The peak is read twice, when the text has been prepared and at the end, because the weights and activations of the
training would hide a growth before it; `difference_mb` is the larger of the two. Each corpus is generated line by line, the same on every machine, and each training runs in a process of its own.
The last line is one JSON object; `ratio` is the short corpus's peak at the end over the long one's.
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
    """Write different lines of 8 to 24 words made of syllables, a million at a time in memory at most."""
    chance = random.Random(seed)
    syllables = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
    words = ["".join(chance.choices(syllables, k=chance.randint(1, 4))) for _ in range(30_000)]
    with path.open("w", encoding="utf-8") as stream:
        for start in range(0, lines, 50_000):
            count = min(50_000, lines - start)
            block = [" ".join([*chance.choices(words, k=chance.randint(7, 23)), str(start + i)]) for i in range(count)]
            stream.write("\n".join(block) + "\n")


def measure(corpus: Path, model: str) -> None:
    """Train a few steps on a corpus and print the peak of this process, in a process started for that."""
    from mirrormask.experiments.recipe import build_recipe
    from mirrormask.experiments.runner import Reporter, run_recipe

    class Watch(Reporter):
        """Notes the peak when the text has been prepared, which is the first thing a run says."""

        text_mb = 0.0

        def say(self, text: str) -> None:
            self.text_mb = self.text_mb or peak_mb()

    watch = Watch()
    recipe = build_recipe(
        {
            "model": {"name": model},
            "data": {"corpus": str(corpus)},
            "method": {"name": "simcse-unsup"},
            "training": {"steps": STEPS, "batch_size": 64, "evaluate_every": STEPS},
        }
    )
    with tempfile.TemporaryDirectory(dir=corpus.parent) as out:
        begun = time.monotonic()
        run_recipe(recipe, Path(out) / "run", reporter=watch)
        seconds = time.monotonic() - begun
    print(json.dumps({"text_mb": watch.text_mb, "peak_mb": peak_mb(), "seconds": seconds}))


def peak_mb() -> float:
    """Return the most memory this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)


def measured(folder: Path, lines: int, model: str) -> dict[str, float]:
    corpus = folder / f"{lines}.txt"
    write_corpus(corpus, lines)
    size = corpus.stat().st_size / 1024**2
    command = [sys.executable, __file__, "--measure", str(corpus), "--model", model]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    corpus.unlink()
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    print(
        f"{lines:>12,} lines ({size:,.0f} MB): peak {found['text_mb']:,.0f} MB with the text prepared, "
        f"{found['peak_mb']:,.0f} MB at the end, {found['seconds']:.0f} s",
        flush=True,
    )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=10_000_000, help="lines of the long corpus")
    parser.add_argument("--model", default="mini", help="model name or folder")
    parser.add_argument("--folder", default=None, help="where the corpora go (a few GB; removed at the end)")
    parser.add_argument("--measure", type=Path, default=None, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure is not None:
        measure(asked.measure, asked.model)
        return
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        short = measured(Path(folder), SHORT, asked.model)
        long = measured(Path(folder), asked.lines, asked.model)
    difference = max(long[key] - short[key] for key in ("text_mb", "peak_mb"))
    print(f"{difference:+,.0f} MB; the bar is {BAR_MB} MB")
    result = {
        "name": "train_memory",
        "ratio": round(short["peak_mb"] / long["peak_mb"], 3),
        "short_lines": SHORT,
        "long_lines": asked.lines,
        "short_peak_mb": round(short["peak_mb"]),
        "long_peak_mb": round(long["peak_mb"]),
        "short_text_mb": round(short["text_mb"]),
        "long_text_mb": round(long["text_mb"]),
        "difference_mb": round(difference),
        "bar_mb": BAR_MB,
        "within_bar": difference <= BAR_MB,
        "short_seconds": round(short["seconds"], 1),
        "long_seconds": round(long["seconds"], 1),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
