from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.evaluation.selection import check_dev, choose_selection


def test_without_labels_and_without_text_the_last_is_kept_and_said() -> None:
    chosen = choose_selection(SimpleNamespace(encoder=None), "", None)
    assert chosen.score is None
    assert "last checkpoint is kept" in chosen.explanation


def test_without_labels_it_says_so() -> None:
    chosen = choose_selection(SimpleNamespace(encoder=None), "", SimpleNamespace())  # type: ignore[arg-type]
    assert chosen.score is not None
    assert "without labels" in chosen.explanation


def test_a_file_of_pairs_scores_the_encoder(tiny: Callable[..., Any], sentences: list[str], tmp_path: Path) -> None:
    file = tmp_path / "dev.csv"
    rows = [f"{a},{b},{i % 5}" for i, (a, b) in enumerate(zip(sentences[:30], sentences[30:60], strict=True))]
    file.write_text("sentence1,sentence2,score\n" + "\n".join(rows))
    chosen = choose_selection(SimpleNamespace(encoder=tiny()), str(file), None)
    assert str(file) in chosen.explanation
    assert chosen.score is not None
    first, second = chosen.score(), chosen.score()
    assert -100 <= first.value <= 100
    assert first == second


def test_a_dev_set_that_is_not_there_is_said_before_anything_begins(tmp_path: Path) -> None:
    check_dev("")
    check_dev("stsb-dev")
    (tmp_path / "dev.csv").touch()
    check_dev(str(tmp_path / "dev.csv"))
    for name in ("dev.csv", "folder/dev"):
        with pytest.raises(DataError, match=f"There is no dev file {name}"):
            check_dev(name)
    with pytest.raises(MirrormaskError, match="Did you mean 'stsb-dev'"):
        check_dev("stsb-de")
