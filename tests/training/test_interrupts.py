from __future__ import annotations

import os
import signal

import pytest
import torch

from mirrormask.training.interrupts import Looks, interrupts


def test_a_signal_is_kept_until_it_is_asked_for() -> None:
    for name in (signal.SIGINT, signal.SIGTERM):
        before = signal.getsignal(name)
        with interrupts() as asked:
            assert not asked()
            os.kill(os.getpid(), name)
            os.kill(os.getpid(), signal.SIGTERM)  # a polite kill never ends at once
            assert asked()
        assert signal.getsignal(name) is before


def test_a_second_ctrl_c_ends_at_once_also_where_it_was_ignored_before() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with pytest.raises(KeyboardInterrupt), interrupts():
            for _ in range(2):
                os.kill(os.getpid(), signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_when_to_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """After every step on a CPU; on a GPU now and then, when there is a reason, and when asked to stop."""
    now = 0.0
    monkeypatch.setattr("mirrormask.training.interrupts.time.monotonic", lambda: now)
    stop = False
    cpu, gpu = (Looks(torch.device(kind), 1, lambda: stop) for kind in ("cpu", "cuda"))
    assert cpu.due(1, anyway=False)
    assert not gpu.due(1, anyway=False)
    assert gpu.due(2, anyway=True)
    now = 0.6
    assert gpu.due(3, anyway=False)
    assert not gpu.due(4, anyway=False)
    stop = True
    assert gpu.due(5, anyway=False)
    assert gpu.stop
