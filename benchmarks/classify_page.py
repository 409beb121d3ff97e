"""Write the page of results with labels from the records of `few_labels`, `classify_tables` and `class_loss_cost`.

python benchmarks/classify_page.py RECORDS --out docs/results/classify.md
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from classify_tables import RATES
from few_labels import FEWEST, METHODS, table

from mirrormask.evaluation.statistics.significance import sign_flip_p

NAMES = {
    "contrast": "contrast, then a linear head",
    "fine-tuning": "fine-tuning",
    "setfit": "SetFit",
    "frozen": "linear head on the start",
}
OBJECTIVES = ("cross-entropy", "sup-con", "lcl")
PUBLISHED = {
    "sst2": (94.4, 94.3, 94.5),
    "sst5": (57.1, 57.4, 58.5),
    "goemotions": (64.8, 64.3, 65.5),
    "emoint": (85.5, 85.7, 86.6),
}
"""Accuracy in the paper, with two ELECTRA-base: cross-entropy, supervised contrast, label-aware contrast."""

HARD = {
    "a": "anger, annoyance, disapproval, disgust",
    "b": "sadness, disappointment, remorse, grief",
    "c": "joy, excitement, amusement, love",
    "d": "fear, nervousness, confusion, surprise",
}

FOUND = (
    "**What was found.** With 8 labels a class contrast and then a linear head is ahead of plain fine-tuning of "
    "`mini-sentence` by 2.1 points over the four tasks (eight seeds that all have, p = 0.016): less than the 3 points "
    "that were hoped for, and no more than SetFit's procedure. Most of it is the linear head: on the start as it is, "
    "which was never taught by a label, it does as well on MR and CR and better on SST-2, because an encoder that "
    "knows little of sentiment overfits to sixteen texts; on AG News contrast adds 2.0 points to it. From "
    "all-MiniLM-L6-v2, which knows more, contrast is ahead of fine-tuning by 3.0 points and of a head on the start by "
    "5.2, on the two tasks that were run (nine seeds).",
    "",
    "**What is missing.** MR and AG News have eight and nine of ten seeds with 8 labels; SST-2 and CR have none with "
    "32, and what is shown with 32 was searched with other rates (1e-4, 3e-4, 1e-3, two seeds). From all-MiniLM-L6-v2 "
    "MR, AG News and 32 labels were not run. Of the label-aware paper's tables EmoInt and GoEmotions have one or two "
    "seeds, SST-5 the search alone, SST-2, the numbers of classes and the hard sets nothing: nothing is claimed from "
    "so few. The commands below make the rest; the records so far are in `docs/results/classify-records`.",
)
"""What the records say, by hand: to be written anew with them."""

Rows = list[dict[str, Any]]


def page(records: Path) -> str:
    """Return the page of everything that the records hold."""
    few = sorted([*records.glob("few-*.jsonl"), *records.glob("other-*.jsonl")])
    tables = [
        json.loads(line) for path in sorted(records.glob("tables-*.jsonl")) for line in path.read_text().splitlines()
    ]
    cost = records / "cost.json"
    parts = [*_head(), *_few(few), *_tables(tables)]
    if cost.is_file():
        parts += _cost(json.loads(cost.read_text()))
    return "\n".join(parts) + "\n"


def _head() -> list[str]:
    return [
        "# Learning with labels",
        "",
        "What contrast is worth where texts have labels: with few of them, and with many. One H200, bf16, the second "
        "editions of `mini` and `mini-sentence`. Everything was chosen on dev texts, by seeds that are not reported; "
        "p-values are of sign flips paired by seed.",
        "",
        *FOUND,
        "",
        "```bash",
        "python benchmarks/few_labels.py --task sst2 --out records/few-sst2.jsonl       # and mr, cr, ag",
        "python benchmarks/classify_tables.py --set sst5 --out records/tables-sst5.jsonl  # and the other sets",
        "python benchmarks/class_loss_cost.py --out records/cost.json",
        "python benchmarks/classify_page.py records --out docs/results/classify.md",
        "```",
        "",
    ]


def _few(paths: Sequence[Path]) -> list[str]:
    if not paths:
        return []
    searched = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    rates, steps = ({row[key] for row in searched if row["phase"] == "search"} for key in ("rate", "steps"))
    lines = [
        "## Few labels",
        "",
        "Accuracy in percent. Every method gets the same texts, the same start and the same search (rates "
        f"{', '.join(f'{each:g}' for each in sorted(rates))} with {' and with '.join(map(str, sorted(steps)))} steps, "
        "for each task and size, by the accuracy on 500 dev texts, 872 of SST-2, over seeds that are not reported). "
        "SST-2 is its 6,920 "
        "sentences, without the phrases; of MR and CR 500 texts are dev and 2,000 and 1,500 test, drawn once; AG News "
        "is tested on 2,000 texts of its test set. SetFit's package needs two more that the machine does not have, so "
        "its procedure is written out in the benchmark (setfit). Seeds are those that all methods of a row have; a "
        "p-value is told from six of them on.",
        "",
    ]
    for name, tasks in table(paths).items():
        start, size = name.removesuffix(" a class").rsplit(", ", 1)
        lines += [
            f"**{start}, {size} labels a class**",
            "",
            "| task | seeds | "
            + " | ".join(NAMES[each] for each in (*METHODS, "frozen"))
            + " | contrast − fine-tuning "
            "| p | contrast − SetFit | p | contrast − start | p |",
            "|---|" + "---:|" * 11,
        ]
        for task, found in tasks.items():
            numbers = [f"{found['methods'][each]:.1f}" for each in (*METHODS, "frozen")]
            told = []
            for other in ("fine-tuning", "setfit", "frozen"):
                against = found["contrast_against"][other]
                chance = f"{against['p']:.2g}" if found["seeds"] >= FEWEST else ""
                told += [f"{against['by']:+.1f}".replace("-", "−"), chance]
            lines.append(f"| {task} | {found['seeds']} | " + " | ".join([*numbers, *told]) + " |")
        lines += ["", _chosen(paths, start, int(size)), ""]
    return lines


def _chosen(paths: Sequence[Path], start: str, size: int) -> str:
    """Return what the search chose, in words."""
    rows = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    rows = [r for r in rows if r["phase"] == "test" and (r["start"], r["size"]) == (start, size) and r["steps"]]
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for row in {(r["task"], r["method"]): r for r in rows}.values():
        found[row["method"]][f"{row['rate']:g} and {row['steps']} steps"] += 1
    told = [
        f"{method} {', '.join(f'{what} ({count})' for what, count in found[method].most_common())}"
        for method in METHODS
    ]
    return f"Chosen, with the number of tasks: {'; '.join(told)}."


def _tables(rows: Rows) -> list[str]:
    if not rows:
        return []
    lines = [
        "## Cross-entropy, supervised contrast, label-aware contrast",
        "",
        "The datasets of Suresh and Ong (2021), as far as they are at hand (Empathetic Dialogues and ISEAR are not), "
        "from `mini` with mean pooling: batches of 64 (128 above 15,000 texts), four epochs, of which the best on dev "
        "is kept, rate 1e-4 or 4e-4 by one seed on dev, no augmentation, shares and temperature as the papers have "
        "them. GoEmotions is its texts of one label without neutral, 27 classes; SST-2 its 6,920 sentences.",
        "",
    ]
    measured = [name for name in ("sst2", "sst5", "emoint", "goemotions") if _of(rows, name)]
    if measured:
        lines += [
            "Accuracy in percent, mean and deviation over seeds, below it the paper's with two ELECTRA-base; ECE is "
            "the expected calibration error after the temperature, entropy that of the predictions in bits, "
            "both for the three objectives.",
            "",
            *_objectives(rows, measured),
        ]
    lines += _searched(rows)
    counts = [name for name in ("goemotions:4", "goemotions:8", "goemotions:16") if _of(rows, name)]
    if counts:
        lines += ["### Number of classes", "", "The most frequent classes of GoEmotions.", ""]
        lines += _objectives(rows, [*counts, "goemotions"], note=False)
    hard = [f"goemotions:hard-{each}" for each in HARD if _of(rows, f"goemotions:hard-{each}")]
    if hard:
        named = "; ".join(f"{each}: {names}" for each, names in HARD.items())
        lines += [
            "### Hard sets",
            "",
            f"Four classes each that mean nearly the same, in place of the paper's of another dataset. {named}.",
            "",
        ]
        lines += _objectives(rows, hard, note=False)
    return lines


def _searched(rows: Rows) -> list[str]:
    """Return what the search for a rate found on dev: one seed, no claim."""
    found: dict[tuple[str, str], dict[float, float]] = defaultdict(dict)
    for row in rows:
        if row["phase"] == "search" and not row["augment"]:
            found[row["set"], row["objective"]][row["rate"]] = row["dev"]
    lines = ["| set | objective | " + " | ".join(f"rate {rate:g}" for rate in RATES) + " |", "|---|---|---:|---:|"]
    for (name, objective), devs in found.items():
        shown = [f"{devs[rate]:.1f}" if rate in devs else "not run" for rate in RATES]
        lines.append(f"| {name} | {objective} | " + " | ".join(shown) + " |")
    return ["Accuracy on dev in the search for a rate, one seed:", "", *lines, ""]


def _of(rows: Rows, name: str) -> Rows:
    return [row for row in rows if row["set"] == name and row["phase"] == "test" and not row["augment"]]


def _objectives(rows: Rows, names: Iterable[str], *, note: bool = True) -> list[str]:
    """Return a table of sets, an objective a column, and whether contrast is better than cross-entropy."""
    lines = [
        "| set | classes | seeds | cross-entropy | sup-con | lcl | sup-con − CE (p) | lcl − CE (p) | ECE | entropy |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name in names:
        found: dict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
        for row in _of(rows, name):
            found[row["objective"]][row["seed"]] = row
        if set(found) != set(OBJECTIVES):
            continue
        seeds = sorted(set.intersection(*(set(each) for each in found.values())))
        values = {o: np.array([found[o][s]["accuracy_percent"] for s in seeds]) for o in OBJECTIVES}
        shown = [f"{v.mean():.1f} ± {v.std(ddof=1) if len(v) > 1 else 0:.1f}" for v in values.values()]
        gains = [values[o] - values["cross-entropy"] for o in OBJECTIVES[1:]]
        told = [f"{g.mean():+.1f} ({sign_flip_p(g):.2g})".replace("-", "−") for g in gains]
        extra = [
            " / ".join(f"{np.mean([found[o][s][key] for s in seeds]):.2f}" for o in OBJECTIVES)
            for key in ("calibration_error", "entropy_bits")
        ]
        classes = next(iter(found["lcl"].values()))["classes"]
        lines.append(f"| {name} | {classes} | {len(seeds)} | " + " | ".join([*shown, *told, *extra]) + " |")
        if note and name in PUBLISHED:
            published = " | ".join(f"*{each}*" for each in PUBLISHED[name])
            lines.append(f"| *published* | | | {published} | | | | |")
    return [*lines, ""]


def _cost(found: dict[str, Any]) -> list[str]:
    times = found["milliseconds"]
    return [
        "## What a step costs",
        "",
        f"A batch of {found['batch']} GoEmotions texts through `{found['model']}` on {found['device']}, steps taking "
        f"turns, median. The label-aware loss is compared with two encoders that learn by cross-entropy alone. The bar "
        f"is {found['bar']}.",
        "",
        "| step | ms | ratio |",
        "|---|---:|---:|",
        f"| cross-entropy | {times['cross-entropy']:.1f} | 1 |",
        f"| sup-con | {times['sup-con']:.1f} | {found['ratios']['sup-con']:.2f} |",
        f"| two encoders, cross-entropy | {times['two encoders, cross-entropy']:.1f} | 1 |",
        f"| lcl | {times['lcl']:.1f} | {found['ratios']['lcl']:.2f} |",
        "",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    given.out.write_text(page(given.records), encoding="utf-8")


if __name__ == "__main__":
    main()
