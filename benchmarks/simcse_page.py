"""Write docs/results/supervised-simcse.md from the records of simcse_runs.py; every number on it is one of theirs.

python benchmarks/simcse_page.py runs/simcse
"""

# ruff: noqa: E501
from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
from probing_page import table
from simcse_published import (
    AUGMENTATION,
    AUXILIARY,
    DROPOUT,
    GROUPS,
    MODELS,
    OBJECTIVES,
    PAPER_STS,
    PAPER_TRANSFER,
    POSITIVES,
    TITLES,
    TRANSFER,
)
from simcse_runs import AVERAGED, BASE, FACTORS, ROOT, SEEDS, TUNED_WITH, jobs, read

PAGE = ROOT / "docs" / "results" / "supervised-simcse.md"
PLANE, DENSITY = "supervised-simcse/alignment-uniformity.png", "supervised-simcse/cosines.png"
FEWEST = 6
"""Paired seeds from which sign flips can show anything."""

IN_PAPER = ("mr", "cr", "subj", "mpqa", "sst2", "mrpc")

Records = Mapping[tuple[str, int], dict[str, Any]]


def scores(records: Records, row: str, key: str) -> list[float]:
    """Return a score of a row over its seeds."""
    return [one["scores"][key] for (name, _), one in sorted(records.items()) if name == row and key in one["scores"]]


def spread(values: Sequence[float], *, digits: int = 1) -> str:
    """Return mean and standard deviation of values over seeds; a dash where there are none."""
    if not values:
        return "–"
    shown = f"{mean(values):.{digits}f}"
    return shown if len(values) == 1 else f"{shown} ± {stdev(values):.{digits}f}"


class Page:
    """The sections of the page, each from the records of one group."""

    def __init__(self, out: Path) -> None:
        self.records = {group: read(out, group) for group in GROUPS}
        self.out = out
        self.supervised: Records = {key: one for key, one in self.records["claim"].items() if key[0] == "supervised"}
        if not self.supervised:  # the runs that chose its settings
            tuned, best = self.records["tune"].items(), self.best()
            self.supervised = {("supervised", seed): one for (row, seed), one in tuned if row == best}

    def write(self) -> None:
        """Write the page and its figures."""
        parts = [
            self.head(),
            self.claim(),
            self.missing(),
            self.tuning(),
            self.augmentation(),
            self.objectives(),
            self.dropout(),
            self.positives(),
            self.auxiliary(),
            self.main_sts(),
            self.main_transfer(),
            self.figures(),
            self.speed(),
            self.how(),
        ]
        PAGE.parent.mkdir(parents=True, exist_ok=True)
        PAGE.write_text("\n\n".join(part.strip() for part in parts if part) + "\n", encoding="utf-8")

    def head(self) -> str:
        """Return what the page is about."""
        return """\
# Supervised SimCSE on `mini`

<!-- Written by: python benchmarks/simcse_page.py runs/simcse -->

SimCSE's tables (Gao et al. 2021; numbered as in its first edition) on the small model that ships, with the published numbers of BERT-base beside them: what is compared is the shape of a table, not its height. `mini` (its second edition) has 8 layers of 384 where BERT-base has 12 of 768, and learned from far less text. Every number of ours was measured by

```bash
python benchmarks/simcse_runs.py --out runs/simcse
python benchmarks/simcse_page.py runs/simcse
```

Stand-ins: `wiki100k` (100,000 Wikipedia sentences) for the paper's million, `en-2` (20,000 Wikipedia paragraphs, split) for its neighboring sentences, 21,877 NLI triplets and 126,501 labelled pairs for 275,601 and 941,000, PAWS-Wiki for Flickr30k, which is not at hand. STS16, the test set of SICK-R and TREC are not at hand and are left out."""

    def claim(self) -> str:
        """Return the comparison with the default unsupervised method, or what there is of it."""
        from mirrormask.evaluation.statistics.significance import sign_flip_p

        found = self.records["claim"]
        kinds = {"supervised": self.supervised, "unsupervised": found}
        titles = {"unsupervised": "the default, keyword-passages", "supervised": "**supervised SimCSE**"}
        rows = []
        for row, title in titles.items():
            seeds = sorted(seed for name, seed in kinds[row] if name == row)
            cells = [spread(scores(kinds[row], row, key)) for key in (*AVERAGED, "stsb-dev", "average")]
            rows.append((title, *cells, ", ".join(map(str, seeds))))
        means = {row: mean(scores(kinds[row], row, "average")) for row in titles if scores(kinds[row], row, "average")}
        if len(means) < 2:
            return ""
        pairs = sorted(seed for row, seed in found if row == "supervised" and ("unsupervised", seed) in found)
        apart = means["supervised"] - means["unsupervised"]
        reached = "reaches" if means["supervised"] >= 72.5 else "does not reach"
        if len(pairs) >= FEWEST:
            each = [
                found["supervised", s]["scores"]["average"] - found["unsupervised", s]["scores"]["average"]
                for s in pairs
            ]
            told = f"Supervised SimCSE is {mean(each):+.2f} points above the default unsupervised method with the same seeds (sign flips over {len(pairs)} pairs, p = {sign_flip_p(each):.4f}), and {reached} the 72.5 that it was to reach."
        else:
            told = f"Supervised SimCSE is {apart:+.2f} points above the default unsupervised method and {reached} the 72.5 that it was to reach; but its seeds are few and not those of the other, so **nothing is claimed about significance**: the ten paired seeds were not run yet. Its runs are those by which its settings were chosen, on STS-B dev."
        return f"""\
## With labels and without

{table(("from `mini`", *TITLES.values(), "STS-B dev", "average", "seeds"), rows)}

Spearman × 100 (all subsets together), mean ± standard deviation over seeds; the average is over STS12–15 and the test set of STS-B. {told} The settings of the unsupervised method were chosen in [the same way](default-method.md), and the checkpoints of both on STS-B dev. 1,109 of the 1,500 pairs of STS-B dev also stand in STS12–15, so a choice made there is not independent of those tasks. 661 of the 20,330 sentences of these tasks also stand in the NLI data (captions of the same pictures), without their scores.

`python benchmarks/supervised.py --out runs/simcse` makes the comparison with ten paired seeds and `recipes/simcse-supervised-mini.toml`, which has the chosen settings: `mirrormask run recipes/simcse-supervised-mini.toml --out my-nli-encoder` makes the encoder. It learned from NLI, which is labelled data."""

    def best(self) -> str:
        """Return the row of the tuning that is best on STS-B dev."""
        found = self.records["tune"]
        rows = [row for row in (*FACTORS, "combined") if len(scores(found, row, "stsb-dev")) == len(TUNED_WITH)]
        return max(rows, key=lambda row: mean(scores(found, row, "stsb-dev")), default="")

    def missing(self) -> str:
        """Return which tables were not measured, or not with all their seeds."""
        asked: dict[str, set[str]] = {}
        for job in jobs():
            if (job.row, job.seed) not in self.records[job.group]:
                asked.setdefault(job.group, set()).add(job.row)
        if not asked:
            return ""
        lines = []
        for group, title in GROUPS.items():
            if group in asked:
                whole = not self.records[group]
                rows = "all rows" if whole else ", ".join(f"`{row}`" for row in sorted(asked[group]))
                lines.append(f"- {title}: {rows}{'' if whole else ', in part or whole'}")
        return (
            "## Not measured yet\n\nThe machine's time ran out. The command on top goes on where the records end; their recipes are there, tried at a small size.\n\n"
            + "\n".join(lines)
        )

    def tuning(self) -> str:
        """Return what was tried on STS-B dev."""
        found = self.records["tune"]
        rows = []
        for row in (*FACTORS, "combined"):
            values = scores(found, row, "stsb-dev")
            if values:
                said: list[str] = next((one["overrides"] for (name, _), one in found.items() if name == row), [])
                what = ", ".join(f"`{each}`" for each in said if each not in BASE) or "the base"
                rows.append((row, what, f"{mean(values):.2f}", str(len(values))))
        if not rows:
            return ""
        best = self.best()
        shown = [
            tuple(f"**{cell}**" if row[0] == best and number in (0, 2) else cell for number, cell in enumerate(row))
            for row in rows
        ]
        return f"""\
## What was chosen, and how

Each change alone, then all that gained more than 0.1 points together (`combined`), by the mean STS-B dev score over seeds {" and ".join(map(str, TUNED_WITH))}; the best is taken. The base: batches of 256, 400 steps, a rate of 3e-4, temperature 0.05, mean pooling, 32 tokens, the pairing `inference` with `fill` over all labelled pairs.

{table(("row", "changed", "STS-B dev", "seeds"), shown)}"""

    def _plain(self, group: str, title: str, rows: Mapping[str, tuple[str, float]], note: str) -> str:
        found = {row: scores(self.records[group], row, "stsb-dev") for row in rows}
        if not any(found.values()):
            return ""
        lines = [
            (label, f"{paper:.1f}", spread(found[row]), str(len(found[row]))) for row, (label, paper) in rows.items()
        ]
        return f"## {title}\n\n{table(('row', 'BERT-base', '`mini`', 'seeds'), lines)}\n\n{note}"

    def augmentation(self) -> str:
        """Return Table 2."""
        note = (
            "STS-B dev, Spearman × 100. MLM: `mini` itself replaces the words. Recipes: `recipes/simcse-augmentation/`."
        )
        return self._plain("augmentation", "Table 2: data augmentation", AUGMENTATION, note)

    def objectives(self) -> str:
        """Return Table 3."""
        found = self.records["objectives"]
        if not found:
            return ""
        lines = []
        for row, (label, one, two) in OBJECTIVES.items():
            ours = [spread(scores(found, name, "stsb-dev")) for name in (row, f"{row}-dual")]
            lines.append((label, f"{one}", f"{two}", *ours, str(len(scores(found, row, "stsb-dev")))))
        head = ("objective", "BERT-base, one encoder", "BERT-base, two", "`mini`, one encoder", "`mini`, two", "seeds")
        note = "STS-B dev. Two encoders: the second starts as the first and is trained beside it (`twin`). All rows learn from the same Wikipedia paragraphs, split into sentences. Recipes: `recipes/simcse-objectives/`."
        return f"## Table 3: objectives, and one encoder or two\n\n{table(head, lines)}\n\n{note}"

    def dropout(self) -> str:
        """Return Table 4."""
        note = "STS-B dev; what is kept is the best checkpoint, the start (before training) among them, so that no row falls below it. Fixed 0.1: the same mask on both sides (`same-mask`). Recipes: `recipes/simcse-dropout/`."
        return self._plain("dropout", "Table 4: dropout", DROPOUT, note)

    def positives(self) -> str:
        """Return Table 5."""
        found = self.records["positives"]
        if not found:
            return ""
        simcse = scores(self.records["main"], "simcse", "stsb-dev") or scores(
            self.records["augmentation"], "none", "stsb-dev"
        )
        lines: list[tuple[str, ...]] = [("Unsupervised SimCSE", "–", "79.1", "–", spread(simcse), str(len(simcse)))]
        for row, (label, sample, full) in POSITIVES.items():
            sizes = [one["pairs"] for (name, _), one in found.items() if name == row]
            ours = [scores(found, name, "stsb-dev") for name in (f"{row}-sample", row)]
            title = f"{label} ({sizes[0]:,})" if sizes else label
            lines.append((title, sample, full, *map(spread, ours), str(len(ours[1]))))
        head = (
            "positives (pairs here)",
            "BERT-base, sample",
            "BERT-base, full",
            "`mini`, 2,400 pairs",
            "`mini`, all",
            "seeds",
        )
        note = "STS-B dev. The paper samples 134k pairs of each set; here 2,400, spread evenly over the file (three epochs in batches of 64; all at hand: three epochs in batches of 256). Recipes: `recipes/simcse-positives/`."
        return f"## Table 5: kinds of positives\n\n{table(head, lines)}\n\n{note}"

    def auxiliary(self) -> str:
        """Return Table 9."""
        found = self.records["auxiliary"]
        if not found:
            return ""
        lines = []
        for row, (label, dev, transfer) in AUXILIARY.items():
            averages = [
                mean(one["scores"][f"transfer-{task}"] for task in TRANSFER)
                for (name, _), one in sorted(found.items())
                if name == row and all(f"transfer-{task}" in one["scores"] for task in TRANSFER)
            ]
            ours = scores(found, row, "stsb-dev")
            lines.append((label, dev, transfer, spread(ours), spread(averages), str(len(ours))))
        head = ("row", "BERT-base, STS-B", "BERT-base, transfer", "`mini`, STS-B dev", "`mini`, transfer", "seeds")
        note = f"On the NLI triplets without ANLI; rows with MLM have mean pooling here. Transfer is the mean over {', '.join(TRANSFER.values())} by SentEval's protocol with ten folds; the paper's is on development sets and over other tasks. The auxiliary's output matrix is tied to the embeddings, which the published code does not do (`faithful`). Recipes: `recipes/simcse-auxiliary/`."
        return f"## Table 9: pooling and the masked-LM auxiliary\n\n{table(head, lines)}\n\n{note}"

    def _models(self, of: Callable[[Records, str], Sequence[str] | None]) -> list[tuple[str, ...]]:
        lines = []
        for (group, row), title in MODELS.items():
            records = self.supervised if row == "supervised" else self.records[group]
            cells = of(records, row)
            kept = [one.get("best_step") for (name, _), one in records.items() if name == row]
            if cells is not None:
                lines.append((f"{title}: the start was kept" if not any(k != 0 for k in kept) else title, *cells))
        return lines

    def main_sts(self) -> str:
        """Return the main table of STS."""

        def cells(records: Records, row: str) -> Sequence[str] | None:
            if not scores(records, row, "average"):
                return None
            return [spread(scores(records, row, key)) for key in (*AVERAGED, "average")]

        lines = self._models(cells)
        if not lines:
            return ""
        paper = [
            (f"*{name}*", *(f"{value:.1f}" for value in values), f"{mean(values):.1f}")
            for name, values in PAPER_STS.items()
        ]
        note = (
            "Spearman × 100, all subsets together. In italics the paper's, its average over the same five tasks. Whitening "
            "and flow are fitted on 20,000 sentences of `wiki100k`, without the tasks' texts. Where the start was kept, no "
            "checkpoint was better on STS-B dev: a rate of 3e-4 is too high for SimCSE from this `mini`, and lower ones "
            "were not run yet."
        )
        return f"## The main table: STS\n\n{table(('model', *TITLES.values(), 'average'), [*paper, *lines])}\n\n{note}"

    def main_transfer(self) -> str:
        """Return the main table of transfer tasks."""

        def cells(records: Records, row: str) -> Sequence[str] | None:
            if not scores(records, row, "transfer-mr"):
                return None
            seeds = [one for (name, _), one in records.items() if name == row and "transfer-mr" in one["scores"]]
            averages = [mean(one["scores"][f"transfer-{task}"] for task in IN_PAPER) for one in seeds]
            return [*(spread(scores(records, row, f"transfer-{task}")) for task in TRANSFER), spread(averages)]

        lines = self._models(cells)
        if not lines:
            return ""
        paper = []
        for name, values in PAPER_TRANSFER.items():
            by_task = dict(zip(IN_PAPER, values, strict=True))
            shown = [f"{by_task[task]:.1f}" if task in by_task else "–" for task in TRANSFER]
            paper.append((f"*{name}*", *shown, f"{mean(values):.1f}"))
        note = (
            "Accuracy × 100 by SentEval's protocol (`mirrormask evaluate MODEL --suite transfer`); the average is over the six "
            "tasks that both have (without SST-5 and TREC)."
        )
        return f"## The main table: transfer\n\n{table(('model', *TRANSFER.values(), 'average'), [*paper, *lines])}\n\n{note}"

    def figures(self) -> str:
        """Draw Figures 3 and 4 and return what shows them."""
        from mirrormask.data.tasks.sts_tasks import SCALE, load_sts
        from mirrormask.evaluation.score_figures import similarity_density
        from mirrormask.reporting.drawing import color, png
        from mirrormask.reporting.figures import canvas

        chosen = {
            "mini, mean": self.records["main"].get(("untrained-mean", 0)),
            "mini, whitening": self.records["main"].get(("whitening", 0)),
            "mini, flow": self.records["main"].get(("flow", 0)),
            "Next3Sent": self.records["objectives"].get(("next-3-sentences", 1)),
            "unsupervised SimCSE": self.records["main"].get(("simcse", 1)),
            "keyword-passages": self.records["claim"].get(("unsupervised", 1)),
            "NLI triplets alone": self.records["tune"].get(("triplets", TUNED_WITH[0])),
            "supervised SimCSE": next((one for _, one in sorted(self.supervised.items())), None),
        }
        there = {name: one for name, one in chosen.items() if one is not None and one.get("best_step") != 0}
        drawn = {name: one for name, one in there.items() if "cosines" in one["scores"]}
        (PAGE.parent / PLANE).parent.mkdir(exist_ok=True)
        parts = []
        if len(there) > 1:
            with canvas(6.4, 4.2, "Alignment against uniformity", grid="both", bold=True) as (figure, panel):
                for number, (name, one) in enumerate(there.items()):
                    x, y = (one["scores"][key] for key in ("uniformity", "alignment"))
                    panel.scatter(x, y, s=90, color=color(number))
                    label = f"{name} ({one['scores']['average']:.1f})"
                    panel.annotate(
                        label, (x, y), xytext=(0, -16 if number % 2 else 8), textcoords="offset points", ha="center"
                    )
                panel.set_xlabel("uniformity  (lower: the space is used more evenly)")
                panel.set_ylabel("alignment  (lower: pairs that\nmean the same are closer)")
                panel.margins(0.28, 0.16)
            (PAGE.parent / PLANE).write_bytes(png(figure))
            parts += ["## Figure 3: alignment and uniformity", f"![Models by alignment and uniformity]({PLANE})"]
            parts.append("On STS-B dev; in brackets the average over the five STS tasks; one seed each.")
        if len(drawn) > 1:
            cosines = np.array([one["scores"]["cosines"] for one in drawn.values()])
            (PAGE.parent / DENSITY).write_bytes(
                png(similarity_density(list(drawn), cosines, load_sts("stsb").scores, SCALE))
            )
            parts += [
                "## Figure 4: cosines by gold score",
                f"![Density of cosines by gold score, per model]({DENSITY})",
            ]
            parts.append("The pairs of STS-B's test set; one seed each.")
        return "\n\n".join(parts)

    def speed(self) -> str:
        """Return how long the transfer suite takes."""
        path = self.out / "transfer_speed.txt"
        if not path.is_file() or not path.read_text().startswith("{"):
            return ""
        found = json.loads(path.read_text())
        return f"""\
## The speed of the transfer suite

`python benchmarks/transfer_speed.py --model mini --folds {found["folds"]}`, in one run on {found["device"]}: {found["ours_seconds"]:.0f} s for {len(found["tasks"])} tasks, against {found["peer_seconds"]:.0f} s for `SentenceTransformer.encode` task by task and scikit-learn fold by fold, {found["ratio"]:.1f} times as long. The accuracies differ by at most {found["largest_accuracy_difference_points"]:.2f} points; of `mini`, untrained, they are

{table(tuple(TRANSFER[task] for task in found["scores"]), [[f"{ours:.1f}" for ours, _ in found["scores"].values()]])}"""

    def how(self) -> str:
        """Return where and with what it was run."""
        every = [one for group in self.records.values() for one in group.values()]
        trained = [one for one in every if "device" in one]
        if not trained:
            return ""
        versions = trained[0]["versions"]
        seconds = sum(one["seconds"] for one in every)
        told = ", ".join(
            f"{name} {versions[name]}"
            for name in ("torch", "transformers", "sentence-transformers")
            if name in versions
        )
        return f"""\
## How it was run

{len(every)} runs, {seconds / 3600:.1f} hours in all, several side by side on one device ({trained[0]["device"]}, {trained[0]["precision"]}); {told}. Seeds {", ".join(map(str, SEEDS))}, for the comparison on top 1 to 10; deviations are over n − 1. Where fewer seeds stand in a table, its column says so. Unsupervised rows: batches of 256, 150 steps, a rate of 3e-4 (the best of three on STS-B dev, see [the default method](default-method.md)), checkpoints every 25 steps."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("records", type=Path, help="folder of the records")
    Page(parser.parse_args().records).write()
    print(PAGE)


if __name__ == "__main__":
    main()
