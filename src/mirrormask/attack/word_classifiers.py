"""Small classifiers over words: a bidirectional LSTM, and convolutions of three, four and five words.

Paper: Kim 2014, "Convolutional Neural Networks for Sentence Classification"; the LSTM is TextFooler's baseline victim.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from mirrormask.core.batch import Tokens
from mirrormask.core.errors import one_of
from mirrormask.core.shards import length_shards
from mirrormask.core.storage import read_json, write_json
from mirrormask.models.model_files import readable

WORDS, WEIGHTS = "word_classifier.json", "word_classifier.safetensors"
"""The files of a saved classifier."""

WORD_KINDS = ("word-lstm", "word-cnn")
PAD, UNKNOWN = 0, 1
_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|[^\w\s]")
_MOST_WORDS = 20_000
_LONGEST = 400  # words that are read
_HIDDEN = 150  # of the LSTM, in each direction
_FILTERS, _WIDTHS = 100, (3, 4, 5)
_BUDGET = 16_384  # words of a forward on a CPU; a GPU takes many times more


def tokens_of(text: str) -> list[str]:
    """Return the words and marks of a text, in small letters.

    Example:
        >>> tokens_of("It's good, really!")
        ["it's", 'good', ',', 'really', '!']
    """
    return _TOKEN.findall(text.lower())


def vocabulary_of(texts: Sequence[str]) -> list[str]:
    """Return the frequent words of the texts that occur twice or more, frequent ones first."""
    counts = Counter(word for text in texts for word in tokens_of(text))
    return [word for word, count in counts.most_common(_MOST_WORDS) if count > 1]


class WordClassifier(nn.Module):
    """A classifier over words.

    Args:
        kind: `word-lstm` or `word-cnn`.
        vocabulary: the words it knows; all others are one.
        labels: the names of its classes.
        width: of the word vectors.
        dropout: of word vectors and of what the classes are told from.
    """

    def __init__(
        self, kind: str, vocabulary: Sequence[str], labels: Sequence[str], *, width: int = 300, dropout: float = 0.4
    ) -> None:
        super().__init__()
        self.kind = one_of("kind", kind, WORD_KINDS, of="a word classifier")
        self.vocabulary, self.labels, self.width = list(vocabulary), tuple(labels), width
        self._ids = {word: number + 2 for number, word in enumerate(self.vocabulary)}
        self.table = nn.Embedding(len(self.vocabulary) + 2, width, padding_idx=PAD)
        self.dropout = nn.Dropout(dropout)
        if kind == "word-lstm":
            self.lstm = nn.LSTM(width, _HIDDEN, batch_first=True, bidirectional=True)
        else:
            self.filters = nn.ModuleList(nn.Conv1d(width, _FILTERS, each) for each in _WIDTHS)
        self.top = nn.Linear(4 * _HIDDEN if kind == "word-lstm" else _FILTERS * len(_WIDTHS), len(self.labels))

    def rows(self, texts: Sequence[str]) -> Tokens:
        """Return the word numbers of the texts; one without words is a single unknown word."""
        found = ([self._ids.get(word, UNKNOWN) for word in tokens_of(text)[:_LONGEST]] for text in texts)
        return Tokens.of([np.array(row or [UNKNOWN], dtype=np.int64) for row in found])

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return the logits of the classes (n, classes)."""
        words = self.dropout(self.table(ids))
        found = self._lstm(words, mask) if self.kind == "word-lstm" else self._cnn(words, mask)
        out: Tensor = self.top(self.dropout(found))
        return out

    def _lstm(self, words: Tensor, mask: Tensor) -> Tensor:
        """Return the mean and the largest of the states over a text's words (n, 4 hidden)."""
        lengths = mask.sum(1)
        packed = pack_padded_sequence(words, lengths.cpu(), batch_first=True, enforce_sorted=False)
        states, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=mask.shape[1])
        there = mask[:, :, None].bool()
        mean = states.masked_fill(~there, 0.0).sum(1) / lengths[:, None]
        return torch.cat([mean, states.masked_fill(~there, -1e9).amax(1)], dim=1)

    def _cnn(self, words: Tensor, mask: Tensor) -> Tensor:
        """Return the strongest answer of each filter (n, filters); padding to the widest filter is the same for all."""
        words = (words * mask[:, :, None]).transpose(1, 2)
        words = nn.functional.pad(words, (max(_WIDTHS) - 1, max(_WIDTHS) - 1))
        lengths = mask.sum(1)
        found = []
        for width, each in zip(_WIDTHS, self.filters, strict=True):
            answers = each(words).relu()  # (n, filters, places)
            last = lengths + 2 * (max(_WIDTHS) - 1) - width  # beyond it there is padding that depends on the batch
            beyond = torch.arange(answers.shape[2], device=answers.device)[None, :] > last[:, None]
            found.append(answers.masked_fill(beyond[:, None, :], 0.0).amax(2))
        return torch.cat(found, dim=1)

    @torch.inference_mode()
    def probabilities(self, texts: list[str]) -> NDArray[np.float32]:
        """Return the probabilities of the texts (n, classes)."""
        tokens, device = self.rows(texts), self.table.weight.device
        out = np.empty((len(texts), len(self.labels)), dtype=np.float32)
        budget = _BUDGET if device.type == "cpu" else 64 * _BUDGET
        for shard in length_shards(tokens.lengths, budget, tolerance=0.3):
            ids, mask = (each.to(device) for each in tokens.padded(PAD, shard))
            out[shard] = self(ids, mask).float().softmax(-1).cpu().numpy()
        return out

    def save(self, folder: Path) -> None:
        """Write the classifier into a folder."""
        save_file({name: value.cpu().contiguous() for name, value in self.state_dict().items()}, folder / WEIGHTS)
        facts: dict[str, Any] = {"kind": self.kind, "labels": self.labels, "width": self.width}
        write_json(folder / WORDS, {**facts, "vocabulary": self.vocabulary})

    @classmethod
    def load(cls, folder: Path) -> WordClassifier:
        """Read a classifier that `save` wrote."""
        with readable(folder):
            facts = read_json(folder / WORDS)
            model = cls(facts["kind"], facts["vocabulary"], facts["labels"], width=facts["width"])
            model.load_state_dict(load_file(folder / WEIGHTS))
        return model.to("cuda" if torch.cuda.is_available() else "cpu").eval()
