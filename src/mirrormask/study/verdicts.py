"""What a comparison over seeds says, in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mirrormask.evaluation.statistics.significance import fewest_pairs, least_p

if TYPE_CHECKING:
    from mirrormask.study.compare import Against, SeedComparison

OVERLAP = (
    "1,109 of the 1,500 pairs of STS-B dev and 723 of the 1,379 of its test set also stand in STS12–15: a choice made "
    "on STS-B dev is not independent of these tasks."
)


def p_text(p: float) -> str:
    """Return a p-value as text.

    Example:
        >>> p_text(0.0123), p_text(0.25), p_text(0.00195)
        ('p = 0.012', 'p = 0.25', 'p = 0.0019')
    """
    return f"p = {p:.2f}" if p >= 0.095 else f"p = {p:.3f}" if p >= 0.0095 else f"p = {p:.4f}"


def verdict(test: Against, rows: int, alpha: float) -> str:
    """Return whether a row is better or worse than the baseline, or how many seeds it would take to tell.

    Args:
        test: the row against the baseline.
        rows: how many rows were tested, which Holm's correction is over.
        alpha: the p-value to fall below.
    """
    if test.corrected < alpha:
        return f"{'better' if test.mean > 0 else 'worse'}, {p_text(test.corrected)}"
    seeds = f"{test.pairs} seed" + ("s" if test.pairs != 1 else "")
    if test.mean == 0:
        return f"no difference with {seeds}"
    needed = "more than 1,000" if test.needed is None else f"about {max(test.needed, test.pairs + 1)}"
    text = f"no evidence with {seeds}; {needed} would be needed"
    boot, corrected = test.bootstrap, test.bootstrap_corrected
    cannot = min(1.0, rows * test.least) >= alpha  # by their number alone, whatever they show
    if cannot and boot is not None and corrected is not None and corrected < alpha:
        return f"{'higher' if boot.value > 0 else 'lower'} by the bootstrap, {p_text(corrected)}; {text}"
    return text


def notes(found: SeedComparison) -> list[str]:
    """Return what a reader must know about the numbers."""
    rows = len(found.rows) - 1
    booted = False
    said = [
        f"Mean ± standard deviation (n − 1) over seeds, Spearman's correlation × 100; the average is over "
        f"{found.average_title}."
    ]
    if rows and found.tests:
        pairs = [test.pairs for test in found.tests["average"]]
        booted = any(test.bootstrap is not None for test in found.tests["average"])
        count = f"{rows} row" + ("s" if rows > 1 else "")
        said.append(
            f"Tests are two-sided sign flips over paired seeds, corrected by Holm over {count}"
            + ("; intervals are 95 % of a bootstrap over sentence pairs and seeds." if booted else ".")
        )
        alone, first = fewest_pairs(found.alpha), fewest_pairs(found.alpha / rows)
        few = max(pairs)
        if few < alone:
            said.append(
                f"{few} paired seeds cannot show p < {found.alpha:g} by sign flips, whatever they show: their smallest "
                f"p is {least_p(few):.4g}. It takes {alone} for one row"
                + (f", and {first} for the first of {rows}." if rows > 1 else ".")
            )
        elif few < first:
            said.append(
                f"{few} paired seeds can show p < {found.alpha:g} for one row, but it takes {first} for {rows}."
            )
        missing = [
            row.name for row, count in zip(found.rows[1:], pairs, strict=True) if count < len(found.rows[0].runs)
        ]
        if missing:
            said.append(f"Not all seeds of {found.rows[0].name} were run for {', '.join(missing)}.")
    if any(task.startswith("stsb") for task in found.tasks) and any(task.startswith("sts1") for task in found.tasks):
        said.append(f"{OVERLAP} The bootstrap counts a pair once wherever it occurs." if booted else OVERLAP)
    if rows and not found.tests:
        said.append("The rows have other seeds than the first by design, so they are described and not tested.")
    return said
