# ruff: noqa: E501  (the prose of the page is not broken)
"""Write docs/results/mirror.md and its figures from the runs of mirror_runs.py.

python benchmarks/mirror_page.py results --out docs/results
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from mirror_runs import RATES, best_of
from mirror_runs import runs as plan_of
from numpy.typing import NDArray

from mirrormask.data.tasks.word_pairs import WORD_TASKS
from mirrormask.evaluation.statistics.significance import holm, sign_flip_p
from mirrormask.reporting.drawing import svg
from mirrormask.reporting.figures import bands, bars, canvas

SENTENCES = {"sts12": "STS12", "sts13": "STS13", "sts14": "STS14", "sts15": "STS15", "stsb": "STS-B"}
WORDS = {n: WORD_TASKS[n].title for n in ("simlex", "simverb", "rw", "men", "ws353", "rg65", "yp130", "verb143")}
TASKS = {"sentences": SENTENCES, "words": WORDS}
Record = dict[str, Any]
FEWEST = 6
"""Seeds below which nothing is claimed."""


class Runs:
    """The runs of a group, by name.

    Args:
        group: `sentences` or `words`.
        records: as `mirror_runs.py` wrote them.
    """

    def __init__(self, group: str, records: Sequence[Record]) -> None:
        self.group, self.records = group, records
        self.tasks = TASKS[group]

    def of(self, name: str) -> list[Record]:
        """Return the runs of a name, by seed."""
        return sorted((each for each in self.records if each["name"] == name), key=lambda each: each["seed"])

    def averages(self, name: str) -> NDArray[np.float64]:
        """Return the average over the tasks for every seed (seeds,)."""
        return np.array([np.mean([each["scores"][task] for task in self.tasks]) for each in self.of(name)])

    def numbers(self, prefix: str) -> list[float]:
        """Return the numbers that names with a prefix have, in order."""
        names = {each["name"] for each in self.records if each["name"].startswith(f"{prefix} ")}
        return sorted(float(name.split()[1]) for name in names)

    def row(self, name: str, shown: str) -> list[str]:
        """Return a row of a table: every task, the average with its deviation, the seeds, and the anisotropy."""
        runs = self.of(name)
        cells = [f"{np.mean([each['scores'][task] for each in runs]):.1f}" for task in self.tasks]
        mean = self.averages(name)
        spread = f" ± {mean.std(ddof=1):.1f}" if len(mean) > 1 else ""
        cosine = np.mean([each["scores"]["anisotropy"] for each in runs])
        return [shown, *cells, f"**{mean.mean():.1f}**{spread}", str(len(runs)), f"{cosine:.2f}"]

    def differences(self, pairs: Mapping[str, tuple[str, str]]) -> str:
        """Return a table of differences paired by seed, their p-values corrected by Holm."""
        rows, chances = [], []
        for said, (one, other) in pairs.items():
            a, b = (
                {each["seed"]: value for each, value in zip(self.of(n), self.averages(n), strict=True)}
                for n in (one, other)
            )
            if b and len(self.of(other)) == 1:  # untrained: the same for every seed
                b = dict.fromkeys(a, next(iter(b.values())))
            both = sorted(set(a) & set(b))
            if len(both) < 2:
                continue
            found = np.array([a[seed] - b[seed] for seed in both])
            chances.append(sign_flip_p(found) if len(both) >= FEWEST else np.nan)
            rows.append([said, f"{found.mean():+.2f}", f"{found.min():+.2f} to {found.max():+.2f}", str(len(both))])
        if not rows:
            return ""
        told = iter(holm([chance for chance in chances if not np.isnan(chance)]))
        for row, chance in zip(rows, chances, strict=True):
            row.append("too few seeds" if np.isnan(chance) else f"{next(told):.3f}")
        return table(["difference", "points", "range over seeds", "seeds", "p (sign flips, Holm)"], rows)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table, first column left, others right."""
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join(["---", *["---:"] * (len(head) - 1)]) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def scores(runs: Runs, shown: Mapping[str, str]) -> str:
    """Return the table of scores for the runs there are."""
    head = ["", *runs.tasks.values(), "average", "seeds", "mean cosine"]
    return table(head, [runs.row(name, said) for name, said in shown.items() if runs.of(name)])


def span(values: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return mean, lowest and highest."""
    return float(values.mean()), float(values.min()), float(values.max())


def ablation_figure(runs: Runs, shown: Mapping[str, str], title: str) -> bytes:
    """Return bars of the averages, with all that seeds reach."""
    rows = {said: [span(runs.averages(name))] for name, said in shown.items() if runs.of(name)}
    return svg(
        bars(
            ["average"], rows, title=title, what="Spearman, percent; the strokes reach from the worst seed to the best"
        )
    )


def knowledge_figure(groups: Mapping[str, Runs]) -> bytes:
    """Return bars of what there was, what text without meaning brings out, and what real text adds."""
    rows = {}
    for group, runs in groups.items():
        start = runs.averages(f"untrained {_pooling(runs)}")
        for name, values in (
            ("untrained", start),
            ("random strings", runs.averages("random strings")),
            ("real texts", runs.averages("mirror")),
        ):
            if len(values):
                rows[f"{group}: {name}"] = [span(values)]
    what = "Spearman, percent; the strokes reach from the worst seed to the best"
    return svg(bars(["average"], rows, title="New knowledge, or what the model knew", what=what))


def curve_figure(groups: Mapping[str, Runs]) -> bytes | None:
    """Return what more texts, and more epochs over the same ones, add to the average, where that was measured."""
    known: dict[tuple[str, str], dict[float, NDArray[np.float64]]] = {}
    for group, runs in groups.items():
        for prefix in ("texts", "epochs"):
            found = {n: runs.averages(f"{prefix} {n:g}") for n in runs.numbers(prefix)}
            if found and prefix == "epochs":
                found[1.0 if group == "sentences" else 2.0] = runs.averages("mirror")[:5]
            elif found and group == "words":
                found[10_000.0] = runs.averages("mirror")[:5]
            if found:
                known[group, prefix] = dict(sorted(found.items()))
    if not known:
        return None
    with canvas(7.2, 3.2, "More texts, or more of the same", grid="y") as (figure, _):
        figure.clear()
        panels = figure.subplots(1, 2)
        for panel, (prefix, what) in zip(
            panels, (("texts", "texts learned from"), ("epochs", "passes over 10,000")), strict=True
        ):
            for place, group in enumerate(groups):
                values = known.get((group, prefix), {})
                if values:
                    fewest = min(len(v) for v in values.values())
                    stacked = np.stack([v[:fewest] for v in values.values()], axis=1)
                    bands(panel, np.array(list(values)), stacked, place, label=group)
            panel.set_xscale("log")
            panel.set_xlabel(what)
            panel.grid(axis="y")
        panels[0].set_ylabel("Spearman, percent")
        panels[0].legend(frameon=False)
    return svg(figure)


def missing(runs: Runs) -> list[str]:
    """Return the rows of the plan that were not measured, or by fewer than ten seeds."""
    planned: dict[str, int] = {}
    for name, _, _ in plan_of(runs.group, *best_of(runs.records, runs.group)):
        key = name.split()[0] if name.split()[0] in ("texts", "epochs", "grid") else name
        planned[key] = planned.get(key, 0) + 1
    found = []
    for key, count in planned.items():
        done = sum(each["name"] == key or each["name"].startswith(f"{key} ") for each in runs.records)
        if key in ("texts", "epochs", "grid"):
            if done < count:
                found.append(
                    {
                        "texts": "more and fewer texts",
                        "epochs": "more and fewer epochs",
                        "grid": "lengths of the span by rates of dropout",
                    }[key]
                    + (f" ({done} of {count} runs)" if done else "")
                )
        elif (done := len(runs.of(key))) < count:
            found.append(f"{key}" + (f" ({done} of {count} seeds)" if done else ""))
    return found


def _pooling(runs: Runs) -> str:
    return best_of(runs.records, runs.group)[1]


def grid_table(runs: Runs) -> str:
    """Return the average for every length of the span and every rate of dropout."""
    cells: dict[tuple[int, float], float] = {}
    for name in {each["name"] for each in runs.records if each["name"].startswith("grid ")}:
        _, length, rate = name.split()
        cells[int(length), float(rate)] = float(runs.averages(name).mean())
    if not cells:
        return ""
    rates, lengths = sorted({rate for _, rate in cells}), sorted({length for length, _ in cells})
    rows = [
        [f"{length} characters", *(f"{cells[length, rate]:.1f}" if (length, rate) in cells else "–" for rate in rates)]
        for length in lengths
    ]
    return table(["masked", *(f"dropout {rate:g}" for rate in rates)], rows)


def page(sentences: Runs, words: Runs, speed: str, *, curves: bool = False) -> str:
    """Return the whole page."""
    rates = {runs.group: best_of(runs.records, runs.group) for runs in (sentences, words)}
    edition = {1: "first", 2: "second"}.get(sentences.records[0]["edition"], str(sentences.records[0]["edition"]))
    seconds = np.median([each["train_seconds"] for each in sentences.of("mirror")])
    lowest = (
        " That is the lowest rate tried, and the published one; lower ones were not."
        if rates["sentences"][0] == min(RATES)
        else ""
    )
    start = f"untrained {rates['words'][1]}"
    left = {runs.group: missing(runs) for runs in (sentences, words)}
    told = " ".join(f"Of the {group}: {', '.join(names)}." for group, names in left.items() if names)
    parts = [
        f"""\
# Mirror-BERT: results

What Mirror-BERT makes of the {edition} edition of `mini`, without labels, from 10,000 sentences or 10,000 words. Every number was measured by `python benchmarks/mirror_runs.py sentences --out results` and `… words …` on an H200, and this page was written from those records by `python benchmarks/mirror_page.py results`; none was filled in by hand. Spearman in percent, the last weights of every run, batches of 200, everything else as published unless the row says so.

Chosen on dev data alone, with two seeds that are used for nothing else: the learning rate among {", ".join(f"{rate:g}" for rate in RATES)}, on STS-B dev for sentences ({rates["sentences"][0]:g}) and on MTurk-287 and MTurk-771 for words ({rates["words"][0]:g}, with `{rates["words"][1]}` pooling).{lowest} 1,109 of the 1,500 STS-B dev pairs also occur in STS12–15, so that choice is not independent of those columns. Mean cosine is that of two different texts of the tasks: 1 means that all vectors point one way. Differences are paired by seed, and nothing is claimed from fewer than {FEWEST} seeds.
""",
        f"**Not measured yet** (the machine's time ran out; the commands above make it): {told}" if told else "",
        "## Sentences",
        scores(
            sentences,
            {
                "untrained mean": "`mini`, mean of the last layer",
                "untrained cls": "`mini`, first token",
                "mirror": "Mirror-BERT, five characters masked",
                "dropout alone": "without the mask",
                "token spans": "spans of tokens (BERT-CF)",
                "drop-head": "heads dropped, not units",
                "one direction": "one direction (BERT-CF)",
                "faithful": "as the published code: mean over padding",
                "simcse": "SimCSE's loss (InfoNCE, 0.05), no mask",
            },
        ),
        sentences.differences(
            {
                "Mirror-BERT − `mini`, mean": ("mirror", "untrained mean"),
                "Mirror-BERT − `mini`, first token": ("mirror", "untrained cls"),
                "spans of tokens − of characters": ("token spans", "mirror"),
                "dropped heads − dropout": ("drop-head", "mirror"),
                "one direction − both": ("one direction", "mirror"),
                "mean over padding − over the text": ("faithful", "mirror"),
                "SimCSE's loss − Mirror-BERT": ("simcse", "mirror"),
            }
        ),
        f"A run over the 10,000 sentences took {seconds:.0f} s on the shared H200 (median; opening the model, reading and tokenizing included).{speed}",
        "## Words",
        "The average leaves out the two collections the rate was chosen on, and those whose pairs are part of another (WS-353 sim and rel, MC-30).",
        scores(
            words,
            {
                "untrained cls": "`mini`, first token",
                "untrained mean": "`mini`, mean",
                "mirror": "Mirror-BERT",
                "neither": "without dropout: negatives alone differ",
                "drop-head": "heads dropped, not units",
                "random strings": "learned from random strings",
                "random strings 5e-05": "random strings, rate 5e-5 as published",
            },
        ),
        words.differences(
            {
                f"Mirror-BERT − `mini`, {rates['words'][1]}": ("mirror", start),
                "random strings − `mini`": ("random strings", start),
                "random strings − real words": ("random strings", "mirror"),
                "dropped heads − dropout": ("drop-head", "mirror"),
                "no dropout − dropout": ("neither", "mirror"),
            }
        ),
        "## Masks and dropout",
        "![Masking and dropout](mirror-masking.svg)",
        sentences.differences(
            {
                "both − dropout alone": ("mirror", "dropout alone"),
                "both − mask alone": ("mirror", "mask alone"),
                "neither − `mini`": ("neither", "untrained mean"),
            }
        ),
        _synergy(sentences),
        grid_table(sentences),
        "## Positives and negatives alone",
        "![Positives and negatives](mirror-halves.svg)",
        sentences.differences(
            {
                "sentences: negatives alone − `mini`": ("negatives alone", "untrained mean"),
                "sentences: positives alone − `mini`": ("positives alone", "untrained mean"),
                "sentences: both − negatives alone": ("mirror", "negatives alone"),
            }
        ),
        words.differences(
            {
                "words: negatives alone − `mini`": ("negatives alone", start),
                "words: positives alone − `mini`": ("positives alone", start),
                "words: both − negatives alone": ("mirror", "negatives alone"),
            }
        ),
        f"Positives alone pull all vectors onto one: two different sentences have a cosine of {_cosine(sentences, 'positives alone')} then, {_cosine(sentences, 'negatives alone')} after negatives alone, {_cosine(sentences, 'mirror')} after both and {_cosine(sentences, 'untrained mean')} at the start.",
        "## New knowledge, or what the model knew",
        "![What random strings bring out](mirror-knowledge.svg)",
        "Random strings of letters, word by word as long as the real texts, hold nothing to be learned; what they gain was there and is brought out. "
        + _share(sentences, "untrained mean")
        + " "
        + _share(words, start),
        sentences.differences(
            {
                "sentences: random strings − `mini`": ("random strings", "untrained mean"),
                "sentences: real − random": ("mirror", "random strings"),
            }
        ),
        scores(words, {"without asked words": "no asked word", "with asked words": "all asked words"})
        if words.of("with asked words")
        else "",
        words.differences({"all asked words − none": ("with asked words", "without asked words")}),
        "More text, or more of the same; lines are means over five seeds, bands all that they reach:\n\n![More texts and more epochs](mirror-curves.svg)"
        if curves
        else "",
        """\
## What is not here

Entity linking, question–answer entailment and the other languages of the paper have no data here. Bilingual lexicon induction can be measured with `mirrormask lexicon`, but no multilingual model is at hand: it is tested with controls whose answer is known (a turned copy is found whole, noise by chance). Multi-SimLex, on which the published word numbers are (BERT .267, Mirror-BERT .556, random strings .481), is not here either; SimLex-999 is its English ancestor. The published sentence average of BERT-base, 74.5, is over seven tasks with another model and not to be compared with the columns above.
""",
    ]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def _synergy(runs: Runs) -> str:
    """Return whether mask and dropout help each other, as the paper finds, in a sentence."""
    names = ("mirror", "dropout alone", "mask alone", "neither")
    if not all(runs.of(name) for name in names):
        return ""
    both, dropout, mask, neither = (float(runs.averages(name).mean()) for name in names)
    found = "as the paper finds" if both > max(dropout, mask) else "unlike in the paper"
    return (
        f"{'Together they are best' if both > max(dropout, mask) else 'Together they are not best'}, {found}: "
        f"{both:.1f} with both, {dropout:.1f} with dropout alone, {mask:.1f} with the mask alone, {neither:.1f} with "
        "neither, where both views are the same vector and only negatives teach."
    )


def _share(runs: Runs, start: str) -> str:
    a, b, c = (float(runs.averages(name).mean()) for name in (start, "random strings", "mirror"))
    return f"Of the gain on {runs.group}, {c - a:.1f} points, they bring {b - a:.1f} ({(b - a) / (c - a):.0%})."


def _cosine(runs: Runs, name: str) -> str:
    found = [each["scores"]["anisotropy"] for each in runs.of(name)]
    return f"{np.mean(found):.2f}" if found else "–"


def main() -> None:
    """Read the records, write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    parser.add_argument("--speed", default="", help="last lines of mirror_speed.py, one file each, commas between")
    given = parser.parse_args()
    groups = {}
    for group in TASKS:
        lines = (given.results / f"{group}.jsonl").read_text().splitlines()
        groups[group] = Runs(group, [json.loads(line) for line in lines])
    said = most = ""
    for file in filter(None, given.speed.split(",")):
        found = json.loads(Path(file).read_text().splitlines()[-1])
        where = "one CPU core that other work shared" if found["device"] == "cpu" else f"one {found['device']}"
        said += (
            f" `benchmarks/mirror_speed.py` on {where}: {found['sentences_per_second']:,.0f} sentences a second against "
            f"{found['padded_sentences_per_second']:,.0f} padded to 50, {found['ratio']:.1f} times"
            f"{'' if found['ratio'] >= 3 else ' (the aim is 3)'}; 10,000 sentences in "
            f"{found['ten_thousand_in_seconds']:,.0f} s."
        )
        most = f" These texts have {found['mean_tokens']:.1f} tokens on average, so padding can cost {50 / found['mean_tokens']:.1f} times at most."
    sentences = groups["sentences"]
    masks = {
        "mirror": "mask and dropout",
        "dropout alone": "dropout alone",
        "mask alone": "mask alone",
        "neither": "neither",
        "untrained mean": "untrained",
    }
    halves = {
        "mirror": "both",
        "negatives alone": "negatives alone",
        "positives alone": "positives alone",
        "untrained mean": "untrained",
    }
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "mirror-masking.svg").write_bytes(ablation_figure(sentences, masks, "What masks and dropout add"))
    (given.out / "mirror-halves.svg").write_bytes(
        ablation_figure(sentences, halves, "Positives and negatives by themselves")
    )
    (given.out / "mirror-knowledge.svg").write_bytes(knowledge_figure(groups))
    curves = curve_figure(groups)
    if curves is not None:
        (given.out / "mirror-curves.svg").write_bytes(curves)
    text = page(sentences, groups["words"], said + most, curves=curves is not None)
    (given.out / "mirror.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
