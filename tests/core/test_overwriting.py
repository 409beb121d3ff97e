from __future__ import annotations

from pathlib import Path

import pytest

from mirrormask.core.errors import MirrormaskError
from mirrormask.core.overwriting import spare_inputs


@pytest.fixture
def there(tmp_path: Path) -> Path:
    (tmp_path / "run" / "model").mkdir(parents=True)
    (tmp_path / "run" / "model" / "config.json").write_text("{}")
    (tmp_path / "data.csv").write_text("text\n")
    (tmp_path / "link.csv").symlink_to(tmp_path / "data.csv")
    (tmp_path / "hard.csv").hardlink_to(tmp_path / "data.csv")
    (tmp_path / "linked").symlink_to(tmp_path / "run")
    return tmp_path


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("data.csv", "data.csv"),
        ("data.csv", "run/../data.csv"),
        ("data.csv", "link.csv"),
        ("link.csv", "data.csv"),
        ("data.csv", "hard.csv"),
        ("run", "run"),
        ("run", "linked"),
        ("run/model", "run"),
        ("linked/model", "run/model"),
        ("run/model", "linked/model/config.json"),
    ],
)
def test_an_output_that_is_an_input(there: Path, source: str, output: str) -> None:
    with pytest.raises(MirrormaskError, match="--report would write over .*Give another path"):
        spare_inputs([None, "", there / source], replaced=[there / "x", there / output], option="--report")


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("data.csv", "new.csv"),
        ("data.csv", "run"),
        ("run/model", "run/model/new.npy"),
        ("run/model", "run/other"),
        ("nowhere", "nowhere"),
        ("-", "-"),
        ("x" * 5000, "y"),
    ],
)
def test_an_output_that_is_none(there: Path, source: str, output: str) -> None:
    spare_inputs([there / source], replaced=[there / output])


def test_a_folder_to_add_to_may_hold_inputs_but_not_be_one(there: Path) -> None:
    spare_inputs([there / "run" / "model", there / "data.csv"], into=there / "run")
    with pytest.raises(MirrormaskError, match="--out would write over"):
        spare_inputs([there / "linked"], into=there / "run")
