"""`encode --engine ray` against plain `encode`: the rate once warm, and every row once after kills.

Both engines encode the same lines in the same blocks on the same cores: plain in one process that computes with all of
them, Ray in as many workers as there are cores. Warm is what comes after the first block of plain, and of every
worker. The wall clock gives `ratio`; where other programs want the cores, `ratio_of_cpu` (seconds of processors a text,
all processes of Ray counted) says more. Then a run loses a worker and after that its driver, both by SIGKILL, and is
gone on with: its rows must be those of the whole run, each once.

    pip install "mirrormask[ray]"
    python benchmarks/ray_encode.py                              # 200,000 lines, two workers
    python benchmarks/ray_encode.py --lines 6000 --block 500     # a small machine
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

BAR = 0.9
COMMON = """the of and to in a is that for it was on are as with they be at this from have or by one had not but
what all were when we there can an your which their said if do will each about how up out them then
she many some so these would other into has more her two like him see time could no make than first
been its who now people my made over did down only way find use may water long little very after
words called just where most know river engine letter market garden paper winter music doctor window
village bread number morning question"""


def lines_of(count: int, seed: int = 1) -> list[str]:
    """Return lines of 4 to 40 words, each with its number, so that no two are the same."""
    rng = np.random.default_rng(seed)
    words, lines = COMMON.split(), []
    for number in range(count):
        drawn = rng.choice(words, int(rng.integers(4, 40)))
        lines.append(" ".join([*drawn, str(number)]))
    return lines


def processor_seconds() -> dict[int, float]:
    """Return the processor time of this process and all below it, by their numbers."""
    import psutil

    own = psutil.Process()
    found = {}
    for process in (own, *own.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        found[process.pid] = times.user + times.system
    return found


def encoded(source: Path, out: Path, model: str, engine: Any, ahead: int) -> dict[str, float]:
    """Encode with an engine and return its rate once `ahead` blocks are done, by the clock and by processors."""
    from mirrormask.runs.encode import encode_file

    seen: list[tuple[float, int, dict[int, float]]] = []
    begun = time.perf_counter()

    def progress(count: int) -> None:
        seen.append((time.perf_counter(), count, processor_seconds()))

    encode_file(str(source), out, model=model, engine=engine, progress=progress)
    whole = time.perf_counter() - begun
    start, end = seen[ahead - 1], seen[-1]
    rows = sum(count for _, count, _ in seen[ahead:])
    spent = sum(seconds - start[2].get(pid, 0.0) for pid, seconds in end[2].items())
    return {
        "texts_per_second": rows / (end[0] - start[0]),
        "texts_per_processor_second": rows / spent,
        "seconds_until_warm": start[0] - begun,
        "seconds": whole,
    }


def killed(source: Path, out: Path, model: str, workers: int, block: int) -> dict[str, Any]:
    """Encode by the command line, kill a worker, then the command, go on, and return what happened."""
    import psutil

    code = f"from mirrormask.core import blocks; blocks.BLOCK = {block}; from mirrormask.cli import main; main()"
    command = [sys.executable, "-c", code, "encode", str(source), "--out", str(out), "--model", model]
    command += ["--engine", "ray", "--workers", str(workers), "--json"]
    unfinished = out.with_name(f".{out.name}.unfinished")

    def shards() -> int:
        return len(list(unfinished.glob("*/[0-9]*.parquet")))

    def wait_for(count: int, process: subprocess.Popen[bytes]) -> None:
        while shards() < count:
            if process.poll() is not None:
                raise SystemExit(f"The run ended by itself, with {shards()} of {count} shards: {process.returncode}")
            time.sleep(0.2)

    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    wait_for(1, process)
    below = psutil.Process(process.pid).children(recursive=True)
    pool = [each for each in below if "MapWorker" in " ".join(each.cmdline())]
    os.kill(pool[0].pid, signal.SIGKILL)
    wait_for(3 + workers, process)  # more than the others can have had in hand
    below = psutil.Process(process.pid).children(recursive=True)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    left = psutil.wait_procs(below, timeout=180)[1]
    there = shards()
    told = json.loads(subprocess.run([*command, "--resume"], check=True, stdout=subprocess.PIPE).stdout)
    return {"workers_seen": len(pool), "shards_kept": there, "processes_left": len(left), "rows": told["rows"]}


def rows_of(folder: Path) -> tuple[list[tuple[str, int]], list[str], Any]:
    """Return the ids, texts and vectors of shards, in the order of the ids."""
    import pyarrow.dataset

    table = (
        pyarrow.dataset.dataset(folder, format="parquet")
        .to_table()
        .sort_by([("file", "ascending"), ("row", "ascending")])
    )
    vectors = np.stack(table["vector"].to_numpy())
    ids = list(zip(table["file"].to_pylist(), table["row"].to_pylist(), strict=True))
    return ids, table["text"].to_pylist(), vectors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=200_000)
    parser.add_argument("--block", type=int, default=None, help="texts of a shard; 20,000, or a twelfth of the lines")
    parser.add_argument("--model", default="mini-sentence")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()

    import torch

    from mirrormask.core import blocks
    from mirrormask.core.engines import PlainEngine
    from mirrormask.core.ray_engine import RayEngine

    torch.set_num_threads(given.workers)
    blocks.BLOCK = given.block or max(1, min(blocks.BLOCK, given.lines // 12))
    model = str(Path(given.model).resolve()) if Path(given.model).is_dir() else given.model
    lines = lines_of(given.lines)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        source = folder / "lines.txt"
        source.write_text("\n".join(lines) + "\n", encoding="utf-8")
        plain = encoded(source, folder / "plain", model, PlainEngine(), 1)
        print("plain", json.dumps(plain), flush=True)
        ray = encoded(source, folder / "ray", model, RayEngine(workers=given.workers), given.workers)
        print("ray", json.dumps(ray), flush=True)
        kills = killed(source, folder / "killed", model, given.workers, blocks.BLOCK)
        print("kills", json.dumps(kills), flush=True)
        expected = [("lines.txt", row) for row in range(given.lines)]
        same, difference = True, 0.0
        _, _, vectors = rows_of(folder / "plain")
        for name in ("ray", "killed"):
            ids, texts, found = rows_of(folder / name)
            same = same and ids == expected and texts == lines
            difference = max(difference, float(np.abs(found - vectors).max()))
    ratio = ray["texts_per_second"] / plain["texts_per_second"]
    result = {
        "name": "ray_encode",
        "ratio": ratio,
        "passed": ratio >= BAR and same and kills["processes_left"] == 0,
        "ratio_of_cpu": ray["texts_per_processor_second"] / plain["texts_per_processor_second"],
        "every_id_once": same,
        "largest_difference": difference,
        "lines": given.lines,
        "block": blocks.BLOCK,
        "workers": given.workers,
        "model": given.model,
        "processor_hours_per_million": 1e6 / ray["texts_per_processor_second"] / 3600,
        "plain": plain,
        "ray": ray,
        "kills": kills,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
