"""What is said before Ray begins; what it does is tried in tests/integration/test_ray.py."""

from __future__ import annotations

import sys

import pytest

from mirrormask.core.errors import MirrormaskError
from mirrormask.core.ray_engine import RayEngine


def test_without_ray_its_pip_line_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MirrormaskError, match=r'--engine ray needs .* pip install "mirrormask\[ray\]"'), RayEngine():
        pass
