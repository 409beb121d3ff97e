"""Write docs/results/isotropy.md from the records of isotropy_runs.py.

python benchmarks/isotropy_page.py results
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

PAGE = Path(__file__).parents[1] / "docs" / "results" / "isotropy.md"
TITLES = {"stsb-dev": "STS-B dev", "sts12": "STS12", "sts13": "STS13", "sts14": "STS14", "sts15": "STS15"}
TITLES |= {"stsb": "STS-B"}
TESTED = ("sts12", "sts13", "sts14", "sts15", "stsb")
FIRST = ("cranfield", "cisi", "cosqa_dev", "stackfaq_a", "trecqa_wang")
APART = ("cacm", "npl", "fiqa_small", "medquad_liveqa", "qatarliving_train")
WHY = (
    "What Wikipedia's mean and directions take away is not what the sentences of another task share: after a "
    "transform that was fitted on Wikipedia two different sentences of STS-B still have a mean cosine well above 0, "
    "and after one that was fitted on their own it is 0. That number needs no labels, and `whiten --for` and "
    "`flow --for` warn by it."
)
SPEED = (
    "## Speed",
    "",
    "`benchmarks/whitening.py`: a million vectors of 768 numbers, batches of 20,000, one thread of a Neoverse-N1: "
    "18.5 s of CPU time for mean, covariance and eigenvectors, 17.3 s for the bare products of the same batches in the "
    "same process, a ratio of 1.07; at most 1.95 batches in memory, the batch itself among them.",
    "",
)
TEXTS = {"wikipedia": "Wikipedia", "own": "own"}


class Records:
    """What was measured of one model.

    Args:
        content: of its file.
    """

    def __init__(self, content: dict[str, Any]) -> None:
        self.content, self.tasks = content, content["tasks"]
        some = next(iter(self.tasks.values()))["scores"]
        self.kinds: list[str] = list(dict.fromkeys(name.rpartition(", ")[0] for name in some if name != "none"))

    def score(self, task: str, name: str) -> float:
        """Return the score of a task, the mean over seeds where there are several; NaN where it was not made."""
        if name not in self.tasks.get(task, {"scores": {}})["scores"]:
            return float("nan")
        found = self.tasks[task]["scores"][name]["score"]
        return float(np.mean(found)) if np.size(found) else float("nan")

    def mean(self, tasks: tuple[str, ...], name: str) -> float:
        """Return the mean over tasks."""
        return float(np.mean([self.score(task, name) for task in tasks]))

    def cosine(self, task: str, name: str) -> float:
        """Return the mean cosine of two different texts of a task."""
        found = self.tasks[task]["scores"][name]["mean_cosine"] if task in self.tasks else []
        return float(np.mean(found)) if np.size(found) else float("nan")

    def best(self, tasks: tuple[str, ...]) -> str:
        """Return the kind that is best on some tasks where it is fitted on their own texts."""
        return max(self.kinds, key=lambda kind: float(np.nan_to_num(self.mean(tasks, f"{kind}, own"))))


def table(header: list[str], rows: list[list[str]]) -> list[str]:
    """Return a table in Markdown."""
    line = "|" + "|".join(["---"] + ["---:"] * (len(header) - 1)) + "|"
    return ["| " + " | ".join(header) + " |", line, *("| " + " | ".join(row) + " |" for row in rows), ""]


def number(value: float, *, bold: bool = False) -> str:
    """Return a number with one digit, or a dash."""
    if np.isnan(value):
        return "–"
    return f"**{value:.1f}**" if bold else f"{value:.1f}"


def similarity(records: Records) -> list[str]:
    """Return the table of STS: every kind, fitted on both texts."""
    header = ["", "fitted on", *TITLES.values(), "mean of the last five", "mean cosine, STS-B"]
    rows = []
    for kind, text in [("none", ""), *((kind, text) for kind in records.kinds for text in TEXTS)]:
        name = "none" if kind == "none" else f"{kind}, {text}"
        scores = [records.score(task, name) for task in TITLES]
        gained = records.mean(TESTED, name) > records.mean(TESTED, "none")
        cells = [number(value) for value in scores] + [number(records.mean(TESTED, name), bold=bool(gained))]
        shown = kind.replace("1 epochs", "1 epoch")
        rows.append([shown, TEXTS.get(text, ""), *cells, f"{abs(round(records.cosine('stsb', name), 2)):.2f}"])
    return table(header, rows)


def search(records: Records) -> list[str]:
    """Return the table of the collections, fitted on both texts: means, or each where only some were measured."""
    header = ["", "fitted on", "mean of the first five", "mean of those apart", "mean of all"]
    rows = []
    measured = [name for name in FIRST + APART if name in records.tasks]
    if len(measured) < len(FIRST + APART):
        for kind, text in [("none", ""), *((kind, text) for kind in records.kinds for text in TEXTS)]:
            name = "none" if kind == "none" else f"{kind}, {text}"
            scores = [(records.score(task, name), records.score(task, "none")) for task in measured]
            cells = [number(score, bold=bool(score > plain)) for score, plain in scores]
            rows.append([kind, TEXTS.get(text, ""), *cells])
        return table(["", "fitted on", *measured], rows)
    for kind, text in [("none", ""), *((kind, text) for kind in records.kinds for text in TEXTS)]:
        name = "none" if kind == "none" else f"{kind}, {text}"
        means = [records.mean(tasks, name) for tasks in (FIRST, APART, FIRST + APART)]
        gained = means[-1] > records.mean(FIRST + APART, "none")
        rows.append([kind, TEXTS.get(text, ""), *map(number, means[:2]), number(means[2], bold=bool(gained))])
    return table(header, rows)


def each(records: Records, kinds: list[str]) -> list[str]:
    """Return the table of single collections for some kinds."""
    named = [("none", "none"), *((f"{k}, {TEXTS[t]}", f"{k}, {t}") for k in kinds for t in TEXTS)]
    rows = [
        [name, *(number(records.score(name, key)) for _, key in named)]
        for name in FIRST + APART
        if name in records.tasks
    ]
    return table(["", *(shown for shown, _ in named)], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    asked = parser.parse_args()
    found = {
        name: Records(json.loads(path.read_text(encoding="utf-8")))
        for name in ("mini", "mini-sentence")
        if (path := asked.results / f"isotropy-{name}.json").is_file()
    }
    mini = found["mini"]
    chosen = mini.best(("stsb-dev",))
    gain = mini.mean(TESTED, f"{chosen}, own") - mini.mean(TESTED, "none")
    loss = mini.mean(TESTED, f"{chosen}, wikipedia") - mini.mean(TESTED, "none")
    lines = [
        "# Transforms of vectors: the text decides",
        "",
        "`python benchmarks/isotropy_runs.py --model mini --out results` and `… --model mini-sentence --seeds "
        "1 …`, then "
        "`python benchmarks/isotropy_page.py results`. `mini` is its second edition, untrained, "
        "mean-pooled; STS is "
        "Spearman × 100 with all subsets together, search is nDCG@10 × 100 with texts cut at 256 tokens. Every "
        "transform "
        f"is fitted twice: on {mini.content['wikipedia']:,} Wikipedia sentences, and on the task's own texts without "
        "labels (both sides of all pairs; documents and queries). The flow is the mean of "
        f"{mini.content['seeds']} {'seed' if mini.content['seeds'] == 1 else 'seeds'}; nothing else draws at random.",
        "",
        "## STS, `mini` as it is",
        "",
        *similarity(mini),
        f"Chosen on STS-B dev among those fitted on its own sentences: **{chosen}**. On the mean over STS12–15 "
        f"and STS-B "
        f"test it gives {gain:+.1f} points fitted on the tasks' own sentences, and {loss:+.1f} fitted on "
        f"Wikipedia. Of the "
        "pairs of STS-B dev, 1,109 also occur in STS12–15, so that choice is not independent of those tasks. "
        "Bold means "
        "are above those of the model as it is.",
        "",
        WHY,
        "",
        "## Search, `mini` as it is",
        "",
    ]
    missing = [name for name in FIRST + APART if name not in mini.tasks]
    if len(missing) < len(FIRST + APART):
        lines += search(mini)
    if missing:
        lines += [f"Not measured yet: {', '.join(missing)}; the command makes them.", ""]
    else:
        sought = mini.best(FIRST)
        apart = mini.mean(APART, f"{sought}, own") - mini.mean(APART, "none")
        lines += [
            "Chosen on the first five collections among those fitted on their own texts: "
            f"**{sought}**; on the five that stand apart it gives {apart:+.1f} points.",
            "",
            *each(mini, list(dict.fromkeys([sought, chosen]))),
        ]
    lines += [
        "Bold is above the model as it is. A dash is a set with fewer texts than a vector has dimensions, which "
        "whitening, component removal and flow refuse.",
        "",
    ]
    if "mini-sentence" in found:
        trained = found["mini-sentence"]
        lines += [
            "## A model that was trained to compare texts: `mini-sentence`",
            "",
            *similarity(trained),
            *(search(trained) if all(name in trained.tasks for name in FIRST + APART) else []),
            "On a model that is trained already measure before you keep a transform.",
            "",
        ]
    PAGE.write_text("\n".join([*lines, *SPEED]), encoding="utf-8")


if __name__ == "__main__":
    main()
