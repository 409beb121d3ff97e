"""Addresses and names are checked before anything slow is begun."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.service.errors_json import without_paths
from mirrormask.service.naming import allowed_hosts, check_arguments, check_origins, is_loopback


def test_a_folder_that_is_neither_is_refused(tmp_path: Path, tiny_folder: Path, notes_index: Path) -> None:
    with pytest.raises(DataError, match=r"is neither an index \(index\.json\) nor a model \(config\.json\)"):
        check_arguments([str(tmp_path)])
    check_arguments([str(tiny_folder), str(notes_index), "mini", "some/hub-name"])


@pytest.mark.parametrize("origin", ["*", "example.org", "https://example.org/path", "null", ""])
def test_an_origin_that_is_none_is_refused(origin: str) -> None:
    with pytest.raises(MirrormaskError, match="--cors takes the origin of a web page"):
        check_origins([origin])
    check_origins(["https://example.org", "http://localhost:3000"])


def test_loopback_is_known() -> None:
    assert [is_loopback(host) for host in ("127.0.0.1", "127.8.0.1", "::1", "localhost")] == [True] * 4
    assert [is_loopback(host) for host in ("0.0.0.0", "10.0.0.3", "example.org")] == [False] * 3
    assert allowed_hosts("0.0.0.0", ["example.org"]) is not None and allowed_hosts("10.0.0.3", []) is None


def test_paths_are_taken_out_and_nothing_else() -> None:
    assert without_paths("/srv/a b/my-index is gone.", {"/srv/a b/my-index": "my-index"}) == "my-index is gone."
    assert without_paths("Ask for /api/search, 3/4 or and/or.", {}) == "Ask for search, 3/4 or and/or."
    assert without_paths("See /docs.", {}) == "See /docs."
    assert without_paths("x" * 50_000 + "/" * 50_000, {}).startswith("xxx")
