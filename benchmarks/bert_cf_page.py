"""Write docs/results/bert-cf.md and its figures from the records of bert_cf_runs.py.

python benchmarks/bert_cf_page.py results
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from isotropy_page import table
from numpy.typing import NDArray

from mirrormask.data.tasks.sts_tasks import load_sts
from mirrormask.evaluation.statistics.significance import sign_flip_p
from mirrormask.reporting.drawing import svg
from mirrormask.reporting.figures import canvas

PAGE = Path(__file__).parents[1] / "docs" / "results" / "bert-cf.md"
NAMES = {
    "untrained": "`mini`, untrained",
    "simcse": "SimCSE",
    "mirror": "Mirror",
    "flow": "flow alone",
    "bert-cf": "**BERT-CF**",
    "simcse-joint": "SimCSE, then joint",
    "joint": "joint without stage one",
    "mirror-flow": "Mirror, then flow without the regularizer",
}
REPORTED = {"untrained": 51.4, "simcse": 74.5, "mirror": 73.6, "flow": 51.7, "bert-cf": 76.0, "simcse-joint": 74.6}
REPORTED |= {"joint": 62.9, "mirror-flow": 73.9}
SEVENTH = {"untrained": (0.216, -1.425), "simcse": (0.397, -3.264), "mirror": (0.391, -2.990)}
SEVENTH |= {"flow": (0.499, -2.857), "bert-cf": (0.416, -3.198)}
TESTED = ("sts12", "sts13", "sts14", "sts15", "stsb")
Records = dict[str, dict[int, dict[str, Any]]]


def value(record: dict[str, Any], what: str) -> float:
    """Return a measured number of a record; `mean` is over STS12-15 and STS-B test."""
    if what == "mean":
        return float(np.mean([record["sts"][task] for task in TESTED]))
    return float(record["sts"][what] if what in record["sts"] else record[what])


def spread(found: Records, row: str, what: str, digits: int = 1) -> str:
    """Return mean and standard deviation over seeds."""
    values = [value(record, what) for record in found.get(row, {}).values()]
    if not values:
        return "–"
    return f"{np.mean(values):.{digits}f}" + (f" ± {np.std(values, ddof=1):.{digits}f}" if len(values) > 1 else "")


def paired(found: Records, one: str, two: str, what: str) -> NDArray[np.float64]:
    """Return the differences of two rows, seed by seed."""
    seeds = sorted(set(found.get(one, {})) & set(found.get(two, {})))
    return np.array([value(found[one][s], what) - value(found[two][s], what) for s in seeds])


def rows_of(found: Records, rows: tuple[str, ...]) -> list[str]:
    """Return a table of some rows."""
    header = ["", "report, BERT-base, STS dev", "course STS dev", "STS-B dev", "STS13", "STS12–15 and STS-B", "seeds"]
    tasks = ("course-dev", "stsb-dev", "sts13", "mean")
    return table(
        header,
        [
            [
                NAMES[row],
                f"{REPORTED[row]:.1f}",
                *(spread(found, row, task) for task in tasks),
                str(len(found.get(row, {}))),
            ]
            for row in rows
        ],
    )


def differences(found: Records, pairs: tuple[tuple[str, str], ...]) -> list[str]:
    """Return a table of differences paired by seed."""
    rows = []
    for one, two in pairs:
        cells = []
        for what in ("stsb-dev", "mean"):
            found_here = paired(found, one, two, what)
            cells += (
                [f"{found_here.mean():+.2f}", f"{sign_flip_p(found_here):.3f}"] if len(found_here) > 1 else ["–", "–"]
            )
        rows.append(
            [f"{NAMES[one].strip('*')} − {NAMES[two].strip('*')}", *cells, str(len(paired(found, one, two, "mean")))]
        )
    return table(["", "STS-B dev", "p", "STS12–15 and STS-B", "p", "pairs of seeds"], rows)


def changed(found: Records, task: str, gold: NDArray[np.float64], most: int = 5) -> list[str]:
    """Return the pairs of a task whose rank by cosine moved most from the untrained model to BERT-CF, by index."""
    before, after = (np.array(found[row][seed]["cosines"][task]) for row, seed in (("untrained", 0), ("bert-cf", 1)))
    ranks = [np.argsort(np.argsort(each)) / (len(each) - 1) for each in (before, after)]
    moved = ranks[1] - ranks[0]
    error = np.abs(ranks[1] - _ranks(gold)) - np.abs(ranks[0] - _ranks(gold))
    order = np.argsort(-np.abs(moved), kind="stable")[:most]
    rows = [
        [
            str(place),
            f"{gold[place]:.1f}",
            f"{before[place]:.2f}",
            f"{after[place]:.2f}",
            f"{moved[place]:+.2f}",
            "nearer" if error[place] < 0 else "further",
        ]
        for place in order
    ]
    return table(["pair", "gold", "cosine before", "cosine after", "rank moved by", "to the gold rank"], rows)


def _ranks(gold: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.argsort(np.argsort(gold)) / (len(gold) - 1)


def histogram(found: Records, row: str, seed: int, name: str, title: str) -> str:
    """Draw how the cosines of STS13's pairs are spread, and return the line that shows it."""
    counts = np.array(found[row][seed]["sts13_histogram"])
    edges = np.linspace(-1, 1, len(counts) + 1)
    with canvas(5.5, 2.6, title, grid="y") as (figure, panel):
        panel.bar(edges[:-1], counts, width=np.diff(edges), align="edge")
        panel.set_xlim(-0.5, 1)
        panel.set_xlabel("cosine of a pair")
        panel.set_ylabel("pairs")
    (PAGE.parent / name).write_bytes(svg(figure))
    return f"![{title}]({name})"


def _kept_starts(found: Records) -> list[str]:
    """Return which rows never left the start, in words."""
    kept = [row for row in found if row != "untrained" and all(r["kept_step"] == 0 for r in found[row].values())]
    if not kept:
        return []
    falls = [r["history"][-1][1] - r["history"][0][1] for r in found.get("mirror", {}).values()]
    return [
        f"**The start was kept** in every run of {', '.join(NAMES[row].strip('*') for row in kept)}: no checkpoint was "
        "better on STS-B dev. From the first to the last look the contrastive stage changed it by "
        f"{np.mean(falls):+.1f} points on average. What a row with a flow shows is then the flow as its first batch "
        "sets it. With a rate of 2e-5 and batches of 200 the same contrast [does help](mirror.md).",
        "",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    asked = parser.parse_args()
    found: Records = {}
    searched: dict[tuple[float, float], list[float]] = {}
    for path in sorted(asked.results.glob("*-*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        if "row" in record and record["row"] in NAMES:
            found.setdefault(record["row"], {})[record["seed"]] = record
        elif "row" in record:
            setting = (record["temperature"], record.get("rate", 1e-4))
            searched.setdefault(setting, []).append(record["sts"]["stsb-dev"])
    some = next(iter(found["mirror"].values()))
    unfinished = set(NAMES) - set(found)
    parts = ("mirror", "flow")
    best = max(parts, key=lambda row: np.mean([value(r, "stsb-dev") for r in found[row].values()]))
    gained = paired(found, "bert-cf", best, "mean")
    p = sign_flip_p(gained)
    verdict = (
        f"Over {len(gained)} paired seeds BERT-CF is {gained.mean():+.2f} points from the best of its parts "
        f"({NAMES[best]}, by STS-B dev) on the mean over STS12–15 and STS-B test (sign flips p = {p:.3f}): "
        + (
            "it is at least as good as the best of its parts."
            if gained.mean() >= 0
            else "on `mini` it is **not** as good."
        )
    )
    pairs = some["pairs"]
    lines = [
        "# BERT-CF on `mini`",
        "",
        "`python benchmarks/bert_cf_runs.py search --out results`, `… rows …`, then "
        "`python benchmarks/bert_cf_page.py results`. `mini` is its second edition, mean-pooled; "
        "Spearman × 100, "
        "mean ± standard deviation over seeds. The recipes are `recipes/bert-cf`; here every stage has "
        f"{some['steps']:,} steps of 16 in place of 10,000, on `wiki100k` in place of Wiki1M, texts of at most "
        f"5 words left "
        "out, and the checkpoint is kept by STS-B dev, looked at ten times a run.",
        "",
        'The report\'s "STS-13" is a course file, a reshuffled STS-B: its dev file is the column "course STS '
        'dev". Most '
        "of those pairs, and 1,109 of the 1,500 of STS-B dev, are in STS-B or STS12–15, so no column but the "
        "last two "
        "is free of the choice of checkpoint, and those two not wholly. No model here saw a label of them in "
        "training.",
        "",
        "**Temperature and rate.** The report gives no temperature, and its rate of 1e-4 is for BERT-base. Of the "
        "first stage, with two or three seeds each, STS-B dev was "
        + ", ".join(f"{np.mean(v):.1f} at {t:g} and {rate:g}" for (t, rate), v in sorted(searched.items()))
        + f"; {some['temperature']:g} and {some.get('rate', 1e-4):g} are taken for all rows, SimCSE too.",
        "",
        *_kept_starts(found),
        *(["Rows with a dash, and rates of the first stage below 1e-4, were not run yet.", ""] if unfinished else []),
        '**Flow.** "3 flow blocks, the same number as in Li et al." are taken as BERT-flow\'s 3 levels of 3 '
        "steps; the "
        "likelihood is in bits per dimension, of both views, as in BERT-flow's code. The report's map is "
        "printed in the "
        "wrong direction and its coupling without the half that it reads; both are done right.",
        "",
        "## Table 1, without labels",
        "",
        *rows_of(found, ("untrained", "simcse", "mirror", "flow", "bert-cf")),
        verdict,
        "",
        *differences(found, (("bert-cf", "mirror"), ("bert-cf", "flow"), ("bert-cf", "simcse"))),
        "## Ablation: SimCSE in place of Mirror",
        "",
        *rows_of(found, ("simcse", "simcse-joint", "mirror", "bert-cf")),
        *differences(found, (("simcse-joint", "simcse"), ("bert-cf", "simcse-joint"))),
        "## Ablation: other ways to join contrast and flow",
        "",
        *rows_of(found, ("bert-cf", "joint", "mirror-flow")),
        *differences(found, (("bert-cf", "joint"), ("bert-cf", "mirror-flow"))),
        "## Table 7: alignment and uniformity",
        "",
        f"Over {pairs['all']:,} pairs of the Quora dev file ({pairs['alike']:,} of them duplicates; the "
        f"training file is "
        "not available), on unit vectors. As in the report, uniformity is over the pairs of the data, not over "
        "all pairs "
        "of texts, so it is not comparable with SimCSE's. Lower is better for both.",
        "",
        *table(
            ["", "alignment", "uniformity", "report: alignment", "uniformity"],
            [
                [
                    NAMES[row],
                    *(spread(found, row, what, 3) for what in ("alignment", "uniformity")),
                    *(f"{each:.3f}" for each in SEVENTH[row]),
                ]
                for row in SEVENTH
            ],
        ),
        "## Figures 2 and 3: cosines of STS13's pairs",
        "",
        histogram(found, "untrained", 0, "bert-cf-figure-2.svg", "mini, untrained"),
        "",
        histogram(found, "bert-cf", 1, "bert-cf-figure-3.svg", "BERT-CF, seed 1"),
        "",
        "## Table 3: the pairs of STS13 that moved most",
        "",
        "By their place in the file, counted from 0, without their text; seed 1. Ranks are shares of all pairs.",
        "",
        *changed(found, "sts13", load_sts("sts13").scores),
        "## What is not here",
        "",
        "The columns of Table 1 with labels and Tables 4–6 (predictions after fine-tuning with three heads) "
        "are those of "
        "`mirrormask multitask`, which starts from any encoder, these too. Table 2 has test labels that are "
        "not public. "
        "Wiki1M and BERT-base are not at hand; no number here is comparable with the report's but in its direction.",
        "",
    ]
    PAGE.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
