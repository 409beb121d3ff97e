"""Words: do cosines of single words rank their pairs as people do?

Paper: Liu et al. 2021, "Mirror-BERT", Section 3 (word similarity); Faruqui and Dyer 2014, "Community Evaluation and
    Exchange of Word Vectors at wordvectors.org" (the collections)

A word is encoded alone, as a text of one word; Spearman's correlation of the cosines with the scores is reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from mirrormask.data.tasks.scored_pairs import ScoredPairs
from mirrormask.data.tasks.word_pairs import WORD_TASKS, load_words
from mirrormask.evaluation.own.pairs_task import similarities
from mirrormask.evaluation.statistics.resamples import Statistic, spearman_of
from mirrormask.evaluation.suites import Suite, SuiteTask, suites
from mirrormask.evaluation.vectors import TextVectors


@suites.register("words")
class Words(Suite):
    """Rank pairs of words by their cosines: SimLex-999, SimVerb-3500, RW, MEN, WordSim-353, RG-65 and seven more."""

    title = "Words"
    unit = "pairs"
    primary = "spearman_percent"
    meaning = (
        "How well cosines of single words rank pairs of them as people do. SimLex-999 and SimVerb-3500 ask whether two "
        "words mean the same, WS-353 and MEN also whether they belong together."
    )
    tasks: ClassVar[Mapping[str, str]] = {name: where.title for name, where in WORD_TASKS.items()}

    def load(self, name: str) -> SuiteTask:
        """Read one task."""
        return WordsTask(load_words(name))


class WordsTask(SuiteTask):
    """Pairs of words, read.

    Args:
        pairs: with their scores.
    """

    def __init__(self, pairs: ScoredPairs) -> None:
        super().__init__(pairs.name, WORD_TASKS[pairs.name].title, len(pairs), pairs.source, pairs.note)
        self.pairs = pairs

    def texts(self) -> Iterable[str]:
        """Return every word."""
        yield from self.pairs.sentence1
        yield from self.pairs.sentence2

    def statistics(self, vectors: TextVectors, *, seed: int) -> dict[str, Statistic]:
        """Return Spearman's correlation of the cosines with the scores."""
        return {"spearman_percent": spearman_of(similarities(self.pairs, vectors), self.pairs.scores)}
