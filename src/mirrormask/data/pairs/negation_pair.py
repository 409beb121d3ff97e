"""A sentence, itself, and its negation: a pair, and what is close in its words and not in what it says.

Paper: Wang et al. 2022, "SNCSE: Contrastive Learning for Unsupervised Sentence Embedding with Soft Negative Samples"
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mirrormask.core.batch import Ids
from mirrormask.core.encoding import Encoder
from mirrormask.data.pairs import Examples, Pairing, Rows, one_column, pairings
from mirrormask.data.text.corpus_folder import Corpus
from mirrormask.data.text.negation import negated
from mirrormask.data.text.tokens import Tokenized
from mirrormask.data.text.word_tags import WordTagger


@pairings.register("negation")
class NegationPair(Pairing):
    """Each English sentence with itself, and its negation as a third column. Relations: `self` has no third column."""

    def index(self, corpus: Corpus, tokens: Tokenized, folder: Path) -> Examples:
        """Return one example a row, with three columns."""
        one_column(corpus, "negation")
        return _Negations(corpus, tokens)


class _Negations(Examples):
    """Rows whose negations are made when they are asked for.

    Args:
        corpus: the sentences.
        tokens: their tokens.
    """

    def __init__(self, corpus: Corpus, tokens: Tokenized) -> None:
        self._corpus, self._tokens = corpus, tokens
        self._tagger, self._bare = WordTagger(), Encoder(tokens.tokenizer, enough=1 << 62)

    def __len__(self) -> int:
        return len(self._tokens)

    def columns(self, examples: Rows, seed: int) -> tuple[list[Ids], ...]:
        """Return each sentence twice, and its negation."""
        rows = self._tokens.take(examples.tolist())
        texts = [negated(str(self._corpus[row]), self._tagger) for row in examples.tolist()]
        turned = [np.frombuffer(ids, dtype=self._bare.dtype).astype(np.int64) for ids in self._bare(texts)]
        return rows, rows, [ids[: self._tokens.max_tokens] for ids in turned]
