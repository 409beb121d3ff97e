"""A sentence, itself with synonyms, and itself with antonyms: what means the same, and what looks the same.

Paper: Wang et al. 2021, "CLINE: Contrastive Learning with Semantic Negative Examples for Natural Language
    Understanding", Section 3.1

    x_syn: words with a synonym replaced by one of them;  x_ant: words replaced by their antonyms, or by random words

A word is replaced by one word, so that word k of all three sentences belong together. Without a lexicon the second
sentence is the first, and the third has random words.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mirrormask.core.batch import Ids
from mirrormask.core.encoding import Encoder
from mirrormask.core.errors import between
from mirrormask.core.seeding import generator
from mirrormask.data.pairs import Examples, Pairing, Rows, one_column, pairings
from mirrormask.data.text.corpus_folder import Corpus
from mirrormask.data.text.lexicon_words import find_lexicon, read_opposites
from mirrormask.data.text.tokens import Tokenized
from mirrormask.data.text.words import word_edges

Known = dict[bytes, list[Ids]]
"""The words that may stand for a word, all as tokens."""


@pairings.register("replaced-words")
class ReplacedWords(Pairing):
    """A sentence with synonyms as the positive, with antonyms as the hard negative. Relations: `self` replaces nothing.

    Args:
        lexicon: a file of synonyms and antonyms, a folder with WordNet's data files, or a name under `lexicon/` of
            MIRRORMASK_DATA.
        synonyms: share of the words with a synonym that are replaced.
        antonyms: share of the words with an antonym that are replaced; one at least, by a random word where none has.
    """

    def __init__(self, lexicon: str = "", synonyms: float = 0.4, antonyms: float = 0.2) -> None:
        self.lexicon = lexicon
        self.synonyms = between("synonyms", synonyms, 0, 1, of="replaced-words")
        self.antonyms = between("antonyms", antonyms, 0, 1, of="replaced-words")

    def index(self, corpus: Corpus, tokens: Tokenized, folder: Path) -> Examples:
        """Return one example a row, with three columns."""
        one_column(corpus, "replaced-words")
        same: Known = {}
        opposite: Known = {}
        if self.lexicon:
            words, against = read_opposites(find_lexicon(self.lexicon))
            same, opposite = (_as_tokens(each, tokens) for each in (words, against))
        return _Replaced(tokens, same, opposite, self.synonyms, self.antonyms)


def _as_tokens(words: dict[str, list[str]], tokens: Tokenized) -> Known:
    """Return the same words as tokens; those with tokens that are unknown, or of several words, are left out."""
    every = list(dict.fromkeys([*words, *(other for each in words.values() for other in each)]))
    bare = Encoder(tokens.tokenizer, enough=1 << 62)
    rows = [np.frombuffer(row, dtype=bare.dtype).astype(np.int64) for row in bare(every)]
    unknown = tokens.tokenizer.unk_token_id
    whole: dict[str, Ids] = {
        word: ids
        for word, ids in zip(every, rows, strict=True)
        if len(ids) and unknown not in ids and not tokens.starts[ids[1:]].any()
    }
    found: Known = {
        whole[word].tobytes(): [whole[other] for other in others if other in whole]
        for word, others in words.items()
        if word in whole
    }
    return {word: others for word, others in found.items() if others}


class _Replaced(Examples):
    """Rows whose words are replaced anew in every epoch."""

    def __init__(self, tokens: Tokenized, same: Known, opposite: Known, synonyms: float, antonyms: float) -> None:
        self._tokens = tokens
        self._same, self._opposite = same, opposite
        self._synonyms, self._antonyms = synonyms, antonyms

    def __len__(self) -> int:
        return len(self._tokens)

    def columns(self, examples: Rows, seed: int) -> tuple[list[Ids], ...]:
        """Return the sentences, those with synonyms and those with antonyms."""
        texts: list[Ids] = [ids.astype(np.int64) for ids in self._tokens.take(examples.tolist())]
        same: list[Ids] = []
        against: list[Ids] = []
        for row, ids in zip(examples.tolist(), texts, strict=True):
            rng = generator(seed, "replaced-words", row)
            words: list[Ids] = list(np.split(ids, word_edges(ids, self._tokens.starts)[1:-1]))
            same.append(_with(words, self._same, self._synonyms, rng))
            against.append(_with(words, self._opposite, self._antonyms, rng, least=1))
            if np.array_equal(against[-1], ids):  # no word has an antonym
                place = int(rng.integers(len(words)))
                against[-1] = np.concatenate([*words[:place], self._random(words[place], rng), *words[place + 1 :]])
        return texts, same, against

    def _random(self, word: Ids, rng: np.random.Generator) -> Ids:
        """Return a word of another text, or a token where all texts have but this word."""
        for _ in range(20):
            (ids,) = self._tokens.take([int(rng.integers(len(self._tokens)))])
            words = np.split(ids.astype(np.int64), word_edges(ids, self._tokens.starts)[1:-1])
            other = words[int(rng.integers(len(words)))]
            if not np.array_equal(other, word):
                return other
        return word


def _with(words: list[Ids], known: Known, share: float, rng: np.random.Generator, least: int = 0) -> Ids:
    """Return the words with some of them replaced.

    Args:
        words: of a text.
        known: what may stand for a word.
        share: of the words that something may stand for.
        rng: where the choice comes from.
        least: how many are replaced, if so many can be.
    """
    able = [place for place, word in enumerate(words) if word.tobytes() in known]
    chosen = [place for place in able if rng.random() < share]
    if len(chosen) < least and able:
        chosen = [able[int(rng.integers(len(able)))]]
    found = list(words)
    for place in chosen:
        others = known[words[place].tobytes()]
        found[place] = others[int(rng.integers(len(others)))]
    return np.concatenate(found)
