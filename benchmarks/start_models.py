"""Gaussian negatives against SimCSE from several start models, ten paired seeds (the thesis' Table 8).

    python benchmarks/start_models.py --out runs/starts --model mini --model mini-zh --model all-MiniLM-L6-v2 \\
        --model "mini, first edition=FOLDER"
    python benchmarks/start_models.py --out runs/starts --page docs/results/start-models.md

A record is one line of OUT/starts-SHARE.jsonl; what any of these files holds is not made again. An encoder that is
trained already learns at a tenth of the rate, too, since the full one is meant for a masked language model.
Needs MIRRORMASK_DATA with `corpus/wiki100k.txt.bz2`, `corpus/zh-1.txt.bz2`, `mteb/` and `zh/stsb_zh`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from mirrormask.core.storage import append_json, atomic_file
from mirrormask.data.tasks.sts_tasks import load_sts
from mirrormask.data.text.sources import load_rows
from mirrormask.evaluation.statistics.correlation import spearman
from mirrormask.evaluation.statistics.significance import sign_flip_p
from mirrormask.models.bulk import encode_texts
from mirrormask.models.encoder import load
from mirrormask.reporting.tables import Table, markdown, minus
from mirrormask.runs.recipe import build_recipe
from mirrormask.runs.runner import run_recipe

ENGLISH = ("sts12", "sts13", "sts14", "sts15", "stsb")
METHODS: dict[str, dict[str, Any]] = {"simcse": {}, "gaussian": {"negatives": {"name": "gaussian", "multiple": 1.0}}}
RATE, GENTLE = 1e-4, 1e-5
SEEDS = tuple(range(1, 11))

HEAD = (
    "# Other start models\n\n"
    "The thesis' Table 8 (Park 2023): as many Gaussian negatives as the batch has rows, drawn with the mean and "
    "spread of its anchors, against SimCSE alone, from several starts. Mean pooling, 300 steps of 256 sentences "
    "of `wiki100k` (Chinese: 100,000 sentences of zh-1), the checkpoint with the best Spearman on STS-B dev "
    "(Chinese: its translation), ten seeds, differences paired by seed. Spearman × 100, the mean of STS12–15 and "
    "STS-B test; for `mini-zh` the translated STS-B test. An encoder that is trained already is shown at a tenth "
    "of the rate as well, since the full one is meant for masked language models.\n\n"
    "Made by `python benchmarks/start_models.py --out RECORDS --model …`, and written from its records by "
    "`--page`.\n"
)


def jobs(starts: dict[str, str]) -> list[tuple[str, float, int, str]]:
    """Return every run: label, rate, seed, method; the two of a pair beside each other."""
    return [
        (label, rate, seed, method)
        for seed in SEEDS
        for label in starts
        for rate in ((RATE, GENTLE) if "MiniLM" in label else (RATE,))
        for method in METHODS
    ]


def recorded(out: Path) -> list[dict[str, Any]]:
    """Return all records of a folder."""
    files = sorted(out.glob("starts-*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def score(encoder: Any, chinese: bool) -> dict[str, float]:
    """Return Spearman × 100 on every task of the language."""
    if chinese:
        rows = list(load_rows("zh/stsb_zh", "test"))
        pairs = {
            "stsb-zh": ([r["sentence1"] for r in rows], [r["sentence2"] for r in rows], [r["score"] for r in rows])
        }
    else:
        tasks = {name: load_sts(name) for name in ENGLISH}
        pairs = {name: (task.sentence1, task.sentence2, task.scores) for name, task in tasks.items()}  # type: ignore[misc]
    found = {}
    for name, (left, right, gold) in pairs.items():
        one, two = (encode_texts(encoder, list(side)) for side in (left, right))
        lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(two, axis=1)
        found[name] = 100 * float(spearman((one * two).sum(axis=1) / lengths, np.array(gold, dtype=float)))
    return found


def perform(model: str, rate: float, seed: int, method: str, work: Path) -> dict[str, Any]:
    """Do one run and return its scores."""
    begun, chinese = time.monotonic(), "zh" in Path(model).name
    data: dict[str, Any] = {"corpus": "wiki100k", "dev": "stsb-dev"}
    if chinese:
        data = {"corpus": "zh-1", "split": "zh", "limit": 100_000, "dev": str(_plain(work))}
    recipe = build_recipe(
        {
            "model": {"name": model, "pooling": "mean"},
            "data": data,
            "method": {"name": "composition", **METHODS[method]},
            "training": {
                "batch_size": 256,
                "learning_rate": rate,
                "steps": 300,
                "max_length": 32,
                "evaluate_every": 50,
                "checkpoint_every": 1_000_000,
                "compile": "off",
                "seed": seed,
            },
        }
    )
    out = Path(tempfile.mkdtemp(dir=work)) / "run"
    try:
        done = run_recipe(recipe, out, work=work / f"text-{'zh' if chinese else 'en'}-{Path(model).name}")
        scores = score(load(done.model), chinese)
    finally:
        shutil.rmtree(out.parent, ignore_errors=True)
    kept = done.record["result"]["best_step"]
    return {"scores": scores, "kept_step": kept, "seconds": round(time.monotonic() - begun, 1)}


def _plain(work: Path) -> Path:
    """Write the Chinese dev pairs where a recipe can name them."""
    path = work / "zh-dev.jsonl"
    if not path.exists():
        rows = load_rows("zh/stsb_zh", "validation")
        with atomic_file(path) as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return path


def page(records: list[dict[str, Any]]) -> str:
    """Return the page of results."""
    rows = []
    for label, rate in dict.fromkeys((each["start"], each["rate"]) for each in records):
        means = {
            method: {
                each["seed"]: float(np.mean(list(each["scores"].values())))
                for each in records
                if (each["start"], each["rate"], each["method"]) == (label, rate, method)
            }
            for method in METHODS
        }
        seeds = sorted(set(means["simcse"]) & set(means["gaussian"]))
        if not seeds:
            continue
        one, two = (np.array([means[method][seed] for seed in seeds]) for method in METHODS)
        p = f"{sign_flip_p(two - one):.3f}" if len(seeds) >= 6 else "too few seeds"
        spread = [
            f"{each.mean():.1f} ± {each.std(ddof=1):.1f}" if len(seeds) > 1 else f"{each.mean():.1f}"
            for each in (one, two)
        ]
        rows.append((label, f"{rate:g}", *spread, minus(f"{(two - one).mean():+.2f}"), str(len(seeds)), p))
    head = ("start", "rate", "SimCSE", "with Gaussian negatives", "difference", "seeds", "p (sign flips)")
    return HEAD + "\n" + markdown(Table("", head, tuple(rows)))


def main() -> None:
    """Perform what is asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the records")
    parser.add_argument("--model", action="append", default=[], help="NAME, or LABEL=FOLDER")
    parser.add_argument("--share", default="0/1", help="which of how many processes this is")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin nothing after so long")
    parser.add_argument("--page", type=Path, help="write the page from the records")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    if asked.page:
        with atomic_file(asked.page) as file:
            file.write(page(recorded(asked.out)))
        return
    begun, (share, shares) = time.monotonic(), map(int, asked.share.split("/"))
    starts = {label: folder or label for label, _, folder in (each.partition("=") for each in asked.model)}
    there = {(each["start"], each["rate"], each["seed"], each["method"]) for each in recorded(asked.out)}
    with tempfile.TemporaryDirectory() as folder:
        for label, rate, seed, method in jobs(starts)[share::shares]:
            if (label, rate, seed, method) in there or time.monotonic() - begun > asked.seconds:
                continue
            told = {"start": label, "rate": rate, "seed": seed, "method": method}
            record = told | perform(starts[label], rate, seed, method, Path(folder))
            append_json(asked.out / f"starts-{share}.jsonl", [record])
            print(record, flush=True)


if __name__ == "__main__":
    main()
