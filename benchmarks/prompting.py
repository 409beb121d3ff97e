"""The page of prompting results, written from the records of `prompting_runs.py`.

python benchmarks/prompting.py records --out docs/results/prompting.md
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.storage import atomic_file
from mirrormask.evaluation.statistics.significance import sign_flip_p

Record = dict[str, Any]

METHODS = (
    ("classifier", "classifier, fine-tuned"),
    ("probe", "linear probe on `mini-sentence`"),
    ("pattern", "one pattern (mean over patterns)"),
    ("semi-supervised", "the first pattern with the masked-LM loss"),
    ("ensemble", "PET without distillation"),
    ("pet", "PET"),
)
SUPERGLUE = ("boolq", "cb", "copa", "multirc", "record", "rte", "wic", "wsc")


PAIRS = 6
"""Pairs from which on a p-value is said: with fewer, sign flips cannot show 0.05."""


PUBLISHED = ("31.3", "19.8", "31.4", "51.1")
"""P@1 of bert-base-cased on the first four wordings of P17 (Liu et al. 2021, "GPT Understands, Too", Table 1)."""


class Records(dict[str, Record]):
    """Records by name, from the folder of the runs or from the file that the page keeps beside it."""

    @classmethod
    def read(cls, path: Path) -> Records:
        """Return the records of a folder, or of one file."""
        if path.is_file():
            return cls(json.loads(path.read_text(encoding="utf-8")))
        return cls({each.stem: json.loads(each.read_text(encoding="utf-8")) for each in sorted(path.glob("*.json"))})


def records(folder: Records, start: str) -> list[Record]:
    """Return the records whose names start so, in their order."""
    return [{**record, "name": name} for name, record in sorted(folder.items()) if name.startswith(start)]


def values(rows: Sequence[Record], key: str) -> list[float]:
    if key == "pattern":
        return [100 * float(np.mean(row["patterns"])) for row in rows if row.get("patterns")]
    return [100 * row[key] for row in rows if key in row]


def spread(numbers: Sequence[float] | NDArray[np.float64]) -> str:
    """Return mean ± standard deviation."""
    if not len(numbers):
        return "–"
    return f"{np.mean(numbers):.1f}" + (f" ± {np.std(numbers, ddof=1):.1f}" if len(numbers) > 1 else "")


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def against(rows: Sequence[Record], one: str, other: str) -> tuple[float, float | None]:
    """Return the mean difference of two methods over the same seeds, and its p-value where there are enough."""
    both = [row for row in rows if other in row and (one in row or (one == "pattern" and row.get("patterns")))]
    gap = np.array(values(both, one)) - np.array(values(both, other))
    return float(gap.mean()), sign_flip_p(gap) if len(gap) >= PAIRS else None


def few(folder: Records, name: str, size: int, start: str = "few") -> list[Record]:
    return [row for row in records(folder, f"{start}-{name}-{size}-") if row.get("size") == size]


def method_table(groups: Sequence[tuple[str, list[Record]]]) -> str:
    rows = []
    for key, said in METHODS:
        cells = []
        for _, found in groups:
            cell = spread(values(found, key))
            if key != "classifier" and cell != "–":
                gap, p = against(found, key, "classifier")
                cell += f" ({gap:+.1f})" if p is None else f" ({gap:+.1f}, p {p:.3f})"
            cells.append(cell)
        if any(cell != "–" for cell in cells):
            rows.append([said, *cells])
    return table(["method", *(title for title, _ in groups)], rows)


def verdict(found: list[Record], title: str, bar: float = 5.0) -> str:
    """Say whether PET beats the classifier by the bar."""
    if not found:
        return f"{title}: no runs."
    gap, p = against(found, "pet", "classifier")
    said = f"{title}: PET is {abs(gap):.1f} points {'above' if gap >= 0 else 'below'} the classifier over "
    if p is None:
        return f"{said}{len(found)} seeds, too few to say whether the bar of {bar:g} points, p < 0.05, is met."
    held = gap >= bar and p < 0.05
    return f"{said}{len(found)} seeds (p {p:.4f}): the bar of {bar:g} points is {'met' if held else 'not met'}."


def few_examples(folder: Records) -> str:
    groups, adapted = (
        [
            (f"{name.upper()} ({len(found)} seeds)", found)
            for name in ("mr", "imdb")
            if (found := few(folder, name, 32, kind))
        ]
        for kind in ("few", "adapted")
    )
    if not groups:
        return ""
    text = "## 32 examples\n\nAccuracy on 2,000 test texts, mean and standard deviation over seeds; in brackets the "
    text += "difference from the classifier with the same seeds, and its p-value (sign flips) where there are at least "
    text += f"{PAIRS} seeds.\n\n"
    text += method_table(groups) + "\n"
    chosen = {name: rows[0]["chosen"] for name, rows in groups if rows}
    for name, each in chosen.items():
        text += (
            f"{name.split()[0]}: the classifier learns at {each['classifier'][0]:g} for {each['classifier'][1]} steps, "
            f"patterns at {each['pattern'][0]:g} for {each['pattern'][1]}; both were chosen among the same nine "
            "settings, by 500 dev texts and seeds that are not reported.\n\n"
        )
    text += "\n\n".join(verdict(rows, name.split()[0]) for name, rows in groups) + "\n\n"
    for name, rows in groups:
        ahead = np.mean(values(rows, "probe") or [0]) - np.mean(values(rows, "pet"))
        if ahead > 0:
            text += f"On {name.split()[0]} the linear probe on `mini-sentence` is {ahead:.1f} points above PET.\n\n"
    if any(rows for _, rows in adapted):
        text += (
            "After `mirrormask pretrain --init mini` on the unlabelled reviews (the pools of both sets, never dev or "
        )
        text += "test texts), everything else the same:\n\n" + method_table(adapted) + "\n"
        text += "\n\n".join(verdict(rows, f"{name.split()[0]}, continued") for name, rows in adapted) + "\n\n"
    return text


def settings(folder: Records) -> str:
    """The dev accuracies by which rate and steps were chosen."""
    rows = []
    for name in ("mr", "imdb"):
        for method in ("classifier", "pattern"):
            found = records(folder, f"search-{name}-{method}-")
            for rate in sorted({row["rate"] for row in found}):
                same = [row["accuracy"] for row in found if row["rate"] == rate]
                means = [f"{100 * np.mean([each[steps] for each in same]):.1f}" for steps in same[0]]
                rows.append([name.upper(), method, f"{rate:g}", *means])
    if not rows:
        return ""
    text = (
        "Dev accuracy with 32 examples, mean over two seeds, by rate and number of steps of 16 examples; `pattern` is "
    )
    steps = list(records(folder, "search-")[0]["accuracy"])
    return (
        text
        + "the first pattern alone:\n\n"
        + table(["set", "method", "rate", *(f"{n} steps" for n in steps)], rows)
        + "\n"
    )


def sizes(folder: Records) -> str:
    header, groups = [], []
    for size in (10, 32, 100, 1000) if any(few(folder, "mr", each) for each in (10, 100, 1000)) else ():
        found = few(folder, "mr", size)
        if found:
            header.append(f"{size} ({len(found)} seeds)")
            groups.append(found)
    if not groups:
        return ""
    zero = records(folder, "zero-mr")
    plain = next((row for row in zero if row["name"] == "zero-mr"), None)
    text = "## How many examples\n\nMR, accuracy. "
    if plain is not None:
        one, other = plain["patterns"]["all"]
        text += f"Without examples the patterns together have {100 * one:.1f}, calibrated {100 * other:.1f}. "
    text += "More than 32 examples are learned from for longer, with the root of their number.\n\n"
    return text + method_table(list(zip(header, groups, strict=True))) + "\n"


def blame(folder: Records) -> str:
    """Zero-shot by patterns and words: which of them carries the label?"""
    text = (
        "## Words, patterns, or what the model knows\n\nZero-shot accuracy, plain and calibrated by 2,000 unlabelled "
    )
    text += "texts.\n\n"
    shown = False
    for name in ("mr", "imdb", "ag-news"):
        found = {row["name"]: row for row in records(folder, f"zero-{name}")}
        plain, adapted = found.get(f"zero-{name}"), found.get(f"zero-{name}-adapted")
        if plain is None:
            continue
        shown = True
        header = [name.upper(), "plain", "calibrated"] + (["continued: plain", "calibrated"] if adapted else [])
        rows = []
        for part in ("patterns", "words"):
            for key, pair in plain.get(part, {}).items():
                more = adapted[part][key] if adapted else []
                title = {"all": "all patterns"}.get(key, f"`{key}`" if part == "patterns" else f"words: {key}")
                rows.append([title.replace("|", "\\|"), *(f"{100 * value:.1f}" for value in (*pair, *more))])
        if plain.get("found"):
            pairs = np.array([each["accuracy"] for each in plain["found"]]) * 100
            more = ["–", "–"] if adapted else []
            rows.append(["words found from 32 examples, ten draws", spread(pairs[:, 0]), spread(pairs[:, 1]), *more])
        text += table(header, rows) + "\n"
        if plain.get("found"):
            some = [
                ", ".join(each["words"]["1"]) + " / " + ", ".join(each["words"]["0"]) for each in plain["found"][:3]
            ]
            text += f"Three of the draws: {'; '.join(some)}.\n\n"
    return text if shown else ""


def ipet(folder: Records) -> str:
    rows, said = [], []
    for name in ("ag-news", "mr"):
        found = records(folder, f"ipet-{name}-")
        if not found:
            continue
        zero, last, mean = (values(found, key) for key in ("zero", "ipet", "ensemble"))
        gap = np.array(last) - np.array(zero)
        p = sign_flip_p(gap) if len(gap) >= PAIRS else None
        shown = "–" if p is None else f"{p:.4f}"
        rows.append([name, spread(zero), spread(mean), spread(last), f"{gap.mean():+.1f}", shown, str(len(found))])
        if p is None:
            said.append(f"{name}: too few seeds to say anything.")
            continue
        held = gap.mean() > 0 and p < 0.05
        said.append(f"{name}: iPET from zero labels {'beats' if held else 'does not beat'} calibrated zero-shot.")
    if not rows:
        return ""
    header = ["set", "calibrated zero-shot", "iPET, patterns", "iPET, classifier", "gain", "p", "seeds"]
    text = "## iPET from no labels\n\nTwo generations, 20 texts a label and then five times as many, 2,000 unlabelled "
    return text + "texts a seed.\n\n" + table(header, rows) + "\n" + " ".join(said) + "\n\n"


def facts(folder: Records) -> str:
    found = records(folder, "facts-")
    if not found and not records(folder, "volatility"):
        return ""
    text = "## Facts: LAMA\n\n"
    if found:
        keys = ("manual", "fine-tuning", "manual+fine-tuning", "p-tuning", "majority")
        means = [100 * float(np.mean([row[key] for row in found])) for key in keys]
        gap = np.array([row["p-tuning"] - row["manual"] for row in found])
        p = sign_flip_p(gap)
        text += (
            f"P@1 over the shared vocabulary (lower-cased, single tokens of `mini`), mean over the {len(found)} T-REx "
            "relations with a training file. Where LAMA's test file is partial here, that one is used. "
            f"{sum(row['left_out'] for row in found):,} of "
            f"{sum(row['left_out'] + row['facts'] for row in found):,} facts are left out because their answer is no "
            "single token. Fine-tuning has the template `{text} [MASK] .`, P-tuning `[P*3] {text} [P*3] [MASK] [P*3]` "
            "with the model frozen; checkpoints are chosen on the relation's dev facts.\n\n"
        )
        header = ["manual prompt", "fine-tuning", "manual + fine-tuning", "P-tuning", "most frequent answer"]
        text += table(header, [[f"{value:.1f}" for value in means]]) + "\n"
        held = gap.mean() > 0 and p < 0.05
        text += (
            f"P-tuning is {100 * gap.mean():+.1f} points from the manual prompt, better on "
            f"{int((gap > 0).sum())} of {len(found)} relations (p {p:.4f}): the bar is {'met' if held else 'not met'}. "
            "The last column is what a guesser that always names the most frequent answer of the training file has: "
            "what a prompt has learned of the relation's answers alone.\n\n"
        )
        rows = sorted(found, key=lambda row: row["p-tuning"] - row["manual"])
        shown = [*rows[:3], *rows[-3:]]
        cells = [[row["relation"], *(f"{100 * row[key]:.1f}" for key in keys)] for row in shown]
        text += "The three relations with the least gain and the three with the most:\n\n"
        text += table(["relation", *header], cells) + "\n"
    for row in records(folder, "volatility"):
        text += f"One relation, *country* (P17, {row['facts']} facts of it), asked in slightly different words:\n\n"
        published = [*PUBLISHED, *["–"] * (len(row["precision"]) - len(PUBLISHED))]
        pairs = zip(row["precision"].items(), published, strict=False)
        cells = [[f"`{key}`", f"{100 * value:.1f}", other] for (key, value), other in pairs]
        text += table(["prompt", "P@1 of `mini`", "published, BERT-base"], cells) + "\n"
        text += "The model is as volatile as the published one: a single word decides.\n\n"
    return text


def shown(found: Record | None, key: str = "accuracy") -> str:
    return "–" if found is None or key not in found else f"{100 * found[key]:.1f}"


def superglue(folder: Records) -> str:
    groups = {name: records(folder, f"superglue-{name}-") for name in SUPERGLUE}
    if not any(groups.values()):
        return ""
    text = (
        "## Few-shot SuperGLUE\n\nThe 32 examples of FewGLUE, accuracy on SuperGLUE's dev set (ReCoRD: `dev32`), mean "
    )
    text += "over seeds; the interval is that of one share of so many rows.\n\n"
    rows = []
    for name, found in groups.items():
        if not found:
            continue
        first = found[0]["ensemble"]
        zero = next((row["zero"] for row in found if "zero" in row), None)
        single = [100 * float(np.mean([each["accuracy"] for each in row["patterns"]])) for row in found]
        mean = float(np.mean([row["ensemble"]["accuracy"] for row in found]))
        half = 1.96 * (mean * (1 - mean) / first["n"]) ** 0.5
        soft = [100 * row["p-tuning"]["accuracy"] for row in found if "p-tuning" in row]
        extra = [key for key in ("f1a", "exact_match") if key in first]
        more = "; ".join(f"{key} {100 * np.mean([row['ensemble'][key] for row in found]):.1f}" for key in extra)
        more = more or f"macro-F1 {100 * np.mean([row['ensemble']['macro_f1'] for row in found]):.1f}"
        rows.append(
            [
                name,
                f"{int(first['n']):,}",
                shown(first, "majority"),
                shown(zero),
                spread(single),
                f"{100 * mean:.1f} [{100 * (mean - half):.1f}, {100 * (mean + half):.1f}]",
                spread(soft),
                more,
            ]
        )
    header = ["task", "rows", "majority", "zero-shot", "one pattern", "all patterns", "P-tuning, dev32", "all patterns"]
    text += table(header, rows) + "\n"
    text += "WSC and COPA, and wherever the interval holds the majority's share, are beyond so small a model. GPT-2, "
    text += "XLNet, priming and the full training sets are out of scope here.\n\n"
    cells = []
    for name in ("cb", "rte", "multirc"):
        found = groups[name]
        if found:
            row = [name]
            for key in ("origin own", "origin gpt-3", "ensemble"):
                row.append(spread([100 * each[key]["accuracy"] for each in found if key in each]))
            cells.append(row)
    if cells:
        text += "PET's own patterns, GPT-3's and all of them, without distillation (CB and RTE have no unlabelled text "
        text += "here):\n\n" + table(["task", "own", "GPT-3's", "combined"], cells) + "\n"
    return text


def chinese(folder: Records) -> str:
    zero = {row["name"]: row for row in records(folder, "zero-sentiment-zh")}
    runs = records(folder, "chinese-")
    if not zero:
        return ""
    rows = []
    for name, title in (
        ("zero-sentiment-zh", "zero-shot"),
        ("zero-sentiment-zh-adapted", "after MLM on unlabelled text"),
    ):
        if name in zero:
            pairs = [pair for key, pair in zero[name]["patterns"].items() if key != "all"]
            rows.append([f"{title}, plain", *(f"{100 * pair[0]:.1f}" for pair in pairs)])
            rows.append([f"{title}, calibrated", *(f"{100 * pair[1]:.1f}" for pair in pairs)])
    for key, title in (("few-shot", "32 examples"), ("semi-supervised", "32 examples and the masked-LM loss")):
        if runs:
            each = 100 * np.array([row[key] for row in runs])
            rows.append([f"{title} ({len(runs)} seeds)", *(spread(column) for column in each.T)])
    templates = [key for key in zero["zero-sentiment-zh"]["patterns"] if key != "all"]
    text = (
        "## Chinese: five patterns\n\n`mini-zh` on reviews (ChnSentiCorp), words 很 and 不, accuracy on 1,200 texts or "
    )
    text += "fewer.\n\n" + table(["", *(f"`{each}`" for each in templates)], rows) + "\n"
    text += (
        "The news-topic pattern of the slides, `下面报导一则[MASK*2]新闻。{text}`, is the task `news-zh`; no labelled "
    )
    return text + "Chinese news is at hand to score it on.\n\n"


EXPECTED = {
    "32 examples on MR": ("few-mr-32-", 10),
    "32 examples on IMDB": ("few-imdb-32-", 10),
    "32 examples on MR after `pretrain --init mini`": ("adapted-mr-32-", 10),
    "32 examples on IMDB after `pretrain --init mini`": ("adapted-imdb-32-", 10),
    "10 examples on MR": ("few-mr-10-", 10),
    "100 examples on MR": ("few-mr-100-", 10),
    "1000 examples on MR": ("few-mr-1000-", 10),
    "iPET from no labels on MR": ("ipet-mr-", 10),
    "iPET from no labels on AG News": ("ipet-ag-news-", 10),
    "zero-shot by pattern and word": ("zero-", 7),
    "relations of LAMA": ("facts-", 38),
    "the wording of P17": ("volatility", 1),
    "SuperGLUE, tasks times seeds": ("superglue-", 24),
    "Chinese, seeds": ("chinese-", 10),
}


def missing(folder: Records) -> str:
    """What the runs have not measured yet."""
    rows = []
    for title, (start, wanted) in EXPECTED.items():
        there = len(records(folder, start))
        if there < wanted:
            rows.append([title, str(there), str(wanted)])
    if not rows:
        return ""
    text = "## What was not measured\n\nThe time on the machine ran out before the runs did. The command above goes on "
    text += "with what is missing: no claim is made about it here.\n\n"
    return text + table(["runs", "measured", "wanted"], rows) + "\n"


def page(folder: Records) -> str:
    """Return the whole page."""
    sections: tuple[Callable[[Records], str], ...] = (
        few_examples,
        settings,
        sizes,
        blame,
        ipet,
        facts,
        superglue,
        chinese,
        missing,
    )
    text = "# Prompting\n\nCloze questions on the second edition of `mini` (8 layers, 384 wide, uncased), "
    text += "on one H200: without training, from a few examples, and with soft prompts. "
    text += "See [the guide](../guide/prompt.md).\n\n"
    text += "```bash\npython benchmarks/prompting_runs.py records --seconds 3600 --workers 4\n"
    text += "python benchmarks/prompting.py records --out docs/results/prompting.md\n```\n\n"
    text += (
        "Sets are cut once with a fixed seed: test and dev texts are never trained on, examples and unlabelled texts "
    )
    text += "come from the rest. MR has no split of its own, so 2,000 of its sentences are set aside. Every choice was "
    text += "made on dev texts.\n\n"
    return text + "".join(section(folder) for section in sections).rstrip() + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=Path, help="the folder of the runs, or the .json beside the page")
    parser.add_argument("--out", type=Path, default=Path("docs/results/prompting.md"))
    asked = parser.parse_args()
    found = Records.read(asked.records)
    with atomic_file(asked.out) as stream:
        stream.write(page(found))
    with atomic_file(asked.out.with_suffix(".json")) as stream:
        json.dump(found, stream, indent=1, sort_keys=True)
        stream.write("\n")


if __name__ == "__main__":
    main()
