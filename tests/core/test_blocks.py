from __future__ import annotations

import pytest

from mirrormask.core import blocks


def test_blocks_are_cut_by_number_and_by_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 3)
    monkeypatch.setattr(blocks, "BLOCK_SIZE", 10)
    texts = ["a", "b", "c", "d", "e" * 9, "f" * 2, "g" * 99, "h"]
    assert list(blocks.in_blocks(texts)) == [["a", "b", "c"], ["d", "e" * 9], ["f" * 2], ["g" * 99], ["h"]]
    assert list(blocks.in_blocks([])) == []
