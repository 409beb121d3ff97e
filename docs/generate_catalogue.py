"""Write docs/catalogue.md from the registry: every part with its parameters and its paper.

python docs/generate_catalogue.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mirrormask.core.registry import Part
from mirrormask.runs.catalogue import catalogue

PAGE = Path(__file__).with_name("catalogue.md")

HEAD = """\
# Catalogue

Every registered part, with its parameters, their defaults and the paper it comes from; `mirrormask list` prints them.

<!-- Written by docs/generate_catalogue.py; run it after adding a part. -->
"""

ABOUT = {
    "method": "What `--method` and a recipe's `[method]` take: a composition of the parts below.",
    "objective": "From the vectors of a batch to a loss; `+` and `*` compose them.",
    "view": "How the two sides of a pair are seen.",
    "negative source": "Negatives besides those of the batch, which need no source.",
    "stabilizer": "How gradients become an update.",
    "pairing": "Where positives come from: what `--pairing` and `[pairing]` take.",
    "pooling": "How token states become one vector: what `--pooling` takes. More in [poolings](poolings.md).",
    "transform": "What `whiten --kind`, `flow` and `[transform]` fit on vectors and keep with the encoder: see "
    "[whiten and flow](guide/isotropy.md).",
    "suite": "Published tasks that `evaluate --suite` measures together, beside `sts`.",
}


def page() -> str:
    """Return the page as the registry stands."""
    return HEAD + "".join(_section(kind, parts) for kind, parts in catalogue().items())


def _section(kind: str, parts: list[Part[Any]]) -> str:
    lines = ["", f"## {kind}", "", ABOUT[kind], ""]
    if not parts:
        return "\n".join([*lines, "None yet.", ""])
    lines += ["| name | what it does | parameters | paper |", "|---|---|---|---|"]
    lines += [f"| `{p.name}` | {_cell(p.summary)} | {_parameters(p)} | {_cell(p.paper)} |" for p in parts]
    return "\n".join([*lines, ""])


def _parameters(part: Part[Any]) -> str:
    return ", ".join(f"`{each}`" for each in part.shown_parameters)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
