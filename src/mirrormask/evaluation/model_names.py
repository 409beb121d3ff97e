"""What to call models in tables and verdicts: as short as tells them apart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mirrormask.search.opening import shown

INSIDE = "model"
"""The folder in a run that holds what was trained."""


def model_names(models: Sequence[Any]) -> list[str]:
    """Return a different name for each model: the end of its path, longer where two ends are alike.

    What a run wrote is called by the run's folder, not by the `model` inside it.

    Example:
        >>> model_names(["runs/first/model", "runs/second", "mini"])
        ['first', 'second', 'mini']
    """
    parts = [_parts(model, number) for number, model in enumerate(models, 1)]
    depth = [1] * len(parts)
    while True:
        names = ["/".join(part[-length:]) for part, length in zip(parts, depth, strict=True)]
        twice = [place for place, name in enumerate(names) if names.count(name) > 1]
        longer = [place for place in twice if depth[place] < len(parts[place])]
        if not longer:
            break
        for place in longer:
            depth[place] += 1
    return [
        f"{name} ({names[: place + 1].count(name)})" if place in twice else name for place, name in enumerate(names)
    ]


def _parts(model: Any, number: int) -> tuple[str, ...]:
    source = model if isinstance(model, (str, Path)) else getattr(model, "mirrormask_source", None)
    if source is None:
        return (f"model {number}",)
    path = Path(shown(source))
    if path.name == INSIDE:
        path = path.parent if path.parent.name else path.absolute().parent
    return tuple(part for part in path.parts if part not in ("/", ".", "..")) or (str(source),)
