from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from mirrormask.core import storage
from mirrormask.core.errors import MirrormaskError, TrainingError
from mirrormask.core.storage import (
    append_json,
    atomic_file,
    atomic_folder,
    check_writable,
    read_json,
    recovered,
    remove_folder,
    write_json,
)


def full(*_: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_file_appears_whole(tmp_path: Path) -> None:
    target = tmp_path / "new" / "file.txt"
    with atomic_file(target) as stream:
        stream.write("grün")
        assert not target.exists()
    assert target.read_text(encoding="utf-8") == "grün"
    assert [path.name for path in target.parent.iterdir()] == ["file.txt"]


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_files_have_the_mode_that_the_umask_gives(tmp_path: Path, umask: int, mode: int) -> None:
    """Also those that a library makes unreadable for others, as safetensors does."""
    before = os.umask(umask)
    try:
        with atomic_file(tmp_path / "file") as stream:
            stream.write("x")
        with atomic_folder(tmp_path / "folder") as out:
            (out / "inside").mkdir()
            for file in (out / "weights", out / "inside" / "weights"):
                file.touch(0o600)
    finally:
        os.umask(before)
    for path in (tmp_path / "file", tmp_path / "folder" / "weights", tmp_path / "folder" / "inside" / "weights"):
        assert path.stat().st_mode & 0o777 == mode, path
    for path in (tmp_path / "folder", tmp_path / "folder" / "inside"):
        assert path.stat().st_mode & 0o777 == 0o777 & ~umask


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_failure_leaves_what_was_there(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "target"
    if kind == "file":
        target.write_text("old")
        with pytest.raises(ZeroDivisionError), atomic_file(target) as stream:
            stream.write("new")
            raise ZeroDivisionError
        assert target.read_text() == "old"
    else:
        target.mkdir()
        (target / "old").touch()
        with pytest.raises(ZeroDivisionError), atomic_folder(target) as out:
            (out / "new").touch()
            raise ZeroDivisionError
        assert [path.name for path in target.iterdir()] == ["old"]
    assert [path.name for path in tmp_path.iterdir()] == ["target"]


def test_a_folder_is_replaced_whole(tmp_path: Path) -> None:
    target = tmp_path / "target"
    for name in ("one", "two"):
        with atomic_folder(target) as out:
            (out / "inside").mkdir()
            (out / "inside" / name).touch()
    assert [path.name for path in (target / "inside").iterdir()] == ["two"]
    assert [path.name for path in tmp_path.iterdir()] == ["target"]


def test_a_failed_rename_puts_the_old_folder_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "target"
    with atomic_folder(target) as out:
        (out / "old").touch()
    kept = Path.rename

    def rename(self: Path, to: Any) -> Any:
        if self.suffix == ".partial":
            full()
        return kept(self, to)

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(TrainingError, match="disk is full"), atomic_folder(target) as out:
        (out / "new").touch()
    assert [path.name for path in target.iterdir()] == ["old"]


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "x"), RuntimeError("I/O error: No space left on device")])
def test_a_full_disk_is_said_in_a_sentence(tmp_path: Path, error: Exception) -> None:
    said = r"The disk is full: .*target could not be written.*untouched.*--resume"
    with pytest.raises(TrainingError, match=said), atomic_folder(tmp_path / "target"):
        raise error


def test_a_kill_between_the_two_renames_loses_nothing(tmp_path: Path) -> None:
    """As if `kill -9` had struck when the old folder was out of the way and the new one not yet in its place."""
    target = tmp_path / "checkpoint"
    (tmp_path / ".checkpoint.old").mkdir()
    (tmp_path / ".checkpoint.old" / "state").touch()
    (tmp_path / ".checkpoint.abc.partial").mkdir()
    (tmp_path / ".other.abc.partial").mkdir()
    assert recovered(target) == target
    assert [path.name for path in target.iterdir()] == ["state"]
    assert {path.name for path in tmp_path.iterdir()} == {"checkpoint", ".other.abc.partial"}
    assert recovered(target).is_dir(), "twice does no harm"
    assert not recovered(tmp_path / "nothing" / "here").exists()


def test_an_unfinished_file_is_removed_too(tmp_path: Path) -> None:
    for name in (".run.json.1a2b3c4d.partial", "run.json", ".other.json.1a2b3c4d.partial"):
        (tmp_path / name).touch()
    recovered(tmp_path / "run.json")
    assert {path.name for path in tmp_path.iterdir()} == {"run.json", ".other.json.1a2b3c4d.partial"}


def test_a_folder_is_removed_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    def killed(*_: Any, **__: Any) -> None:
        raise Killed

    target = tmp_path / "target"
    target.mkdir()
    (target / "file").touch()
    monkeypatch.setattr(storage.shutil, "rmtree", killed)
    with pytest.raises(Killed):
        remove_folder(target)
    assert not target.exists()
    monkeypatch.undo()
    remove_folder(target)
    recovered(target)
    assert list(tmp_path.iterdir()) == []


def test_a_whole_folder_wins_over_the_old_one(tmp_path: Path) -> None:
    for name, file in ((".run.old", "old"), ("run", "new")):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).touch()
    assert [path.name for path in recovered(tmp_path / "run").iterdir()] == ["new"]
    assert not (tmp_path / ".run.old").exists()


def test_json_round_trip_and_lines(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"ä": [1, None], "path": tmp_path})
    assert read_json(tmp_path / "a.json") == {"ä": [1, None], "path": str(tmp_path)}
    assert "ä" in (tmp_path / "a.json").read_text(encoding="utf-8")
    for rows in ([{"row": 0}, {"row": 1}], [], [{"row": 2}]):
        append_json(tmp_path / "rows.jsonl", rows)
    assert (tmp_path / "rows.jsonl").read_text() == '{"row": 0}\n{"row": 1}\n{"row": 2}\n'


def test_paths_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_writable(tmp_path / "a" / "b")
    assert list((tmp_path / "a" / "b").iterdir()) == []
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(MirrormaskError, match="is, or lies under, a file"):
            check_writable(path)

    def refuse(**_: Any) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(storage.tempfile, "TemporaryFile", refuse)
    with pytest.raises(MirrormaskError, match=r"cannot be written \(Permission denied\)"):
        check_writable(tmp_path)
