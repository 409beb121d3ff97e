"""A WordPiece tokenizer learned from the text: BERT's rules, the text's own words.

Paper: Devlin et al. 2019, "BERT", Section 3; the pieces are merged by frequency, as in byte-pair encoding.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mirrormask.core.errors import DataError, ModelError, at_least
from mirrormask.data.text.sentences import is_cjk
from mirrormask.models.loading import check_tokenizer, opening
from mirrormask.models.names import resolve

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")

FEWEST = 64
"""The smallest vocabulary that makes sense: the special tokens and the letters."""


def train_tokenizer(
    texts: Iterable[str], *, vocabulary: int = 16_384, cased: bool = False, longest: int = 512, alphabet: int = 0
) -> Any:
    """Learn a WordPiece vocabulary and return it as a `BertTokenizer`; the same text gives the same one.

    Chinese and Japanese characters stand alone, as BERT has them, so a Chinese vocabulary is one of characters.

    Args:
        texts: the text, gone through twice.
        vocabulary: how many pieces, the five special tokens included.
        cased: keep capitals and accents.
        longest: the most tokens the model reads.
        alphabet: how many single characters get a piece of their own, the most frequent first; others become
            [UNK]. 0 decides by the script: one piece in sixteen, or seven in eight where characters are words.

    Example:
        >>> tokenizer = train_tokenizer(["the cat sat on the mat", "the hat"] * 3, vocabulary=64)
        >>> tokenizer.tokenize("The cat!")
        ['the', 'cat', '[UNK]']
    """
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    at_least("vocabulary", vocabulary, FEWEST, of="the tokenizer")
    learner = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    learner.normalizer = normalizers.BertNormalizer(lowercase=not cased, strip_accents=not cased)
    learner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    letters = _letters(texts, learner.normalizer)
    if not letters:
        raise DataError("There is no text to learn a tokenizer from. Give a corpus with words in it.")
    kept = sorted(sorted(letters, key=lambda c: (-letters[c], c))[: alphabet or _alphabet(letters, vocabulary)])
    # the trainer numbers what it meets in an order that differs from run to run, and breaks ties by these numbers:
    # with every character numbered beforehand, ties and so the vocabulary are always the same
    numbered = [*SPECIAL, *kept, *(f"##{c}" for c in kept if _continues(c, learner))]
    trainer = trainers.WordPieceTrainer(
        vocab_size=max(vocabulary, len(numbered)),
        min_frequency=2,
        limit_alphabet=0,
        special_tokens=numbered,
        show_progress=False,
    )
    learner.train_from_iterator(texts, trainer)
    return as_bert(learner.get_vocab(), cased=cased, longest=longest)


def load_tokenizer(name: str) -> Any:
    """Return the tokenizer of a model or folder, which must have what masks and rows need.

    Raises:
        ModelError: there is none, or it lacks a special token.
    """
    from transformers import AutoTokenizer

    folder = resolve(name) if not (Path(name) / "tokenizer.json").is_file() else name
    with opening(name, folder):
        tokenizer = AutoTokenizer.from_pretrained(folder)
        check_tokenizer(tokenizer, folder)
    for kind in ("mask", "sep", "pad"):
        if getattr(tokenizer, f"{kind}_token") is None:
            raise ModelError(f"The tokenizer of {name} has no {kind} token. Name one of a masked language model.")
    return tokenizer


def as_bert(pieces: dict[str, int], *, cased: bool, longest: int) -> Any:
    """Return a `BertTokenizer` with these pieces, which every version of transformers can load."""
    from transformers import BertTokenizer

    return BertTokenizer(
        vocab=pieces,
        do_lower_case=not cased,
        strip_accents=not cased,
        tokenize_chinese_chars=True,
        model_max_length=longest,
    )


def _letters(texts: Iterable[str], normalizer: Any) -> Counter[str]:
    """Return how often each character occurs once the text is normalized."""
    counts = np.zeros(0x110000, dtype=np.int64)
    for block in _blocks(texts, 4096):
        codes = np.frombuffer("".join(block).encode("utf-32-le", "replace"), dtype=np.uint32)
        found, times = np.unique(codes, return_counts=True)
        counts[found] += times
    letters: Counter[str] = Counter()
    for code in np.flatnonzero(counts).tolist():
        for letter in normalizer.normalize_str(chr(code)):
            if not letter.isspace():
                letters[letter] += int(counts[code])
    return letters


def _blocks(texts: Iterable[str], size: int) -> Iterator[list[str]]:
    stream = iter(texts)
    while block := list(itertools.islice(stream, size)):
        yield block


def _alphabet(letters: Counter[str], vocabulary: int) -> int:
    """Return how many characters deserve a piece: most of the vocabulary where characters are words."""
    words = sum(count for letter, count in letters.items() if is_cjk(letter))
    return vocabulary * 7 // 8 if 5 * words >= letters.total() else max(48, vocabulary // 16)


def _continues(letter: str, learner: Any) -> bool:
    """Say whether a character can stand inside a word, not only alone."""
    text = learner.normalizer.normalize_str(f"a{letter}a")
    return len(learner.pre_tokenizer.pre_tokenize_str(text)) == 1
