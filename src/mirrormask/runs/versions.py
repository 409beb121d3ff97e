"""The versions a run was made with, for its record."""

from __future__ import annotations

import platform
from importlib import metadata

from mirrormask import __version__

_PACKAGES = ("torch", "transformers", "sentence-transformers", "accelerate", "tokenizers", "numpy")


def versions() -> dict[str, str]:
    """Return the versions of Python, this package, and what it stands on."""
    found = {name: metadata.version(name) for name in _PACKAGES}
    return {"python": platform.python_version(), "mirrormask": __version__, **found}
