"""Numbers in sentences: one row, two rows, three passes."""

from __future__ import annotations


def counted(number: float, unit: str) -> str:
    """Return a number with its unit, in the plural where it takes one.

    Args:
        number: how many.
        unit: of what, in the singular.

    Example:
        >>> counted(1, "row"), counted(2000, "row"), counted(0, "pass"), counted(1.5, "minute")
        ('1 row', '2,000 rows', '0 passes', '1.5 minutes')
    """
    ending = "es" if unit.endswith(("s", "ch", "x")) else "s"
    shown = f"{number:,}" if isinstance(number, int) else f"{number:g}"
    return f"{shown} {unit}{'' if number == 1 else ending}"


def passes(share: float, whole: str) -> str:
    """Return how often, or how much of, a whole is gone through.

    Example:
        >>> passes(12.51, "900 tokens"), passes(0.251, "900 tokens"), passes(0.002, "900 tokens")
        ('12.5 passes over 900 tokens', '25 % of 900 tokens', 'less than 1 % of 900 tokens')
        >>> passes(1.02, "900 tokens")
        '1 pass over 900 tokens'
    """
    if share >= 0.995:
        return f"{counted(round(share, 1), 'pass')} over {whole}"
    return f"{share:.0%} of {whole}".replace("%", " %") if share >= 0.01 else f"less than 1 % of {whole}"
