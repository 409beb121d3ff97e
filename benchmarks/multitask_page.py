# ruff: noqa: E501  (the prose of the page is not broken)
"""Write docs/results/multitask.md from the runs of multitask_runs.py.

python benchmarks/multitask_page.py results/multitask.jsonl --out docs/results
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from mirror_page import FEWEST, table
from multitask_runs import ENCODERS

from mirrormask.evaluation.statistics.significance import holm, sign_flip_p

TASKS = {"SST-5": "SST-5, accuracy", "QQP": "QQP, accuracy", "STS": "STS, Pearson"}
Record = Mapping[str, Any]


def page(records: Sequence[Record]) -> str:
    """Return the whole page."""
    plain = [r for r in records if not r["only"] and not r["faithful"] and r["rate"] == records[0]["rate"]]
    by: dict[str, dict[int, Record]] = {
        name: {r["seed"]: r for r in plain if r["encoder"] == name} for name in ENCODERS
    }
    seconds = np.median([r["seconds"] for r in plain])
    rows = []
    for name, runs in by.items():
        if runs:
            rows.append([name, *_cells(list(runs.values())), str(len(runs))])
    pairs, chances = [], []
    for name in list(ENCODERS)[1:]:
        seeds = sorted(set(by[name]) & set(by["mini"]))
        if len(seeds) < 2:
            continue
        for task in (*TASKS, "average"):
            found = np.array([_value(by[name][s], task) - _value(by["mini"][s], task) for s in seeds])
            chances.append(sign_flip_p(found) if len(seeds) >= FEWEST else np.nan)
            spread = f"{found.min():+.2f} to {found.max():+.2f}"
            pairs.append([f"{name} − mini", task, f"{found.mean():+.2f}", spread, str(len(seeds))])
    told = iter(holm([chance for chance in chances if not np.isnan(chance)]))
    for row, chance in zip(pairs, chances, strict=True):
        row.append("too few seeds" if np.isnan(chance) else f"{next(told):.3f}")
    absent = [f"{name} ({len(runs)} of 10 seeds)" for name, runs in by.items() if len(runs) < 10]
    parts = [
        f"""\
# Multitask fine-tuning: results

The supervised half of the BERT-CF report (Hu 2023, its Tables 1 and 2) on the second edition of `mini`: one encoder with three heads, learned together with the report's losses, weights (5, 20, 1), batches (32, 96, 32), hinges and dropouts, all layers open. Measured by `python benchmarks/multitask_runs.py --out results`, written by `python benchmarks/multitask_page.py results/multitask.jsonl`; none of the numbers was filled in by hand.

What differs from the report: {plain[0]["steps"]:,} steps at {plain[0]["rate"]:g} in place of 5,000 at 1e-5, which is for BERT-base (fixed beforehand); texts are cut at 64 tokens. **The Quora training file is not to be had**: a tenth of the development file is set aside, another for every seed, and the rest is learned from, so that column learns from some 18,000 pairs. **Test labels are not public**: all numbers are on development rows, and as in the report the checkpoint with the best average over them is kept, so they are a little too good. The STS file holds pairs of STS-B and STS12–15; nothing trained on it is measured on those. A run took {seconds:.0f} s on a shared H200 (median).
""",
        f"**Not measured yet** (the machine's time ran out; the command above makes it): {', '.join(absent)}. Nothing is claimed from fewer than {FEWEST} seeds."
        if absent
        else "",
        "## Encoders",
        table(["start", *TASKS.values(), "average", "seeds"], rows),
        "`mini + SimCSE` and `mini + Mirror-BERT` saw 10,000 sentences without labels first (SimCSE's loss without a mask, and Mirror-BERT with character spans, one epoch at 1e-4); the flow and BERT-CF itself are on their own page. The report's BERT-base has 51.2 / 82.1 / 84.8 from the start and 52.5 / 84.1 / 85.7 after BERT-CF; its test scores are 52.2 / 84.0 / 85.3.",
        "## Differences, paired by seed",
        table(["", "task", "points", "range over seeds", "seeds", "p (sign flips, Holm)"], pairs),
        _verdict(pairs),
        _when(plain),
    ]
    others = [r for r in records if r not in plain]
    if others:
        shown = []
        for record in others:
            how = (
                f"{record['only']} alone"
                if record["only"]
                else "the report's formula (`faithful`)"
                if record["faithful"]
                else f"rate {record['rate']:g}, the report's"
            )
            base = by[record["encoder"]].get(record["seed"])
            shown.append(
                [
                    how,
                    *(f"{record['dev'][t]:.1f}" if t in record["dev"] else "–" for t in TASKS),
                    *([" / ".join(f"{base['dev'][t]:.1f}" for t in TASKS)] if base else ["–"]),
                ]
            )
        parts += [
            "## Other choices, one seed",
            "From `mini + Mirror-BERT`; the last column is the joint run of the same seed.",
            table(["choice", *TASKS.values(), "joint"], shown),
        ]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def _value(record: Record, task: str) -> float:
    return float(np.mean(list(record["dev"].values())) if task == "average" else record["dev"][task])


def _cells(runs: Sequence[Record]) -> list[str]:
    found = []
    for task in (*TASKS, "average"):
        values = np.array([_value(run, task) for run in runs])
        found.append(f"{values.mean():.1f}" + (f" ± {values.std(ddof=1):.1f}" if len(values) > 1 else ""))
    return found


def _verdict(pairs: Sequence[Sequence[str]]) -> str:
    enough = [row for row in pairs if row[5] != "too few seeds"]
    real = [f"{row[0]} on {row[1]} ({row[2]})" for row in enough if float(row[5]) < 0.05]
    if not enough:
        return "There are too few seeds to say whether any of these differences is real."
    if not real:
        return "None of these differences is larger than what seeds explain."
    return f"Larger than what seeds explain (p below 0.05): {', '.join(real)}. All others are not."


def _when(runs: Sequence[Record]) -> str:
    """Return when the average is best, in a sentence."""
    best = [max(run["history"], key=lambda row: row["score"])["step"] for run in runs if run.get("history")]
    if not best:
        return ""
    return f"The average was best after {int(np.median(best)):,} of {runs[0]['steps']:,} steps (median), and fell a little afterwards."


def main() -> None:
    """Read the records, write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    given = parser.parse_args()
    records = [json.loads(line) for file in given.results for line in file.read_text().splitlines()]
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "multitask.md").write_text(page(records), encoding="utf-8")


if __name__ == "__main__":
    main()
