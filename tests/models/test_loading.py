from __future__ import annotations

from pathlib import Path

import pytest
from huggingface_hub import constants
from transformers.utils import logging

from mirrormask.models import loading
from mirrormask.models.loading import cache_if_offline, quiet_loading


def test_quiet_inside_only() -> None:
    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    with pytest.raises(KeyError), quiet_loading():
        assert logging.get_verbosity() == logging.ERROR
        assert not logging.is_progress_bar_enabled()
        raise KeyError
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before


@pytest.mark.parametrize(
    ("offline", "local", "answers", "asked", "inside"),
    [
        (False, False, False, 1, True),
        (False, False, True, 1, False),
        (False, True, False, 0, False),
        (True, False, False, 0, True),
    ],
)
def test_the_hub_is_asked_once_and_only_for_its_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, offline: bool, local: bool, answers: bool, asked: int, inside: bool
) -> None:
    calls = []
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", offline)

    def ask() -> bool:
        calls.append(1)
        return answers

    monkeypatch.setattr(loading, "_hub_answers", ask)
    with pytest.raises(KeyError), cache_if_offline(str(tmp_path) if local else "owner/name"):
        assert inside == constants.HF_HUB_OFFLINE
        raise KeyError
    assert len(calls) == asked
    assert offline == constants.HF_HUB_OFFLINE


def test_a_hub_that_cannot_be_reached_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")  # the port that throws everything away
    assert not loading._hub_answers()
