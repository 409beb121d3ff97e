"""What attacks found, for a person: tables, single texts with their changes marked, a page, and plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from mirrormask.attack.marked_text import as_html
from mirrormask.attack.outcome import TURNED, Outcome, Summary, summarize
from mirrormask.core.errors import MirrormaskError
from mirrormask.core.storage import write_json
from mirrormask.reporting.page import Section, render, save
from mirrormask.reporting.tables import Table

_SHOWN = 200  # texts on a page, of each attack


@dataclass(frozen=True)
class Transfer:
    """What texts found against one classifier do to another.

    Args:
        victim: the other one.
        attack: that found them.
        texts: whose originals it answers rightly.
        turned: percent of these that turn it too.
    """

    victim: str
    attack: str
    texts: int
    turned: float


@dataclass(frozen=True)
class AttackReport:
    """One classifier under one or several attacks.

    Args:
        victim: its name.
        labels: of its classes.
        settings: how it was attacked.
        outcomes: of each attack, text by text.
        transfers: to other classifiers.
        hardened: what adversarial training did: clean accuracy and success rate, before and after.
    """

    victim: str
    labels: tuple[str, ...]
    settings: dict[str, Any]
    outcomes: dict[str, list[Outcome]] = field(repr=False)
    transfers: tuple[Transfer, ...] = ()
    hardened: dict[str, Any] | None = None

    @property
    def summaries(self) -> dict[str, Summary]:
        """Return the figures of each attack."""
        return {name: summarize(found) for name, found in self.outcomes.items()}

    def tables(self) -> list[Table]:
        """Return the tables to show."""
        found = [_figures(self.summaries, self.settings), _grammar(self.summaries)]
        if self.transfers:
            rows = tuple((each.victim, each.attack, str(each.texts), f"{each.turned:.1f}") for each in self.transfers)
            columns = ("other classifier", "found by", "right before", "turned too %")
            found.append(Table("Do the texts turn other classifiers?", columns, rows, texts=(1,)))
        if self.hardened is not None:
            found.append(_hardening(self.hardened))
        return [table for table in found if table.rows]

    def verdict(self) -> list[str]:
        """Return what it comes to, in words."""
        said = []
        for name, each in self.summaries.items():
            if not each.accuracy:
                said.append(f"{self.victim} answers none of the texts rightly, so nothing was attacked.")
                break
            said.append(
                f"{name} turns {each.success:.0f} % of the answers that were right: accuracy falls from "
                f"{each.accuracy:.1f} to {each.under_attack:.1f} %."
            )
            if each.stopped:
                said.append(f"{each.stopped} texts were given up on when a budget was spent, and count as held.")
        return said

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: settings, figures, and every text."""
        return {
            "victim": self.victim,
            "labels": list(self.labels),
            "settings": self.settings,
            "summaries": {name: asdict(each) for name, each in self.summaries.items()},
            "transfers": [asdict(each) for each in self.transfers],
            "hardened": self.hardened,
            "outcomes": {name: [each.to_dict() for each in found] for name, found in self.outcomes.items()},
        }

    def save(self, path: Path) -> None:
        """Write a page (.html) or everything as JSON (.json)."""
        if check_format(path) == ".json":
            write_json(path, self.to_dict())
        else:
            save(path, self.page())

    def page(self) -> str:
        """Return the report as a page."""
        sections = [Section("Figures", tables=tuple(self.tables()))]
        for name, found in self.outcomes.items():
            turned = [each for each in found if each.result == TURNED]
            note = f"{len(turned)} texts" + (f", the first {_SHOWN} of them" if len(turned) > _SHOWN else "") + "."
            marked = tuple(self._marked(each) for each in turned[:_SHOWN])
            sections.append(Section(f"Found by {name}", text=(note,), marked=marked))
        return render(f"{self.victim} under attack", sections, verdict=self.verdict(), subtitle=self._subtitle())

    def _marked(self, outcome: Outcome) -> str:
        before, after = self.label(outcome.label), self.label(outcome.predicted or 0)
        figures = f"{before} → {after}, similarity {outcome.text_similarity or 0:.3f}"
        return f'{as_html(outcome.edited)}<br><span class="note">{escape(figures)}</span>'

    def label(self, number: int) -> str:
        """Return the name of a class."""
        return self.labels[number] if number < len(self.labels) else str(number)

    def _subtitle(self) -> str:
        settings = self.settings
        return (
            f"{settings['texts']} texts, masked LM {settings['model']}, meaning by {settings['similarity']} "
            f"({settings['reading']}, cosine at least {settings['threshold']:.3f}), seed {settings['seed']}"
        )


def check_format(path: Path) -> str:
    """Return the ending of a report's file, or refuse it."""
    if path.suffix not in (".html", ".json"):
        raise MirrormaskError(f"A report is written as .html or .json. Got {path.name!r}.")
    return path.suffix


def _figures(summaries: dict[str, Summary], settings: dict[str, Any]) -> Table:
    columns = (
        "attack",
        "accuracy %",
        "under attack %",
        "success %",
        "similarity",
        "words changed %",
        "queries",
        "perplexity",
    )
    rows = tuple(
        (
            name,
            f"{each.accuracy:.1f}",
            f"{each.under_attack:.1f}",
            f"{each.success:.1f}",
            _number(each.similarity, 3),
            _number(each.changed, 1),
            f"{each.queries:.0f}",
            f"{_number(each.perplexity_before, 0)} → {_number(each.perplexity, 0)}",
        )
        for name, each in summaries.items()
    )
    note = f"Reading of similarity: {settings['reading']}, cosine at least {settings['threshold']:.3f}."
    return Table("The classifier under attack", columns, rows, note=note)


def _grammar(summaries: dict[str, Summary]) -> Table:
    """Return the parts of speech of what was changed and added, usual ones first."""
    names = list(dict.fromkeys(tag for each in summaries.values() for tag in each.tags))
    names.sort(key=lambda tag: -sum(each.tags.get(tag, 0) for each in summaries.values()))
    rows = tuple((tag, *(str(each.tags.get(tag, 0)) for each in summaries.values())) for tag in names[:15])
    return Table("Grammar: parts of speech changed and added", ("change", *summaries), rows)


def _hardening(found: dict[str, Any]) -> Table:
    rows = tuple(
        (name, f"{found['before'][key]:.1f}", f"{found['after'][key]:.1f}")
        for name, key in (("accuracy on clean texts %", "accuracy"), ("success of the attack %", "success"))
    )
    note = f"Trained anew on {found['texts']} texts and {found['added']} found by attacking others than those measured."
    return Table("Adversarial training", ("", "before", "after"), rows, note=note)


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def transfer_of(outcomes: dict[str, list[Outcome]], others: Sequence[Any]) -> tuple[Transfer, ...]:
    """Return what found texts do to other classifiers.

    Args:
        outcomes: of each attack.
        others: victims.
    """
    found = []
    for other in others:
        for attack, each in outcomes.items():
            turned = [outcome for outcome in each if outcome.result == TURNED]
            before = other([outcome.text for outcome in turned]).argmax(axis=1)
            after = other([outcome.found or "" for outcome in turned]).argmax(axis=1)
            right = [place for place, outcome in enumerate(turned) if before[place] == outcome.label]
            wrong = sum(after[place] != turned[place].label for place in right)
            found.append(Transfer(other.name, attack, len(right), 100 * wrong / len(right) if right else 0.0))
    return tuple(found)
