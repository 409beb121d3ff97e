"""The campaign: marked, outside the daily run; MIRRORMASK_CAMPAIGN is the share of it to run, such as 0.1."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test here, and keep an evenly spaced share of each where less than all is asked for."""
    share = float(os.environ.get("MIRRORMASK_CAMPAIGN", "1"))
    here = [item for item in items if Path(__file__).parent in item.path.parents]
    for item in here:
        item.add_marker("campaign")
    if share >= 1:
        return
    kept: dict[str, float] = {}
    for item in here:
        name = item.nodeid.partition("[")[0]
        whole = int(kept.get(name, 1 - share))
        kept[name] = kept.get(name, 1 - share) + share
        if int(kept[name]) == whole and "[" in item.nodeid:
            items.remove(item)
