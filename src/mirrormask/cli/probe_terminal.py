"""A probe on the terminal: heat map, trees and tables of scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mirrormask.cli.output import Output
from mirrormask.core.wording import counted

if TYPE_CHECKING:
    from mirrormask.probing.probed import Probed

_SHADES = " ░▒▓█"
_COLORS = ("grey50", "steel_blue", "dodger_blue2", "blue1", "blue1")
_TITLES = {
    "uas": "UAS",
    "uuas": "UUAS",
    "ned": "NED",
    "f1": "F1",
    "sentence_f1": "F1",
    "corpus_f1": "corpus F1",
    "precision": "P",
    "recall": "R",
    "boundary_f1": "boundary F1",
    "uas_without_root": "no root",
}


def print_probed(output: Output, probed: Probed) -> None:
    """Print the matrix in shades, the dependency tree as a tree, and the phrases in brackets."""
    _print_matrix(output, probed)
    output.out.print()
    output.out.print("Dependency tree", style="bold")
    output.out.print(_tree(probed))
    output.out.print()
    output.out.print("Phrases", style="bold")
    output.line(probed.brackets)


def print_scores(output: Output, found: Mapping[str, Any]) -> None:
    """Print what was induced beside its baselines, one table for each subset."""
    scores: Mapping[str, Any] = found.get("scores", {})
    if not scores:
        for words in found.get("words", []):
            output.line("  ".join(words))
        return
    count = next((counted(found[key], key[:-1]) for key in ("sentences", "documents", "lines") if key in found), "")
    title = f"{str(found['task']).capitalize()}, {count}, {found['model']}, layer {found['layer']}"
    nested = all(isinstance(value, Mapping) for value in next(iter(scores.values())).values())
    subsets = list(next(iter(scores.values()))) if nested else [""]
    for subset in subsets:
        rows = {
            name: _flat(each[subset] if subset else each)
            for name, each in scores.items()
            if not subset or subset in each
        }
        header = list(next(iter(rows.values())))
        cells = [[name, *[_number(row.get(key)) for key in header]] for name, row in rows.items()]
        output.line(f"{title}: {subset}{_size(scores, subset)}" if subset else title, style="bold")
        output.table("", ["", *map(_title, header)], cells)
        output.out.print()


def _print_matrix(output: Output, probed: Probed) -> None:
    """Print the matrix; where the terminal is too narrow, its columns follow in blocks."""
    from rich.cells import cell_len, set_cell_size
    from rich.text import Text

    n = len(probed.words)
    most = max((float(probed.matrix[i, j]) for i in range(n) for j in range(n) if i != j), default=0.0) or 1.0
    width = min(16, max(map(cell_len, probed.words)))
    output.line("Impact: row masked and looked at, column masked as well", style="bold")
    room = max(5, (output.out.width - width - 5) // 2)
    for first in range(0, n, room):
        block = range(first, min(first + room, n))
        for digits in _column_numbers(block):
            output.out.print(Text(" " * (width + 5) + digits), soft_wrap=True)
        for i, word in enumerate(probed.words):
            line = Text(f"{i + 1:>3} {set_cell_size(word, width)} ")
            for j in block:
                step = 0 if i == j else min(4, int(5 * float(probed.matrix[i, j]) / most))
                line.append(_SHADES[step] * 2, style=_COLORS[step])
            output.out.print(line, soft_wrap=True)


def _column_numbers(columns: range) -> list[str]:
    """Return the numbers of columns that are two wide, from 1: their digits one below the other.

    Example:
        >>> _column_numbers(range(7, 12))
        ['     1 1 1', ' 8 9 0 1 2']
    """
    numbers = [str(column + 1) for column in columns]
    height = max(map(len, numbers))
    return ["".join(f" {number.rjust(height)[row]}" for number in numbers) for row in range(height)]


def _tree(probed: Probed) -> Any:
    from rich.text import Text
    from rich.tree import Tree

    heads = probed.heads.tolist()
    nodes = {-1: Tree(Text("root", style="dim"))}
    waiting = [word for word, head in enumerate(heads) if head == -1]
    while waiting:
        word = waiting.pop(0)
        nodes[word] = nodes[heads[word]].add(Text(probed.words[word]))
        waiting += [other for other, head in enumerate(heads) if head == word]
    return nodes[-1]


def _flat(scores: Mapping[str, Any]) -> dict[str, Any]:
    """Return scores without the counts; those inside another mapping get its name before theirs."""
    found: dict[str, Any] = {}
    for name, value in scores.items():
        if isinstance(value, Mapping):
            found |= {
                f"{name.removesuffix('_percent').replace('accuracy_by_', '')}_{key}": v for key, v in value.items()
            }
        elif name.endswith("_percent"):
            found[name.removesuffix("_percent")] = value
    return found


def _size(scores: Mapping[str, Any], subset: str) -> str:
    """Return how much a subset holds, which is less than the file does."""
    first: Mapping[str, Any] = next(iter(scores.values()))[subset]
    return next((f" ({counted(first[key], key[:-1])})" for key in ("sentences", "arcs") if key in first), "")


def _title(name: str) -> str:
    return _TITLES.get(name) or name.removeprefix("recall_").replace("distance_", "at ").replace("_", " ")


def _number(value: Any) -> str:
    return "–" if value is None else f"{value:.1f}"
