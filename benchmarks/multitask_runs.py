"""The runs behind docs/results/multitask.md: BERT-CF's three tasks learned together from several encoders of `mini`.

python benchmarks/multitask_runs.py --out results --minutes 10

The encoders are `mini` as it is, after SimCSE and after Mirror-BERT on the same 10,000 sentences, and `mini-sentence`.
Every finished run is a line of results/multitask.jsonl. The Quora training file is not to be had: a tenth of its
development file is set aside, anew for every seed, and the rest is learned from.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from mirror_runs import config_of, train

from mirrormask.heads.task_specs import Plan, Task
from mirrormask.models.encoder import save_encoder
from mirrormask.runs.multitask import train_tasks

RATE = 1e-4
"""Of the contrastive stage before."""

ENCODERS: dict[str, dict[str, Any] | None] = {
    "mini": None,
    "mini + SimCSE": config_of("sentences", rate=RATE, mask=None, objective={"name": "info-nce", "temperature": 0.05}),
    "mini + Mirror-BERT": config_of("sentences", rate=RATE),
    "mini-sentence": None,
}


def tasks(faithful: bool, only: str = "") -> dict[str, Task]:
    """Return the report's three tasks, or one of them."""
    every = {
        "SST-5": Task(
            "SST-5",
            "classification",
            "cs224n/sst:train",
            "cs224n/sst:validation",
            text=("sentence",),
            label="sentiment",
            weight=5.0,
            batch_size=32,
        ),
        "QQP": Task(
            "QQP",
            "paraphrase",
            "cs224n/quora:validation",
            0.1,
            label="is_duplicate",
            weight=20.0,
            batch_size=96,
            faithful=faithful,
            skip_empty=True,
        ),
        "STS": Task("STS", "similarity", "cs224n/sts:train", "cs224n/sts:validation", label="similarity"),
    }
    return {name: task for name, task in every.items() if only in ("", name)}


def perform(encoder: str, seed: int, steps: int, rate: float, faithful: bool, only: str = "") -> dict[str, Any]:
    """Return what one run reached on the development rows."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        start, config = encoder.split()[0], ENCODERS[encoder]
        if config is not None:
            save_encoder(train(config, seed, "mini"), folder / "start")
            start = str(folder / "start")
        training = {"steps": steps, "learning_rate": rate, "max_length": 64}
        begun = time.monotonic()
        done = train_tasks(Plan(tasks(faithful, only), start, "", training=training, seed=seed), folder / "out")
        return {
            "encoder": encoder,
            "seed": seed,
            "steps": steps,
            "rate": rate,
            "faithful": faithful,
            "only": only,
            "dev": {name: 100 * each["value"] for name, each in done.record["dev"].items()},
            "history": done.record["result"]["history"],
            "seconds": round(time.monotonic() - begun, 1),
        }


def main() -> None:
    """Perform runs until they are done or time is up."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--seeds", default="1,2,3,4,5,6,7,8,9,10")
    parser.add_argument("--encoder", dest="encoders", action="append", choices=ENCODERS, help="all by default")
    parser.add_argument("--extra", action="store_true", help="also the report's own rate, its formula and single tasks")
    given = parser.parse_args()
    begun, file = time.monotonic(), given.out / "multitask.jsonl"
    given.out.mkdir(parents=True, exist_ok=True)
    plans: list[tuple[str, int, dict[str, Any]]] = [
        (name, int(seed), {}) for seed in given.seeds.split(",") for name in given.encoders or ENCODERS
    ]
    if given.extra:
        seed = int(given.seeds.split(",")[0])
        others: list[dict[str, Any]] = [{"rate": 1e-5}, {"faithful": True}, *({"only": task} for task in tasks(False))]
        plans[len(ENCODERS) : len(ENCODERS)] = [("mini + Mirror-BERT", seed, other) for other in others]
    for name, seed, other in plans:
        if time.monotonic() - begun > 60 * given.minutes:
            break
        options: dict[str, Any] = {"steps": given.steps, "rate": given.rate, "faithful": False, **other}
        record = perform(name, seed, **options)
        with file.open("a") as stream:
            stream.write(json.dumps(record) + "\n")
    print(f"Runs are in {file}.")


if __name__ == "__main__":
    main()
