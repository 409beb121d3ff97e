"""The segmentation probe: neighbors, thresholds, typography, scores."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from mirrormask.core.errors import MirrormaskError
from mirrormask.data.tasks.sighan import read_segmented
from mirrormask.probing.segmentation import (
    RULES,
    Segmenter,
    neighbors,
    probe_segmentation,
    score_segmentation,
    segment,
    threshold_of_dev,
)
from mirrormask.probing.thresholds import best_threshold, mean_length, mixture, otsu, separation
from mirrormask.probing.typography import clauses, cut_at, typographic

GOLD = [["今天", "下雨", "了", "，", "我们", "在", "家", "看书", "。"], ["厨房", "里", "有", "一", "只", "猫"]]


def impacts(words: list[str], rng: np.random.Generator) -> NDArray[np.float64]:
    """Impacts in which characters of one word feel each other."""
    owner = np.repeat(np.arange(len(words)), [len(word) for word in words])
    matrix: NDArray[np.float64] = rng.random((len(owner), len(owner))) + 5.0 * (owner[:, None] == owner)
    return matrix


@pytest.mark.parametrize("rule", ["otsu", "mixture", "mean-length"])
@pytest.mark.parametrize("typography", [True, False])
def test_words_in_the_matrix_are_found(rule: str, typography: bool) -> None:
    rng = np.random.default_rng(0)
    gold = GOLD * 5
    mean = sum(len("".join(line)) for line in gold) / sum(map(len, gold))
    segmenter = Segmenter(rule, mean, typography=typography)
    result = probe_segmentation(gold, (impacts(line, rng) for line in gold), segmenter)
    assert result.scores["induced"]["f1_percent"] > 90.0  # a mean length is met on the whole, not by each line
    if rule != "mixture":
        assert result.scores["induced"]["f1_percent"] == 100.0
    single = result.scores["single characters"]
    assert single["recall_percent"] == pytest.approx(100 * 10 / 15) and single["mean_length"] == 1.0
    assert result.lines == 10 and 0 < result.threshold < 6
    assert json.loads(json.dumps(result.as_json()))["segmenter"]["rule"] == rule


def test_a_development_set_chooses_the_threshold() -> None:
    rng = np.random.default_rng(1)
    found = threshold_of_dev(GOLD, (impacts(line, rng) for line in GOLD))
    words, used = segment(["".join(line) for line in GOLD], (impacts(line, rng) for line in GOLD), threshold=found)
    assert words == GOLD and used == found


def test_neighbors_against_a_loop() -> None:
    matrix = np.random.default_rng(2).random((7, 7))
    assert neighbors(matrix) == pytest.approx([(matrix[i, i + 1] + matrix[i + 1, i]) / 2 for i in range(6)])
    assert len(neighbors(np.ones((1, 1)))) == 0


def test_per_line_numbers_do_not_depend_on_scale() -> None:
    segmenter = Segmenter("fixed", 0.0, per_line=True, typography=False)
    values = np.array([1.0, 5.0, 2.0, 6.0])
    assert (
        segmenter.cut("一二三四五", values, 0.0)
        == segmenter.cut("一二三四五", values * 7 + 3, 0.0)
        == ["一", "二三", "四五"]
    )
    assert segmenter.cut("一二三", np.array([4.0, 4.0]), 0.0) == ["一二三"]


def test_otsu_against_a_loop() -> None:
    values = np.random.default_rng(3).random(60) ** 3

    def within(cut: float) -> float:
        low, high = values[values < cut], values[values >= cut]
        return float(len(low) * low.var() + len(high) * high.var())

    cuts = (np.sort(values)[1:] + np.sort(values)[:-1]) / 2
    assert within(otsu(values)) == pytest.approx(min(within(cut) for cut in cuts))
    assert otsu(np.array([1.0, 1.0, 1.0, 2.0])) == 1.5
    assert separation(values) == pytest.approx(1 - within(otsu(values)) / (60 * values.var()))
    assert separation(np.ones(5)) == 0.0 and separation(np.array([0.0, 0.0, 1.0, 1.0])) == pytest.approx(1.0)
    assert separation(np.random.default_rng(0).normal(size=20_000)) == pytest.approx(2 / np.pi, abs=0.02)


def test_best_threshold_against_a_loop() -> None:
    rng = np.random.default_rng(4)
    values, real = rng.random(50), rng.random(50) < 0.5

    def right(cut: float) -> int:
        return int(((values < cut) == real).sum())

    assert right(best_threshold(values, real)) == max(
        right(cut + step) for cut in (*values, 2.0) for step in (-1e-9, 1e-9)
    )


def test_mean_length_is_met() -> None:
    values = np.random.default_rng(5).random(999)
    for length in (1.0, 1.6, 2.5, 999.0):
        cut = mean_length(values, 1, length)
        assert 1000 / (1 + (values < cut).sum()) == pytest.approx(length, rel=0.01)
    with pytest.raises(MirrormaskError, match="must be at least 1 character. Got 0.5."):
        mean_length(values, 1, 0.5)
    with pytest.raises(MirrormaskError, match="at least two pairs of neighboring characters"):
        otsu(np.ones(1))
    assert mixture(np.array([2.0, 2.0])) == pytest.approx(2.0)
    assert Segmenter().threshold([np.zeros(0)], ["一"]) == float("-inf")


def test_typography_and_clauses() -> None:
    assert typographic("GDP达５％。").tolist() == [-1, -1, 0, 0, 1, 1]
    assert typographic("一").tolist() == typographic("").tolist() == []
    assert cut_at("一二三", np.array([True, False])) == ["一", "二三"] and cut_at("", np.zeros(0, dtype=bool)) == []
    text = "今天下雨了，我们在家看书。猫睡觉"
    for most in (1, 3, 5, 8, 40):
        pieces = clauses(text, most)
        assert "".join(pieces) == text and all(0 < len(piece) <= most for piece in pieces)
    assert clauses(text, 8) == ["今天下雨了，", "我们在家看书。", "猫睡觉"]
    assert clauses("", 5) == []


def test_baselines_have_the_gold_mean_length() -> None:
    gold = GOLD * 400
    result = score_segmentation(gold, gold, Segmenter(), 0.0)
    assert result.scores["induced"]["f1_percent"] == 100.0
    mean = result.scores["induced"]["mean_length"]
    assert result.scores["random boundaries"]["mean_length"] == pytest.approx(mean, rel=0.02)
    assert result.scores["random boundaries"]["f1_percent"] < 60
    assert len(RULES) == 4


def test_errors() -> None:
    with pytest.raises(MirrormaskError, match="a row and a column for each of its 2 characters. Got shape"):
        segment(["下雨"], [np.ones((3, 3))])
    with pytest.raises(MirrormaskError, match="Line 1 was cut into words of another text"):
        score_segmentation([["下雨"]], [["下雪"]], Segmenter(), 0.0)
    with pytest.raises(MirrormaskError, match="The 'rule' of a segmenter must be one of"):
        Segmenter(rule="otsus")


@pytest.mark.shared
def test_baselines_on_the_real_file(shared_data: Path) -> None:
    gold = list(read_segmented(shared_data / "zh" / "sighan" / "sighan2005_pku_test_gold.utf8"))[:500]
    scores = score_segmentation(gold, gold, Segmenter(), 0.0).scores
    assert 1.5 < scores["induced"]["mean_length"] < 1.75
    assert scores["single characters"]["f1_percent"] < 45 and scores["random boundaries"]["f1_percent"] < 40
