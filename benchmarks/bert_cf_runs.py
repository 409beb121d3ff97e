"""BERT-CF on a small model: its parts, its ablations and the whole, over seeds, each run measured and recorded at once.

    python benchmarks/bert_cf_runs.py search --out results --share 0/4     # one process of four
    python benchmarks/bert_cf_runs.py rows --out results --share 0/4 --seconds 400

`search` trains the first stage with each rate and temperature and two seeds; `rows` takes those that were best on STS-B
dev and makes every row for every seed, a seed at a time. A record is `results/ROW-SEED.json`; what is there is not made
again; processes of `rows` share the work by the marks they leave there. 640 steps see about the 10,000 sentences that
Mirror-BERT learns from. Needs MIRRORMASK_DATA with `corpus/wiki100k.txt.bz2`, `mteb/` and `cs224n/`.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import gzip
import json
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.similarity import unit_rows
from mirrormask.core.storage import write_json
from mirrormask.data.tasks.sts_tasks import load_sts
from mirrormask.evaluation.geometry import alignment
from mirrormask.evaluation.statistics.correlation import spearman
from mirrormask.models.bulk import encode_texts
from mirrormask.models.encoder import build_encoder, load
from mirrormask.runs.recipe import build_recipe
from mirrormask.runs.runner import run_recipe

TEMPERATURES = (0.03, 0.05, 0.1)
RATES = (5e-6, 2e-5, 5e-5, 1e-4)
"""Of the first stage; the report has the last, for BERT-base."""
TASKS = ("stsb-dev", "sts12", "sts13", "sts14", "sts15", "stsb")
QUORA = 5000
Setting = tuple[float, float]
"""Temperature and rate of the first stage."""

ROWS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "mirror": ("", "bert-cf-contrast", {}),
    "bert-cf": ("mirror", "bert-cf-flow", {}),
    "mirror-flow": ("mirror", "bert-cf-flow", {"contrast": 0.0, "longest": 0}),
    "flow": ("", "bert-cf-flow", {"contrast": 0.0, "longest": 0}),
    "simcse": ("", "bert-cf-contrast", {"longest": 0}),
    "simcse-joint": ("simcse", "bert-cf-flow", {"longest": 0}),
    "joint": ("", "bert-cf-flow", {"frozen": False}),
}
"""What a row starts from, its method and what differs; the recipes are in recipes/bert-cf."""

CLAIMED = (("mirror", "bert-cf", "mirror-flow"), ("flow",))
TOGETHER = (*CLAIMED, ("simcse", "simcse-joint"), ("joint",))
"""Rows that one process makes, since they share a first stage; the whole and its parts first, with all seeds."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("search", "rows"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--share", default="0/1", help="which of how many processes this is")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--steps", type=int, default=640)
    parser.add_argument("--limit", type=int, default=0, help="read only so many sentences")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin nothing after so long")
    parser.add_argument("--most", type=int, default=0, help="pairs of a task, for a trial; 0 takes all")
    parser.add_argument("--model", default="mini")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    share, shares = (int(part) for part in asked.share.split("/"))
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(asked, Path(folder))
        if asked.what == "search":
            jobs = [(t, rate, seed) for seed in (101, 102) for t in TEMPERATURES for rate in RATES]
            for temperature, rate, seed in jobs[share::shares]:
                if time.monotonic() - begun < asked.seconds:
                    runs.make("mirror", seed, (temperature, rate), f"search-{temperature}-{rate:g}")
                    runs.forget()
            return
        setting = chosen(asked.out)
        if share == 0:
            runs.record("untrained", 0, build_encoder(asked.model, pooling="mean"), {})
        for rows in TOGETHER:
            for seed in range(1, 1 + (asked.seeds if rows in CLAIMED else min(asked.seeds, 5))):
                if time.monotonic() - begun < asked.seconds and runs.claim(f"{rows[0]}-{seed}"):
                    for row in rows:
                        runs.make(row, seed, setting, row)
                    runs.forget()


def chosen(out: Path) -> Setting:
    """Return temperature and rate of the first stage whose runs were best on STS-B dev, on average."""
    found: dict[Setting, list[float]] = {}
    for path in out.glob("search-*.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        found.setdefault((record["temperature"], record["rate"]), []).append(record["sts"]["stsb-dev"])
    return max(found, key=lambda each: float(np.mean(found[each]))) if found else (0.05, RATES[-1])


class Runs:
    """The runs of one process.

    Args:
        asked: the command line.
        folder: for models, which are not kept.
    """

    def __init__(self, asked: argparse.Namespace, folder: Path) -> None:
        self.asked, self.folder = asked, folder
        self.tasks = {name: load_sts(name) for name in TASKS}
        if asked.most:
            few = slice(0, asked.most)
            self.tasks = {
                name: dataclasses.replace(
                    task, sentence1=task.sentence1[few], sentence2=task.sentence2[few], scores=task.scores[few]
                )
                for name, task in self.tasks.items()
            }
        data = Path(os.environ["MIRRORMASK_DATA"].split(os.pathsep)[0]) / "cs224n"
        self.course = [row for row in _read(data / "sts" / "validation.jsonl.gz") if row["similarity"]][
            : asked.most or None
        ]
        rows = [row for row in _read(data / "quora" / "validation.jsonl.gz") if row["is_duplicate"]]  # a few have none
        self.quora = rows[: asked.most or QUORA]

    def make(self, row: str, seed: int, setting: Setting, name: str) -> Path:
        """Make a run, and before it the one that it starts from, and record it."""
        start, method, parameters = ROWS[row]
        temperature, rate = setting
        out = self.folder / f"{name}-{seed}"
        if (out / "model").is_dir() or (not self._needed(row, seed) and self._recorded(name, seed)):
            return out / "model"
        model = str(self.make(start, seed, setting, start)) if start else self.asked.model
        recipe = build_recipe(
            {
                "model": {"name": model, "pooling": "mean"},
                "data": {"corpus": "wiki100k", "min_words": 6, "dev": "stsb-dev", "limit": self.asked.limit},
                "method": {"name": method, "temperature": temperature, **parameters},
                "training": {
                    "steps": self.asked.steps,
                    "evaluate_every": max(1, self.asked.steps // 10),
                    "checkpoint_every": self.asked.steps,
                    "compile": "off",
                    "seed": seed,
                    **({"learning_rate": rate} if method == "bert-cf-contrast" else {}),
                },
            }
        )
        begun = time.monotonic()
        done = run_recipe(recipe, out, work=self.folder / "work")
        told = {
            "temperature": temperature,
            "rate": rate,
            "steps": self.asked.steps,
            "kept_step": done.record["result"]["best_step"],
            "seconds": round(time.monotonic() - begun, 1),
            "history": [[each["step"], round(each["score"], 4)] for each in done.record["result"]["history"]],
        }
        self.record(name, seed, load(done.model), told)
        return done.model

    def claim(self, name: str) -> bool:
        """Say whether this process may make what no other has begun; the marks are removed by hand after a kill."""
        try:
            os.close(os.open(self.asked.out / f"{name}.begun", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            return False
        return True

    def _needed(self, row: str, seed: int) -> bool:
        later = [name for name, (start, _, _) in ROWS.items() if start == row]
        return any(not self._recorded(name, seed) for name in later)

    def _recorded(self, name: str, seed: int) -> bool:
        return Path(self.asked.out, f"{name}-{seed}.json").is_file()

    def forget(self) -> None:
        """Remove the models of a seed."""
        for path in self.folder.iterdir():
            if path.name != "work":
                shutil.rmtree(path, ignore_errors=True)

    def record(self, name: str, seed: int, encoder: Any, told: dict[str, Any]) -> None:
        """Measure an encoder and write it down."""
        texts = [text for task in self.tasks.values() for text in (*task.sentence1, *task.sentence2)]
        texts += [row[side] for row in (*self.course, *self.quora) for side in ("sentence1", "sentence2")]
        unique = list(dict.fromkeys(texts))
        place = {text: number for number, text in enumerate(unique)}
        vectors = unit_rows(encode_texts(encoder, unique, precision="fp32")).astype(np.float32)

        def cosines(left: Any, right: Any) -> NDArray[np.float64]:
            one, two = (vectors[[place[text] for text in side]] for side in (left, right))
            found: NDArray[np.float64] = np.einsum("nd,nd->n", one, two).astype(np.float64)
            return found

        scores, kept = {}, {}
        for task_name, task in self.tasks.items():
            kept[task_name] = cosines(task.sentence1, task.sentence2)
            scores[task_name] = 100 * float(spearman(kept[task_name], task.scores))
        sides = [[row[side] for row in self.course] for side in ("sentence1", "sentence2")]
        kept["course-dev"] = cosines(*sides)
        gold = np.array([float(row["similarity"]) for row in self.course])
        scores["course-dev"] = 100 * float(spearman(kept["course-dev"], gold))
        pairs = [[row[side] for row in self.quora] for side in ("sentence1", "sentence2")]
        alike = np.array([float(row["is_duplicate"]) > 0.5 for row in self.quora])
        one, two = (vectors[[place[text] for text in side]] for side in pairs)
        squared = np.square(one - two).sum(axis=1, dtype=np.float64)
        bins = np.histogram(kept["sts13"], bins=np.linspace(-1, 1, 41))[0].tolist()
        shown = {task: np.round(kept[task], 3).tolist() for task in ("sts13", "course-dev")}
        write_json(
            self.asked.out / f"{name}-{seed}.json",
            {
                **told,
                "row": name,
                "seed": seed,
                "model": self.asked.model,
                "sts": scores,
                "alignment": alignment(one[alike], two[alike]),
                "uniformity": float(np.log(np.mean(np.exp(-2 * squared)))),  # over the pairs of the data, as the report
                "pairs": {"alike": int(alike.sum()), "all": len(alike)},
                "sts13_histogram": bins,
                **({"cosines": shown} if seed < 2 else {}),
            },
        )


def _read(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
