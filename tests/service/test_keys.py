"""Keys from a file and from the environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirrormask.core.errors import DataError
from mirrormask.service.keys import VARIABLE, Keys, read_keys


def test_keys_of_both_places_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "from-the-environment, another-one-there")
    file = tmp_path / "keys"
    file.write_text("# whose it is\n\n  of-the-first-team  \nof-the-second-team\n", encoding="utf-8")
    keys = read_keys(file)
    for key in ("from-the-environment", "another-one-there", "of-the-first-team", "of-the-second-team"):
        assert keys.know(key.encode())
    for key in ("of-the-first-tea", "of-the-first-team ", "# whose it is", ""):
        assert not keys.know(key.encode())


def test_without_keys_everyone_may_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert not read_keys(None) and not Keys() and Keys(["12345678"])


@pytest.mark.parametrize(
    ("content", "says"),
    [(b"# none\n\n", "holds no key"), (b"short\n", "fewer than 8 signs"), (b"\xff\xfe\n", "cannot be read")],
)
def test_a_file_without_good_keys_is_refused(tmp_path: Path, content: bytes, says: str) -> None:
    file = tmp_path / "keys"
    file.write_bytes(content)
    with pytest.raises(DataError, match=says):
        read_keys(file)
    with pytest.raises(DataError, match="cannot be read"):
        read_keys(tmp_path / "nothing")
