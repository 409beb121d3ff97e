"""A small supervised parser on frozen states: the trees a parser provides, where none is at hand.

Paper: Dozat and Manning 2017, "Deep Biaffine Attention for Neural Dependency Parsing", arcs only

It is trained on a treebank with labels, so it is no probe of what a model knows by itself; it stands where published
tables have a parser's trees.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from mirrormask.core.seeding import derive
from mirrormask.data.tasks.dependencies import ROOT
from mirrormask.probing.decoders import Heads, eisner
from mirrormask.probing.frozen_training import padded_states, train_frozen

States = NDArray[np.float32]


class TreebankParser(nn.Module):
    """Scores of arcs between words, from their states.

    Args:
        width: of the states.
        hidden: of the two views of a word, as a dependent and as a head.
        dropout: on the states and on both views.
    """

    def __init__(self, width: int, *, hidden: int = 128, dropout: float = 0.3) -> None:
        super().__init__()
        self.dropout = dropout
        self.context = nn.Conv1d(width, 2 * hidden, 3, padding=1)
        self.dependent = nn.Linear(width + 2 * hidden, hidden)
        self.head = nn.Linear(width + 2 * hidden, hidden)
        self.between = nn.Parameter(torch.zeros(hidden, hidden))
        self.bias = nn.Linear(hidden, 1)
        self.root = nn.Parameter(torch.zeros(hidden))

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return the score of every head of every word (b, n, n + 1), the root first."""
        states = F.dropout(states, self.dropout, self.training)
        near = torch.relu(self.context(states.transpose(1, 2)).transpose(1, 2))
        seen = torch.cat([states, near], dim=-1)
        dependent = F.dropout(torch.relu(self.dependent(seen)), self.dropout, self.training)
        head = F.dropout(torch.relu(self.head(seen)), self.dropout, self.training)
        head = torch.cat([self.root.expand(len(head), 1, -1), head], dim=1)
        scores = dependent @ self.between @ head.transpose(1, 2) + self.bias(head).transpose(1, 2)
        there = torch.cat([torch.ones_like(mask[:, :1]), mask], dim=1)
        return scores.masked_fill(there[:, None, :] == 0, -1e4)

    @torch.inference_mode()
    def parse(self, states: States) -> Heads:
        """Return the projective tree of a sentence, with one root."""
        self.eval()
        words = torch.from_numpy(states)[None]
        scores = self(words, torch.ones(1, words.shape[1])).log_softmax(-1)[0].double().numpy()
        return eisner(scores[:, 1:], root_scores=scores[:, 0])


class _Arcs(nn.Module):
    """The loss: every word chooses its head."""

    def __init__(self, parser: TreebankParser, states: Sequence[States], heads: Sequence[Heads]) -> None:
        super().__init__()
        self.parser, self._states, self._heads = parser, states, heads

    def forward(self, numbers: Tensor, seed: int) -> Tensor:
        rows = numbers.tolist()
        states, mask = padded_states(self._states, rows)
        gold = torch.full(mask.shape, -100, dtype=torch.long)
        for place, row in enumerate(rows):
            gold[place, : len(self._heads[row])] = torch.from_numpy(self._heads[row] + 1)  # the root is 0
        device = self.parser.between.device
        scores = self.parser(states.to(device), mask.to(device))
        return F.cross_entropy(scores.flatten(0, 1), gold.to(device).flatten(), ignore_index=-100)


def train_parser(
    states: Sequence[States], heads: Sequence[Heads], *, epochs: float = 10.0, seed: int = 42
) -> TreebankParser:
    """Return a parser trained on sentences whose heads are known.

    Args:
        states: of the words of each sentence (n, d), as `word_states` gives them.
        heads: the gold heads of each.
        epochs: passes over them.
        seed: of weights, order and dropout.
    """
    torch.manual_seed(derive(seed, "parser") % 2**63)
    parser = TreebankParser(states[0].shape[1])
    nn.init.xavier_uniform_(parser.between)
    nn.init.normal_(parser.root, std=0.1)
    task = _Arcs(parser, states, heads)
    train_frozen(task, len(states), epochs=epochs, batch_size=32, learning_rate=1e-3, weight_decay=0.01, seed=seed)
    return parser.cpu().eval()


def accuracy(parser: TreebankParser, states: Sequence[States], heads: Sequence[Heads]) -> float:
    """Return the share of words that get their gold head, in percent."""
    right = [int((parser.parse(each) == gold).sum()) for each, gold in zip(states, heads, strict=True)]
    total = sum(map(len, heads))
    assert ROOT == -1  # the root's place in the scores relies on it
    return 100 * sum(right) / max(total, 1)
