from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mirrormask.core.errors import MirrormaskError
from mirrormask.core.locking import LOCK, locked

HOLD = """
import sys, time
from mirrormask.core.locking import locked
with locked(sys.argv[1]):
    print("held", flush=True)
    time.sleep(300)
"""


def hold(folder: Path) -> subprocess.Popen[str]:
    """Start a process that holds a folder."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_process_is_told_who_holds_it_and_takes_over_from_the_dead(tmp_path: Path) -> None:
    with hold(tmp_path) as process:
        try:
            with pytest.raises(MirrormaskError) as refused, locked(tmp_path):
                pass
        finally:
            process.kill()
    said = str(refused.value)
    assert refused.value.exit_code == 2
    assert f"{tmp_path} is in use. Process {process.pid} on {socket.gethostname()}, since 20" in said
    assert f"(mirrormask {tmp_path}), is writing there. Wait for it, stop it, or give another --out." in said
    assert json.loads((tmp_path / LOCK).read_text())["pid"] == process.pid, "it was killed and left its file"
    with locked(tmp_path):
        assert json.loads((tmp_path / LOCK).read_text())["pid"] == os.getpid()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": 1}'])
def test_a_file_that_nobody_holds_is_no_lock(tmp_path: Path, content: str) -> None:
    """Also where a living process now has the number of the dead one: process 1 is always there."""
    (tmp_path / LOCK).write_text(content)
    with locked(tmp_path):
        pass


def test_the_thread_that_holds_it_may_enter_again_and_others_not(tmp_path: Path) -> None:
    refused: list[str] = []

    def other() -> None:
        try:
            with locked(tmp_path):
                pass
        except MirrormaskError as error:
            refused.append(str(error))

    with locked(tmp_path), locked(tmp_path / "." / ""):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert f"Process {os.getpid()} on" in refused[0]
    other()
    assert len(refused) == 1, "now it is free"


def test_a_forked_child_does_not_hold_it_on(tmp_path: Path) -> None:
    script = HOLD.replace('print("held", flush=True)', "import os; os.fork() or print('held', flush=True)")
    command = [sys.executable, "-c", script, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            process.kill()
            process.wait()
            with locked(tmp_path):  # its child is alive
                pass
        finally:
            os.killpg(process.pid, signal.SIGKILL)
