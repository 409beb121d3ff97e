# ruff: noqa: E501  (the prose of the page is not broken)
"""Write docs/results/family.md from the records of family_runs.py; without records it says what is to come.

python benchmarks/family_page.py results
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np
from family_runs import BASELINES, RATES, RECIPES, SEEDS, STS, TRIED, chosen_rates, records_of
from retrieval import APART, CHOSEN_ON
from scipy import stats

from mirrormask.evaluation.statistics.significance import holm, sign_flip_p
from mirrormask.reporting.drawing import svg
from mirrormask.reporting.figures import canvas
from mirrormask.reporting.tables import Table, markdown
from mirrormask.study.verdicts import p_text

PAGE = Path(__file__).parents[1] / "docs" / "results" / "family.md"
DEFAULT, BASE = "keyword-passages", "simcse"
LABELS = ("sentence-bert", "sentence-bert-triplet")
"""Rows that learn from labels, which no default can ask for."""

COSTLY = 1.5
"""How many times the step of the default a new default may cost."""

HEAD = """\
# The family of methods

Every method that chapters 2 and 3 of the thesis (Park 2023) and the slides on contrastive learning name, from the same start (`mini`, mean pooling unless the method has another), the same text (`wiki100k`), batches of 64 and 250 steps; one recipe each in `recipes/family/`. [What they learn from](../guide/family.md).

<!-- Written by benchmarks/family_page.py from the records of benchmarks/family_runs.py. -->

## The rule, written before the runs

- **Budget.** Each recipe is tried with three rates ({rates}) on seeds {tried}; the best mean on STS-B dev is its rate. Nothing else is chosen. Ten other seeds ({first} to {last}) make the table. 1,109 of the 1,500 pairs of STS-B dev also stand in STS12–15, so those are not independent of the choice.
- **Quality** is the mean of two numbers: Spearman's correlation over STS12–15 and STS-B, and nDCG@10 over the five collections kept for choosing ({chosen}). The five others ({apart}) are reported apart and decide nothing.
- **Cost** is the time of a step, as a ratio to SimCSE's in the same run on the same machine.
- **The default of `train`** from a masked LM becomes another method if it needs no labels, its step costs at most {costly} times that of `{default}`, and its quality is better over the ten paired seeds: sign flips, corrected by Holm over all rows that may become it, p below 0.05. Of several the best mean wins. Otherwise the default stays.
- **The smallest difference that ten seeds can show** stands beside each row: what a paired test at 5 % finds four times in five, given how much the differences of its seeds vary.
"""

MISSING = """\
## What has no row, and why

| method | named in | why |
|---|---|---|
| CBOW, skip-gram (word2vec), GloVe, fastText | 2.1.1, 2.1.2 | their vectors are trained elsewhere; `mirrormask word-vectors --vectors FILE` averages any of them. The rows `words-*` have vectors of the same text instead |
| sent2vec | 2.1.3 | its n-gram vectors are trained by a program of its own; averaged words and `words-sif` are its nearest kin here |
| InferSent | 2.1.4 | a recurrent encoder; its objective is `sentence-bert-classification` with `product = true` |
| BERT's next-sentence prediction | 2.2.3 | `mini` was pretrained without it; the untrained start is a row |
| back-translation, CERT | 3.1.1 | both need two translation models, and no text here has been translated: `mirrormask back-translate`, then the methods `back-translation` and `cert` |
| PromptBERT's search for templates with T5 | 3.3.1 | needs T5; both of its templates and its learned ones are rows |
| SupCon and label-aware contrast (slides) | slides | they learn classes: [learning with labels](classify.md) |
| Sentence-BERT's regression | 2.2.4 | it learns from STS-B's own scores, which the table is measured by |
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("records", type=Path, nargs="?")
    parser.add_argument("--out", type=Path, default=PAGE)
    asked = parser.parse_args()
    records = records_of(asked.records) if asked.records else []
    asked.out.write_text(page(records, asked.out.with_name("family-cost.svg")), encoding="utf-8")


def page(records: list[dict[str, Any]], figure: Path) -> str:
    """Return the page, and draw its figure where there is something to draw."""
    head = HEAD.format(
        rates=", ".join(f"{rate:g}" for rate in RATES),
        tried=" and ".join(map(str, TRIED)),
        first=SEEDS[0],
        last=SEEDS[-1],
        chosen=", ".join(CHOSEN_ON),
        apart=", ".join(APART),
        costly=COSTLY,
        default=DEFAULT,
    )
    rows = rows_of(records)
    names = [path.stem for path in sorted(RECIPES.glob("*.toml"))]
    if not rows:
        listed = ", ".join(f"`{name}`" for name in (*BASELINES, *names))
        todo = f"## Results\n\nThe runs are not made yet; the numbers are to come. The rows will be: {listed}.\n"
        return "\n".join([head, todo, MISSING])
    figure.write_bytes(svg(drawn(rows)))
    results = [
        "## Results",
        "",
        markdown(table(rows, chosen_rates(records))),
        "",
        f"![Quality against cost]({figure.name})",
    ]
    absent = [name for name in names if name not in rows]
    if absent:
        results += ["", f"Not run yet: {', '.join(absent)}."]
    failed = [f"`{each['name']}`: {each['error']}" for each in records if "error" in each]
    if failed:
        results += ["", "Could not be run: " + " ".join(failed)]
    return "\n".join([head, "\n".join(results), "", "## Verdicts", "", verdicts(rows), "", MISSING])


def rows_of(records: list[dict[str, Any]]) -> dict[str, dict[int, dict[str, float]]]:
    """Return the scores of every row by seed; what is not trained has one, under 0."""
    found: dict[str, dict[int, dict[str, float]]] = {}
    for record in records:
        if record["part"] not in ("seeds", "baseline"):
            continue
        own = {task: record["sts"][task] for task in STS}
        scores = {"sts": mean(own.values()), "cost": record.get("seconds_per_step", math.nan)}
        for title, some in (("chosen", CHOSEN_ON), ("apart", APART)):
            scores[title] = mean(record["search"][name] for name in some if name in record["search"])
        scores["quality"] = (scores["sts"] + scores["chosen"]) / 2
        found.setdefault(record["name"], {})[int(record.get("seed", 0))] = scores
    return found


def mean(values: Any) -> float:
    """Return the mean of some numbers; none have none."""
    known = list(values)
    return float(np.mean(known)) if known else math.nan


def over(row: dict[int, dict[str, float]], what: str) -> float:
    """Return the mean of a score over the seeds of a row."""
    return mean(scores[what] for scores in row.values())


def relative_cost(rows: dict[str, dict[int, dict[str, float]]], name: str) -> float:
    """Return the time of a step as a ratio to SimCSE's."""
    return over(rows[name], "cost") / over(rows[BASE], "cost") if BASE in rows else math.nan


def table(rows: dict[str, dict[int, dict[str, float]]], rates: dict[str, float]) -> Table:
    """Return all rows, the best quality first."""
    header = ("method", "rate", "seeds", "STS", "search, chosen on", "search, apart", "quality", "cost of a step")
    body = []
    for name in sorted(rows, key=lambda each: -over(rows[each], "quality")):
        numbers = [f"{over(rows[name], what):.1f}" for what in ("sts", "chosen", "apart", "quality")]
        cost = relative_cost(rows, name)
        rate = f"{rates[name]:g}" if name in rates else "–"
        body.append((f"`{name}`", rate, str(len(rows[name])), *numbers, "–" if math.isnan(cost) else f"{cost:.2f}"))
    return Table("Means over seeds", header, tuple(body))


def smallest(differences: list[float]) -> float:
    """Return the difference that a paired t-test at 5 % finds with a chance of about 80 %, given how seeds vary."""
    n = len(differences)
    if n < 2:
        return math.nan
    t = stats.t.ppf(0.975, n - 1) + stats.t.ppf(0.8, n - 1)
    return float(t * np.std(differences, ddof=1) / math.sqrt(n))


def verdicts(rows: dict[str, dict[int, dict[str, float]]]) -> str:
    """Return every trained row against the default, and which method the rule makes the default."""
    if DEFAULT not in rows:
        return f"`{DEFAULT}` has no seeds yet, so nothing can be compared with it."
    others = [name for name in rows if name not in (DEFAULT, *BASELINES)]
    differences = {
        name: [
            rows[name][seed]["quality"] - rows[DEFAULT][seed]["quality"]
            for seed in sorted(rows[name].keys() & rows[DEFAULT].keys())
        ]
        for name in others
    }
    others = [name for name in others if differences[name]]
    may = [name for name in others if name not in LABELS]
    corrected = dict(zip(may, holm([sign_flip_p(differences[name]) for name in may]), strict=True))
    dear = relative_cost(rows, DEFAULT) * COSTLY
    body, winners = [], []
    for name in sorted(others, key=lambda each: -mean(differences[each])):
        gain, p = mean(differences[name]), corrected.get(name, math.nan)
        fits = relative_cost(rows, name) <= dear
        if gain > 0 and p < 0.05 and fits:
            winners.append(name)
        said = (
            "learns from labels"
            if name in LABELS
            else "better"
            if gain > 0 and p < 0.05
            else "worse"
            if p < 0.05
            else "no evidence"
        )
        said += "" if fits or name in LABELS else ", and too dear"
        shown = "–" if math.isnan(p) else p_text(p)
        body.append((f"`{name}`", f"{gain:+.2f}", f"{smallest(differences[name]):.2f}", shown, said))
    header = ("method", f"quality against `{DEFAULT}`", "smallest difference shown", "Holm", "verdict")
    decided = (
        f"By the rule the default becomes `{winners[0]}`." if winners else f"By the rule `{DEFAULT}` stays the default."
    )
    return markdown(Table("Against the default", header, tuple(body), texts=(4,))) + f"\n\n{decided}"


def drawn(rows: dict[str, dict[int, dict[str, float]]]) -> Any:
    """Draw quality against cost, a point for every row that was trained."""
    with canvas(7.2, 4.8, "Quality against the cost of a step", grid="both") as (figure, panel):
        for name in rows:
            cost = relative_cost(rows, name)
            if not math.isnan(cost):
                quality = over(rows[name], "quality")
                panel.scatter([cost], [quality], s=36, zorder=3)
                panel.annotate(name, (cost, quality), textcoords="offset points", xytext=(5, 3), fontsize=7)
        panel.set_xlabel("time of a step, SimCSE's is 1")
        panel.set_ylabel("mean of STS and search")
    return figure


if __name__ == "__main__":
    main()
