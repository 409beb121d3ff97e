"""The benchmarks are scripts beside one another, not a package: their folder is where they find each other."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
