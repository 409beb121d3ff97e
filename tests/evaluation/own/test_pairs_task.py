from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from mirrormask.core.errors import DataError
from mirrormask.data.tasks.scored_pairs import ScoredPairs
from mirrormask.evaluation.own.pairs_task import PairsTask, similarities
from mirrormask.evaluation.own.reading import load_pairs
from mirrormask.evaluation.statistics.bootstrap import on_all
from mirrormask.evaluation.sts import sts_spearman
from mirrormask.evaluation.vectors import TextVectors


def example(scores: list[float]) -> tuple[PairsTask, TextVectors]:
    left = [f"left {number}" for number in range(len(scores))]
    right = [f"right {number}" for number in range(len(scores))]
    random = np.random.default_rng(0)
    vectors = random.normal(size=(2 * len(scores), 5)).astype(np.float32)
    pairs = ScoredPairs("pairs.csv", "", tuple(left), tuple(right), np.array(scores), source="pairs.csv")
    return PairsTask(pairs), TextVectors([*left, *right], vectors)


def test_the_correlations_are_scipys() -> None:
    task, vectors = example([float(number % 6) for number in range(40)])
    found = task.statistics(vectors, seed=0)
    cosines, gold = similarities(task.pairs, vectors), task.pairs.scores
    assert on_all(found["spearman_percent"], 40) == pytest.approx(stats.spearmanr(cosines, gold).statistic)
    assert on_all(found["pearson_percent"], 40) == pytest.approx(stats.pearsonr(cosines, gold).statistic)
    assert set(task.roles()) == {""}


@pytest.mark.parametrize(
    ("scores", "positives"),
    [([0, 1, 2, 3, 4, 4.1, 5, 0, 1, 2], 2), ([0, 1] * 5, 5), ([1, 2, 3, 4, 5] * 2, 2), ([-1, 1] * 5, 5)],
)
def test_positives_are_above_four_fifths_of_the_scale(scores: list[float], positives: int) -> None:
    task, vectors = example(scores)
    left, right = task.positives(vectors)
    assert len(left) == len(right) == positives


def test_constant_scores_are_refused() -> None:
    with pytest.raises(DataError, match=r"All 12 scores of pairs.csv are 3, and nothing can be ranked"):
        example([3.0] * 12)


def test_too_few_pairs_are_refused() -> None:
    with pytest.raises(DataError, match=r"pairs.csv has 4 pairs, and at least 10 are needed"):
        example([1.0, 2.0, 3.0, 4.0])


def test_a_file_of_pairs_is_read_as_a_task_is(tmp_path: Path) -> None:
    path = tmp_path / "dev.tsv"
    path.write_text("sentence1\tsentence2\tscore\n" + "".join(f"a {row}\tb {row}\t{row}\n" for row in range(12)))
    task = load_pairs(path)
    assert (task.name, task.single, task.sentence2[3], task.scores[3]) == ("dev.tsv", True, "b 3", 3.0)
    random = np.random.default_rng(0)
    assert -100 <= sts_spearman(lambda texts: random.normal(size=(len(texts), 4)), task) <= 100
