"""Parts from outside: modules that other installed packages name under the entry point group `mirrormask.parts`.

Importing such a module registers its parts, as importing a file of ours does.
"""

from __future__ import annotations

import warnings
from importlib.metadata import EntryPoint, entry_points

GROUP = "mirrormask.parts"

_loaded = False


class BrokenPlugin(UserWarning):
    """A plug-in that could not be imported, or whose parts could not be registered; all others are there."""


def plugins() -> list[EntryPoint]:
    """Return the plug-ins of all installed packages, by name."""
    return sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value))


def load_plugins() -> None:
    """Import every plug-in, once; one that fails is named in a warning and left out."""
    global _loaded
    if _loaded:
        return
    _loaded = True  # before, since a plug-in may ask for a part while it is imported
    for point in plugins():
        try:
            point.load()
        except Exception as error:  # whatever is wrong with it, the rest of the library is not
            package = point.dist.name if point.dist is not None else point.module
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
            warnings.warn(
                f"The plug-in {point.name!r} of {package} was left out, because {point.value} could not be loaded "
                f"({type(error).__name__}: {reason}).",
                BrokenPlugin,
                stacklevel=2,
            )
