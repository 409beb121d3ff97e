"""Real Ray on this machine: one session, whose workers are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray", reason='Ray is not installed: pip install "mirrormask[ray]"')

from mirrormask.core import blocks
from mirrormask.core.errors import DataError, MirrormaskError, WorkerError
from mirrormask.core.ray_engine import RayEngine
from mirrormask.runs.encode import encode_file
from mirrormask.runs.vector_file import unfinished
from mirrormask.runs.vector_shards import TextShard
from mirrormask.search.index import Index

Cli = Callable[..., Any]

LONE = ("--workers", "1")  # two would load the encoder beside each other, on two cores


@pytest.fixture(scope="module")
def engine() -> Iterator[RayEngine]:
    """Return an engine whose session all tests share."""
    import ray.cloudpickle

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import tests
    with RayEngine(workers=2) as begun:
        yield begun


def shards(piece: int) -> Iterator[TextShard]:
    for first in range(piece):
        yield TextShard(piece, f"{piece}.txt", first, 1, f"{piece}-{first}", [])


def test_a_killed_worker_costs_nothing(engine: RayEngine, tmp_path: Path) -> None:
    def make() -> Callable[[TextShard], str]:
        def work(shard: TextShard) -> str:
            mark = tmp_path / "killed"
            if shard.name == "5-2" and not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return shard.name

        return work

    found = list(engine.run([5, 3], shards, make, tmp_path))
    assert sorted(found) == sorted([f"5-{n}" for n in range(5)] + [f"3-{n}" for n in range(3)])
    assert {path.name for path in tmp_path.iterdir()} == {"killed"}, "notes are taken away"


def test_a_shard_that_kills_every_worker_is_named(engine: RayEngine, tmp_path: Path) -> None:
    def make() -> Callable[[TextShard], None]:
        return lambda shard: os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(WorkerError, match=r"A worker died 3 times at rows 0 to 1 of 1\.txt"):
        list(RayEngine(workers=1).run([1], shards, make, tmp_path))


def test_a_worker_that_fails_says_where(engine: RayEngine, tmp_path: Path) -> None:
    def make() -> Callable[[TextShard], int]:
        return lambda shard: 1 // shard.first

    with pytest.raises(WorkerError, match=r"A worker failed at rows 0 to 1 of 1\.txt \(ZeroDivisionError: .*mend that"):
        list(RayEngine(workers=1).run([1], shards, make, tmp_path))


def test_vectors_are_the_same_to_the_byte_after_kills(
    engine: RayEngine,
    cli: Cli,
    tiny_folder: Path,
    sentences: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The run is killed after one shard; the next one goes on with the rest."""
    monkeypatch.setattr(blocks, "BLOCK", 16)
    (tmp_path / "texts").mkdir()
    for number in range(3):
        (tmp_path / "texts" / f"{number}.txt").write_text("\n".join(sentences[50 * number : 50 * number + 40]))
    plain, out = tmp_path / "plain", tmp_path / "vectors"
    encode_file(str(tmp_path / "texts"), plain, model=str(tiny_folder))

    class Killed(BaseException):
        pass

    def kill(count: int) -> None:
        raise Killed

    with pytest.raises(Killed):
        encode_file(str(tmp_path / "texts"), out, model=str(tiny_folder), engine=RayEngine(workers=1), progress=kill)
    assert unfinished(out).is_dir() and not out.exists()
    ran = cli(
        *["encode", tmp_path / "texts", "--out", out, "--model", tiny_folder, "--engine", "ray", *LONE, "--resume"]
    )
    assert ran.code == 0, ran.err
    assert ran.out.strip() == f"120 vectors of 32 numbers in 9 shards in {out}" and ran.err == ""
    assert {path.name: path.read_bytes() for path in out.iterdir()} == {
        path.name: path.read_bytes() for path in plain.iterdir()
    }


def test_what_is_wrong_with_a_text_is_said_as_without_ray(engine: RayEngine, tiny_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_bytes(b"a text\n\xff\n")
    with pytest.raises(DataError, match=r"bad\.txt is not UTF-8"):
        encode_file(str(tmp_path / "bad.txt"), tmp_path / "out", model=str(tiny_folder), engine=RayEngine(workers=1))
    with pytest.raises(MirrormaskError, match=r"Workers read files and write a folder of shards.*such as --out .*/v\."):
        encode_file(str(tmp_path / "bad.txt"), tmp_path / "v.npy", model=str(tiny_folder), engine=engine)


def test_an_index_gives_the_same_answers(
    engine: RayEngine, cli: Cli, tiny_folder: Path, sentences: list[str], tmp_path: Path
) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("\n".join(sentences[:200]))
    plain = Index.build(texts, tmp_path / "plain", model=str(tiny_folder))
    ran = cli("index", texts, "--out", tmp_path / "ray", "--model", tiny_folder, "--engine", "ray", *LONE, "--json")
    assert ran.code == 0, ran.err
    assert ran.json["counts"] == {"documents": 200, "passages": 200, "deleted": 0}
    other = Index(tmp_path / "ray")
    for mode in ("words", "vectors", "both"):
        for query in (sentences[7], "the cat near the river", "bread"):
            ours, theirs = (each.search(query, mode=mode, top=20) for each in (other, plain))
            assert [(hit.id, hit.score) for hit in ours] == [(hit.id, hit.score) for hit in theirs]


def test_a_cluster_that_does_not_answer_is_named() -> None:
    code = (
        "from mirrormask.core.ray_engine import RayEngine\n"
        "from mirrormask.core.errors import MirrormaskError\n"
        "try:\n"
        "    RayEngine('127.0.0.1:1').__enter__()\n"
        "except MirrormaskError as error:\n"
        "    print(error)\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True).stdout
    assert told.strip() == (
        "There is no Ray cluster that answers at 127.0.0.1:1: Connection refused. "
        "Check --address, or leave it out to work on this machine."
    )
