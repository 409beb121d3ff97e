"""The answer an evaluation gives, in plain sentences."""

from __future__ import annotations

from collections.abc import Sequence

from mirrormask.evaluation.comparison import METRICS, Comparison
from mirrormask.evaluation.own import OwnReport
from mirrormask.evaluation.sts import StsReport
from mirrormask.evaluation.tables import HEADLINE


def verdicts(models: Sequence[str], sts: StsReport | None, own: OwnReport | None) -> list[str]:
    """Return what each model scored, or for several how the later ones differ from the first."""
    found: list[str] = []
    if own is not None:
        found += own.verdicts() if len(models) > 1 else [_score(own.comparison, own.task.primary, f"on {own.name}")]
    if sts is not None:
        if len(models) > 1:
            found += sts.average.verdicts(HEADLINE, f"STS, {sts.average_title}")
        else:
            found.append(_score(sts.average, HEADLINE, f"on STS, {sts.average_title}"))
        if sts.skipped:
            found.append(f"Not measured, because their data was not found: {', '.join(sts.skipped_titles)}.")
    return found


def _score(found: Comparison, metric: str, where: str) -> str:
    score = found.score(metric, 0)
    return (
        f"{found.models[0]} scores {score.value:.1f} ({100 * score.confidence:g} % CI {score.low:.1f} to "
        f"{score.high:.1f}) in {METRICS[metric]} {where}."
    )
