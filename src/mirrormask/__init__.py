"""mirrormask turns a masked language model into a sentence encoder without labels, and measures it."""

from __future__ import annotations

__version__ = "0.1.0"
