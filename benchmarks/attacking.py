"""Write docs/results/attack.md from records alone.

    python benchmarks/attacking.py records --page docs/results/attack.md

Records are what `attack_runs.py` wrote, beside `threshold.json` (attack_threshold.py) and `speed.json` (the last line
of attack_speed.py), where these were run. A table whose records are missing is left out.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Record = Mapping[str, Any]

ATTACKS = ("TextFooler", "R", "I", "R/I", "R+I")
VICTIMS = {"word-lstm": "word LSTM", "word-cnn": "word CNN", "bert": "BERT (`mini`)"}
SETS = {"mr": "MR", "imdb": "IMDB", "ag": "AG News", "yelp": "Yelp"}
NAMES = {name: name if name == "TextFooler" else f"BAE-{name}" for name in ATTACKS}

HEAD = (
    "# Attacking classifiers: results\n"
    "\n"
    "Every number was measured by `python benchmarks/attack_runs.py` and written here by `python "
    "benchmarks/attacking.py`. Victims are trained with seed 42 on MR (SentEval's file), IMDB and AG News "
    "without any text that is attacked or has the same first hundred letters and digits; `mini`, second "
    "edition, is the BERT victim's start, the masked LM that proposes words, the perplexity, and, counter-"
    "fitted to WordNet's synonyms and antonyms, TextFooler's word table. What is attacked is drawn by seed 42 "
    "from the public files of 1,000 texts; Yelp-style sentences, all of them negative, are attacked with MR's "
    "victims. Nothing was tuned on attacked texts: K is the paper's 50, and the threshold comes from training "
    "texts."
)


def read(folder: Path) -> dict[str, Record]:
    """Return the records of a folder by their file names."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}


def table(head: Sequence[str], rows: Sequence[Sequence[str]], texts: int = 1) -> str:
    marks = ["---" if place < texts else "---:" for place in range(len(head))]
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join(marks) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def attacks(records: Mapping[str, Record]) -> dict[tuple[str, str, str], Record]:
    """Return the records of attacks by victim, set and attack."""
    found = [record for name, record in records.items() if name.startswith("attack-")]
    return {(each["victim"], each["data"], each["attack"]): each for each in found}


def main_table(found: Mapping[tuple[str, str, str], Record]) -> str:
    """Return accuracy under attack with the mean similarity, in the shape of the paper's Table 1."""
    sets = [name for name in SETS if any(key[1] == name for key in found)]
    rows = []
    for victim, shown in VICTIMS.items():
        cells = [
            next((f"{r['accuracy']:.1f}" for (v, d, _), r in found.items() if (v, d) == (victim, s)), "–") for s in sets
        ]
        if set(cells) == {"–"}:
            continue
        rows.append((shown, "original", *cells))
        for attack in ATTACKS:
            each = [found.get((victim, name, attack)) for name in sets]
            rows.append(("", NAMES[attack], *("–" if r is None else _under(r) for r in each)))
    counts = {name: max(r["texts"] for (_, d, _), r in found.items() if d == name) for name in sets}
    texts = ", ".join(f"{SETS[name]} {count:,}" for name, count in counts.items())
    note = (
        f"Percent right, and in parentheses the mean cosine of found and original texts by the encoder. Texts: {texts}."
    )
    return f"## Accuracy under attack\n\n{table(['victim', 'attack', *(SETS[n] for n in sets)], rows, 2)}\n\n{note}"


def _under(record: Record) -> str:
    near = "–" if record["similarity"] is None else f"{record['similarity']:.3f}"
    return f"{record['under_attack']:.1f} ({near})"


def detail(found: Mapping[tuple[str, str, str], Record]) -> str:
    """Return what else was measured, a row for each record."""
    head = ["victim", "data", "attack", "success %", "words changed %", "queries", "perplexity", "texts/s"]
    rows = []
    for victim in VICTIMS:
        for name in SETS:
            for attack in ATTACKS:
                r = found.get((victim, name, attack))
                if r is not None:
                    odd = "–" if r["perplexity"] is None else f"{r['perplexity_before']:.0f} → {r['perplexity']:.0f}"
                    speed = f"{r['texts'] / r['seconds']:.1f}"
                    changed = "–" if r["changed"] is None else f"{r['changed']:.1f}"
                    cells = (f"{r['success']:.1f}", changed, f"{r['queries']:.0f}", odd, speed)
                    rows.append((VICTIMS[victim], SETS[name], NAMES[attack], *cells))
    note = (
        "Success is the share of right answers that are turned. Perplexity is the median over found texts, before and "
        "after, by `mini`. Queries are those of the quick order, which asks the classifier before meanings are "
        "compared; `--saving queries` finds the same texts with about half. Texts a second are those of one H200 that "
        "was shared with other work, four processes at a time."
    )
    return f"## Success, and what it costs\n\n{table(head, rows, 3)}\n\n{note}"


def bars(found: Mapping[tuple[str, str, str], Record]) -> str:
    """Return whether more freedom turns more answers, and whether every reported text holds."""
    lines, broken = [], []
    for victim, name in dict.fromkeys((v, d) for v, d, _ in found):
        rates = {a: found[victim, name, a] for a in ATTACKS if (victim, name, a) in found}
        if not {"R", "I", "R/I", "R+I"} <= set(rates):
            continue
        for more, less in (("R+I", "R/I"), ("R/I", "R"), ("R/I", "I")):
            gap, error = _gap(rates[more], rates[less])
            if gap < -1.96 * error:
                broken.append(
                    f"{NAMES[more]} is {-gap:.1f} points below {NAMES[less]} on {VICTIMS[victim]}, {SETS[name]}"
                )
    lines.append(
        "R+I ≥ R/I ≥ R and I within sampling error (1.96 standard errors of the difference) on every victim and set."
        if not broken
        else "R+I ≥ R/I ≥ R and I within sampling error holds but for: " + "; ".join(broken) + "."
    )
    wrong = sum(record["not_rechecked"] for record in found.values())
    turned = sum(round(r["success"] * r["accuracy"] * r["texts"] / 1e4) for r in found.values())
    near = [(r["least_similarity"], r["threshold"]) for r in found.values() if r["least_similarity"] is not None]
    under = sum(least < threshold for least, threshold in near)
    lines.append(
        f"{turned:,} texts were found. Looked at anew from what was saved, {wrong} of them did not hold (label before, "
        f"label after, edits, similarity); in {under} of {len(near)} runs was a window less similar than the threshold."
    )
    return "## What must hold\n\n" + "\n\n".join(lines)


def _gap(more: Record, less: Record) -> tuple[float, float]:
    shares = [each["success"] / 100 for each in (more, less)]
    counts = [max(1.0, each["accuracy"] * each["texts"] / 100) for each in (more, less)]
    error = math.sqrt(sum(p * (1 - p) / n for p, n in zip(shares, counts, strict=True)))
    return 100 * (shares[0] - shares[1]), 100 * error


def missing(found: Mapping[tuple[str, str, str], Record], records: Mapping[str, Record]) -> str:
    """Return what the command would measure and these records do not hold."""
    lines = []
    for victim, shown in VICTIMS.items():
        for name in SETS:
            wanted = ("R", "R+I") if name == "yelp" else ATTACKS
            lost = [NAMES[attack] for attack in wanted if (victim, name, attack) not in found]
            if lost:
                lines.append(
                    f"{shown} on {SETS[name]}: {'all attacks' if len(lost) == len(wanted) else ', '.join(lost)}"
                )
    if sum(len(each["rows"]) for name, each in records.items() if name.startswith("transfer-")) < 6:
        lines.append("transfer between all victims")
    if not any(name.startswith("harden-") for name in records):
        lines.append("adversarial training, so whether it halves the success rate is not known")
    if not lines:
        return ""
    return "## What is not measured yet\n\nThe command above makes the rest: " + "; ".join(lines) + "."


def grammar(found: Mapping[tuple[str, str, str], Record]) -> str:
    """Return which parts of speech were changed, over all victims and sets."""
    totals: dict[str, dict[str, int]] = {attack: {} for attack in ATTACKS}
    for (_, _, attack), record in found.items():
        for tag, count in record["tags"].items():
            totals[attack][tag] = totals[attack].get(tag, 0) + count
    tags = sorted(
        {tag for each in totals.values() for tag in each}, key=lambda t: -sum(e.get(t, 0) for e in totals.values())
    )
    shares = {attack: sum(each.values()) for attack, each in totals.items()}
    names = [attack for attack in ATTACKS if shares[attack]]
    rows = [(tag, *(f"{100 * totals[a].get(tag, 0) / shares[a]:.1f}" for a in names)) for tag in tags[:14]]
    note = (
        "Percent of all edits. A plus is a word that was added; noun and verb may stand for each other in every attack."
    )
    return f"## Grammar\n\n{table(['change', *(NAMES[a] for a in names)], rows)}\n\n{note}"


def transfer(records: Mapping[str, Record]) -> str:
    rows = [
        (SETS[each["data"]], VICTIMS[row["from"]], VICTIMS[row["to"]], f"{row['texts']:,}", f"{row['turned']:.1f}")
        for name, each in records.items()
        if name.startswith("transfer-")
        for row in each["rows"]
    ]
    if not rows:
        return ""
    head = ["data", "found against", "tried on", "right before", "turned too %"]
    notes = "".join(
        f"\n\n{each['note']}" for name, each in records.items() if name[:9] == "transfer-" and "note" in each
    )
    said = "Texts that BAE-R+I found against one victim, tried on another."
    return f"## Transfer\n\n{said}\n\n{table(head, rows, 3)}{notes}"


def hardening(records: Mapping[str, Record]) -> str:
    found = [each for name, each in records.items() if name.startswith("harden-")]
    if not found:
        return ""
    rows, met = [], []
    for each in found:
        before, after = each["before"], each["after"]
        good = after["success"] <= before["success"] / 2 and after["accuracy"] >= before["accuracy"] - 1
        met.append(good)
        rows.append(
            (
                VICTIMS[each["victim"]],
                SETS[each["data"]],
                f"{each['texts']:,} + {each['added']:,}",
                f"{each['measured']:,}",
                f"{before['accuracy']:.1f} → {after['accuracy']:.1f}",
                f"{before['success']:.1f} → {after['success']:.1f}",
                f"{before['under_attack']:.1f} → {after['under_attack']:.1f}",
            )
        )
    head = ["victim", "data", "texts + found", "attacked", "clean accuracy %", "success of BAE-R %", "under attack %"]
    said = (
        "Training texts are attacked with BAE-R, what is found is learned with the label of its original, and both "
        "victims are attacked on texts that neither has seen. "
    )
    small = {each["texts"] for each in found if each["texts"] < 4000}
    if small:
        edition = {6: "first", 8: "second"}.get(found[0].get("layers", 8), "")
        said += (
            f"This was measured at a small size, {min(small):,} training texts and the {edition} edition of `mini`. "
        )
    said += (
        f"The success rate is halved at no more than a point of clean accuracy in {sum(met)} of {len(met)} cases."
        if any(met)
        else "In no case is the success rate halved at no more than a point of clean accuracy; this is what it costs."
    )
    return f"## Adversarial training\n\n{said}\n\n{table(head, rows, 2)}"


def threshold(records: Mapping[str, Record]) -> str:
    found = records.get("threshold")
    if not found:
        return ""
    rows = []
    for encoder, each in found.items():
        for reading, passing in each["passing"].items():
            value = (
                each["threshold"] if reading == "calibrated" else {"textfooler": 0.98, "textattack": 0.936}.get(reading)
            )
            if reading == "openattack":
                continue
            shown = f"{value:.3f}" if value else "0.800"
            rows.append((encoder, reading, shown, *(f"{passing[k]:.1f}" for k in ("synonyms", "antonyms", "random"))))
    said = (
        "One word of a window of 15 is swapped in training texts of the three sets: for a synonym or an antonym of its "
        "part of speech (WordNet), or for a random word of it. The default threshold is where two of three random "
        "words stay out, about where as many synonyms stay out as random words pass; percent that pass:"
    )
    note = (
        "Antonyms are even nearer than synonyms to all three encoders: the filter keeps out what is foreign to the "
        "place, not what turns its meaning. The published thresholds were made for another encoder, the English one."
    )
    head = ["encoder", "reading", "cosine", "synonyms", "antonyms", "random words"]
    return f"## The threshold\n\n{said}\n\n{table(head, rows, 2)}\n\n{note}"


def speed(records: Mapping[str, Record]) -> str:
    found = records.get("speed")
    if not found:
        return ""
    ours, peer = found["ours"], found["peer"]
    few = (
        ""
        if found["texts"] >= 100
        else ", on fewer sentences than the hundred that are meant; more fill batches better"
    )
    rows = [
        (name, f"{found['texts'] / each['seconds']:.2f}", f"{each['success']:.1f}", f"{each['queries']:.0f}")
        for name, each in (("mirrormask", ours), ("TextAttack 0.3.11", peer))
    ]
    return (
        f"## Speed\n\n`benchmarks/attack_speed.py`, BAE-R on {found['texts']} sentences of MR, one thread of a CPU, "
        "the same word CNN, masked LM, sentence encoder, tags, stop-words and threshold, one after the other, in "
        "seconds of the processor: "
        f"**{found['ratio']:.1f} times** TextAttack's texts a second{few}.\n\n"
        + table(["", "texts/s", "success %", "queries"], rows)
    )


PEOPLE = (
    "## People's judgement\n"
    "\n"
    "Table 4 of the paper asks people for the label and the naturalness of texts. `mirrormask attack … --sheet"
    " sheet.csv` writes such a sheet, blind, and scores it when it is filled. Nobody has filled one yet:\n"
    "\n"
    "| | original | TextFooler | BAE-R | BAE-R+I |\n"
    "|---|---:|---:|---:|---:|\n"
    "| label told rightly % | | | | |\n"
    "| naturalness (1–5) | | | | |"
)


def page(records: Mapping[str, Record]) -> str:
    found = attacks(records)
    parts = [HEAD]
    if found:
        parts += [main_table(found), missing(found, records), bars(found), detail(found), grammar(found)]
    parts += [transfer(records), hardening(records), threshold(records), speed(records), PEOPLE]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=Path)
    parser.add_argument("--page", type=Path, default=Path("docs/results/attack.md"))
    asked = parser.parse_args()
    asked.page.write_text(page(read(asked.records)), encoding="utf-8")
    print(asked.page)


if __name__ == "__main__":
    main()
