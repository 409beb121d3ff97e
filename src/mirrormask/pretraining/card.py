"""The model card of a pretrained model: what it is and how it was made, from the run's own record."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def write_card(path: Path, record: dict[str, Any]) -> None:
    """Write the card."""
    path.write_text(card(record), encoding="utf-8")


def card(record: dict[str, Any]) -> str:
    """Return a card in Markdown, with the header the hub reads."""
    plan, data, settings = record["plan"], record["data"], record["settings"]
    history = record["result"]["history"]
    rows = [
        ("parameters", f"{record['parameters']:,}"),
        ("started from", plan["init"] or "new weights"),
        ("text", f"{data['texts']:,} texts, {data['tokens']:,} tokens"),
        ("tokens seen", f"{record['tokens_seen']:,}"),
        ("updates", f"{record['result']['steps']:,} of {settings['batch_size']} rows of {plan['length']} tokens"),
        ("hidden", f"{plan['mask_rate']:.0%} of the tokens{', whole words' if plan['whole_words'] else ''}"),
    ]
    if history:
        last = next(row for row in history if row["step"] == record["result"]["best_step"])
        rows += [
            ("held-out loss (15 % hidden)", f"{last['loss']:.3f}"),
            ("held-out accuracy (15 % hidden)", f"{last['accuracy']:.1%}"),
        ]
    lines = ["---", "library_name: transformers", "pipeline_tag: fill-mask", "---", ""]
    lines += ["# A masked language model pretrained with mirrormask", "", "| what | value |", "|---|---|"]
    lines += [f"| {name} | {value} |" for name, value in rows]
    lines += ["", "```python", "from transformers import pipeline", ""]
    lines += ['pipeline("fill-mask", model="path/to/this/folder")("The text has a [MASK] word.")', "```", ""]
    return "\n".join(lines)
