"""What a command reads it never writes over, however the two paths are spelled."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mirrormask.core.errors import MirrormaskError


def spare_inputs(
    inputs: Iterable[Path | str | None],
    *,
    replaced: Iterable[Path] = (),
    into: Path | None = None,
    option: str = "--out",
) -> None:
    """Refuse an output that is an input, by its real path or by being the same file under another name.

    Args:
        inputs: files and folders that are read; what is not there (a name of the hub, `-`) is passed over.
        replaced: files and folders that will be written whole: none may be an input, hold one, or be a file of one.
        into: a folder that files are added to: it may hold inputs, but not be one.
        option: what named the output.

    Raises:
        MirrormaskError: an input would be written over.
    """
    read = [Path(each).expanduser() for each in inputs if each not in (None, "")]  # type: ignore[arg-type]
    for source in read:
        try:
            if not source.exists():
                continue
            hit = into if into is not None and _same(into, source) else None
            hit = hit or next((each for each in replaced if _strikes(each, source)), None)
        except (OSError, ValueError, RuntimeError):  # no path, or a link to itself: whoever opens it says so
            continue
        if hit is not None:
            raise MirrormaskError(
                f"{option} would write over {source}, which this command reads ({hit}). Give another path."
            )


def _same(one: Path, two: Path) -> bool:
    return one.resolve() == two.resolve() or (one.exists() and one.samefile(two))


def _strikes(output: Path, source: Path) -> bool:
    target, real = output.resolve(), source.resolve()
    return _same(output, source) or real.is_relative_to(target) or (target.is_file() and target.is_relative_to(real))
