"""Supervised SimCSE on `mini` against the default unsupervised method from the same start, paired by seed.

The recipe is recipes/simcse-supervised-mini.toml; every setting in it, and the checkpoint of every run, was chosen on
STS-B dev. The other is `keyword-passages` with 256 rows (recipes/default-method/keywords.toml), tuned in the same way.
Scores are Spearman's correlation × 100, averaged over STS12–15 and the test set of STS-B. Runs that are in --out
already are not made again. Needs MIRRORMASK_DATA.

    python benchmarks/supervised.py --out runs/simcse
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path

from simcse_runs import AVERAGED, CLAIMED, SUPERVISED, UNSUPERVISED, Job, Measuring, perform, read

LEAST, ABOVE = 72.5, 3.0
"""What the average must reach, and by how much it must be above the other."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of the records")
    parser.add_argument("--seeds", default=",".join(map(str, CLAIMED)), help="separated by commas")
    parser.add_argument("--set", action="append", default=[], help="an override of both recipes")
    asked = parser.parse_args()

    from mirrormask.evaluation.statistics.significance import sign_flip_p

    asked.out.mkdir(parents=True, exist_ok=True)
    seeds = [int(seed) for seed in asked.seeds.split(",")]
    measuring = None
    with tempfile.TemporaryDirectory() as work:
        for seed in seeds:
            for row, recipe in (("supervised", SUPERVISED), ("unsupervised", UNSUPERVISED)):
                job = Job("claim", row, seed, recipe)
                if (asked.out / f"{job.name}.json").exists():
                    continue
                measuring = measuring or Measuring()
                record = perform(job, (), measuring, Path(work), asked.set)
                (asked.out / f"{job.name}.json").write_text(json.dumps(record), encoding="utf-8")
                print(f"{job.name}: {record['scores']['average']:.2f}", flush=True)
    found = read(asked.out, "claim")
    averages = {
        row: [found[row, seed]["scores"]["average"] for seed in seeds] for row in ("supervised", "unsupervised")
    }
    means = {row: statistics.mean(values) for row, values in averages.items()}
    apart = [a - b for a, b in zip(averages["supervised"], averages["unsupervised"], strict=True)]
    p = sign_flip_p(apart)
    figures = {
        "name": "supervised",
        "average": round(means["supervised"], 2),
        "unsupervised": round(means["unsupervised"], 2),
        "difference": round(statistics.mean(apart), 2),
        "p": p,
        "holds": means["supervised"] >= LEAST and statistics.mean(apart) >= ABOVE and p < 0.05,
        "over": list(AVERAGED),
        "seeds": seeds,
        "averages": {row: [round(value, 2) for value in values] for row, values in averages.items()},
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
