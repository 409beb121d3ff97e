from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.data.tasks.word_pairs import WORD_TASKS, load_words
from mirrormask.data.text.sources import DatasetMissing
from mirrormask.evaluation.evaluate import evaluate

PAIRS = [("boat", "ship", 9.0), ("boat", "river", 5.5), ("cat", "dog", 6.0), ("cat", "letter", 0.5), ("sun", "Moon", 4)]
Put = Callable[[str, str], Path]


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Put:
    monkeypatch.setenv("MIRRORMASK_DATA", str(tmp_path))

    def write(name: str, text: str) -> Path:
        path = tmp_path / "words" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return path

    return write


def encode(texts: list[str]) -> np.ndarray:
    return np.stack([np.random.default_rng(sum(text.encode())).normal(size=8) for text in texts]).astype(np.float32)


def lines(pairs: list[tuple[str, str, float]], between: str = "\t") -> str:
    return "".join(between.join(map(str, pair)) + "\n" for pair in pairs)


def test_words_are_ranked_as_scipy_does(put: Put) -> None:
    put("EN-SIMLEX-999.txt", lines(PAIRS))
    put("EN-RG-65.txt.gz", lines(PAIRS[::-1], " ") + "\n")
    found = evaluate([encode], suite="words", names=["mine"], resamples=20)
    left, right = encode([a for a, _, _ in PAIRS]), encode([b for _, b, _ in PAIRS])
    cosines = (left * right).sum(1) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1)
    expected = 100 * spearmanr(cosines, [score for _, _, score in PAIRS]).statistic
    scores = found.to_dict()["suites"]["words"]["tasks"]
    assert set(scores) == {"simlex", "rg65"}
    for task in scores.values():
        assert task["pairs"] == 5
        assert task["scores"]["mine"]["spearman_percent"]["value"] == pytest.approx(expected)
    assert set(found.suites["words"].skipped) == set(WORD_TASKS) - {"simlex", "rg65"}
    assert "RG-65" in found.markdown()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("boat\tship\n", r"line 1: expected two words and a score. Got 'boat\\tship'"),
        ("boat\tship\t9\ncat\tdog\tmany\n", "line 2: the score must be a number. Got 'many'"),
        ("boat\tship\tnan\n", "line 1: the score must be a number. Got 'nan'"),
        ("boat\tship\t3\ncat\tdog\t3\n", "has no two different scores"),
    ],
)
def test_a_line_that_is_not_whole_is_named(put: Put, text: str, message: str) -> None:
    put("EN-MEN-TR-3k.txt", text)
    with pytest.raises(DataError, match=message):
        load_words("men")


def test_a_file_that_is_not_there(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DatasetMissing, match=r"The file words/EN-RW-STANFORD.txt is not under .* Set MIRRORMASK_DATA"):
        load_words("rw")
    with pytest.raises(MirrormaskError, match="No data was found for simlex"):
        evaluate([encode], suite="words")
    monkeypatch.delenv("MIRRORMASK_DATA")
    with pytest.raises(DatasetMissing, match="MIRRORMASK_DATA is not set"):
        load_words("rw")
    with pytest.raises(MirrormaskError, match="Did you mean 'simlex'"):
        load_words("simlx")


def test_the_real_collections_have_their_sizes(shared_data: Path) -> None:
    sizes = {name: len(load_words(name)) for name in WORD_TASKS}
    assert sizes["simlex"] == 999
    assert sizes["simverb"] == 3500
    assert sizes["men"] == 3000
    assert sizes["ws353"] == 353
    assert sizes["rg65"] == 65
    assert sum(sizes.values()) > 11_000
