from __future__ import annotations

from pathlib import Path

import pytest

from mirrormask.core.errors import MirrormaskError
from mirrormask.runs.folder import held_folder, open_folder


def test_folders(tmp_path: Path) -> None:
    with held_folder(tmp_path / "new", resume=False) as found:
        assert found is None
        assert [path.name for path in (tmp_path / "new").iterdir()] == [".lock"]
    (tmp_path / "done" / "model").mkdir(parents=True)
    (tmp_path / "done" / "run.json").write_text('{"a": 1}')
    with pytest.raises(MirrormaskError, match="holds a finished run"):
        open_folder(tmp_path / "done", resume=False)
    found = open_folder(tmp_path / "done", resume=True)
    assert found is not None
    assert (found.model, found.record) == (tmp_path / "done" / "model", {"a": 1})
    (tmp_path / "torn" / ".checkpoint.old").mkdir(parents=True)
    with pytest.raises(MirrormaskError, match="holds an unfinished run"):
        open_folder(tmp_path / "torn", resume=False)
