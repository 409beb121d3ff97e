"""What is said before Ray begins; what it does is tried in tests/integration/test_ray.py."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

from mirrormask.core.errors import MirrormaskError
from mirrormask.core.locking import locked
from mirrormask.core.ray_engine import RayEngine, _remove_left


def test_without_ray_its_pip_line_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MirrormaskError, match=r'--engine ray needs .* pip install "mirrormask\[ray\]"'), RayEngine():
        pass


def test_folders_of_killed_sessions_are_removed(tmp_path: Path) -> None:
    for name in ("mm-ray-killed", "mm-ray-held", "mm-ray-young", "another"):
        (tmp_path / name).mkdir()
    with locked(tmp_path / "mm-ray-held"):
        for name in ("mm-ray-killed", "mm-ray-held", "another"):
            os.utime(tmp_path / name, (0, 0))
        other = threading.Thread(target=_remove_left, args=(tmp_path,))
        other.start()
        other.join()
    assert {path.name for path in tmp_path.iterdir()} == {"mm-ray-held", "mm-ray-young", "another"}
