from __future__ import annotations

from pathlib import Path

import pytest

from mirrormask.core.errors import WorkerError
from mirrormask.core.tries import TRIES, begin_shard, forget_tries


def test_a_shard_that_costs_several_workers_ends_the_work(tmp_path: Path) -> None:
    for _ in range(TRIES):
        note = begin_shard(tmp_path, "a.parquet", "rows 0 to 8 of a.txt")
    with pytest.raises(WorkerError, match=r"died 3 times at rows 0 to 8 of a\.txt.* give fewer --workers"):
        begin_shard(tmp_path, "a.parquet", "rows 0 to 8 of a.txt")
    note.unlink()
    begin_shard(tmp_path, "a.parquet", "rows 0 to 8 of a.txt")
    forget_tries(tmp_path)
    assert not list(tmp_path.iterdir())
