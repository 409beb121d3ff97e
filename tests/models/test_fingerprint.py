from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mirrormask.core.errors import ModelError
from mirrormask.models.fingerprint import fingerprint, model_folder, stamp
from mirrormask.models.names import SHIPPED
from mirrormask.models.sharing import COMMON, write_shared


def test_a_copy_has_the_same_and_a_change_another(tiny_folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(tiny_folder, tmp_path / "copy")
    (copy / "README.md").write_text("a card")
    assert fingerprint(copy) == fingerprint(tiny_folder)
    before = stamp(copy)
    assert before == stamp(copy) != stamp(tiny_folder)
    weights = copy / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    assert fingerprint(copy) != fingerprint(tiny_folder) and stamp(copy) != before


def test_weights_that_two_models_share_count(tiny_folder: Path, tmp_path: Path) -> None:
    write_shared(tiny_folder, tmp_path / "one")
    write_shared(tiny_folder, tmp_path / "two", like=tmp_path / "one")
    before = fingerprint(tmp_path / "two")
    shared = tmp_path / "one" / COMMON
    shared.write_bytes(shared.read_bytes()[:-1] + b"\x7f")
    assert fingerprint(tmp_path / "two") != before


def test_names_lead_to_folders(tiny_folder: Path) -> None:
    assert model_folder("mini") == SHIPPED / "mini"
    assert model_folder(str(tiny_folder)) == tiny_folder
    with pytest.raises(ModelError, match="is no local folder and could not be fetched"):
        model_folder("nobody/nothing")
