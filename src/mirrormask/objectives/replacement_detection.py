"""Replacement detection: which tokens of a sentence stand for others.

Paper: Wang et al. 2021, "CLINE: Contrastive Learning with Semantic Negative Examples for Natural Language
    Understanding", Section 3.2, the loss L_RTD

    loss = mean over tokens t of x_syn and x_ant of -log p(y_t | x),  y_t whether the word of t was replaced

The positive and the hard negatives of a row are its anchor with words replaced, one word for one. The head is the
published one: linear, GELU, layer norm, linear. It is trained and not kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from mirrormask.core.batch import Batch, Ids
from mirrormask.core.errors import MirrormaskError
from mirrormask.core.framing import frame_of
from mirrormask.core.transfer import at_least_float32, to_device
from mirrormask.data.text.vocabulary import word_starts
from mirrormask.data.text.words import word_edges
from mirrormask.objectives import Ask, Objective, Seen, objectives


def replaced_words(ids: Ids, other: Ids, starts: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return places of tokens of `other`, and whether the word of each is another than in `ids`.

    Args:
        ids, other: two texts, word for word. Where they have not the same number of words one of them was cut: the
            words from the last that both have on are left out.
        starts: for every id of the vocabulary, whether it begins a word.
    """
    one, two = (word_edges(each, starts) for each in (ids, other))
    count = len(one) - 1 if len(one) == len(two) else min(len(one), len(two)) - 2
    there, changed = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for word in range(count):
        mine, theirs = ids[one[word] : one[word + 1]], other[two[word] : two[word + 1]]
        there.append(np.arange(two[word], two[word + 1]))
        changed.append(np.full(len(theirs), int(not np.array_equal(mine, theirs)), dtype=np.int64))
    return np.concatenate(there), np.concatenate(changed)


@objectives.register("replacement-detection")
class ReplacementDetection(Objective):
    """Tell which tokens of the positive and the hard negatives were put in the place of the anchor's.

    Relations: `replaced-tokens` has the replacements made by a masked LM and sees them with the help of the sentence
        vector. The pairing `replaced-words` gives such rows. It runs no forward of its own.

    Example:
        >>> ReplacementDetection().reads_views
        True
    """

    needs_encoder = True
    reads_views = True

    def __init__(self) -> None:
        super().__init__()
        self.head: nn.Module | None = None

    def attach(self, encoder: Any) -> None:
        """Make the head."""
        width = encoder[0].model.config.hidden_size
        self.head = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width), nn.Linear(width, 2))
        self._frame = getattr(encoder[0], "frame", None) or frame_of(encoder.tokenizer)
        self._starts = word_starts(encoder.tokenizer)

    def show(self, batch: Batch) -> dict[int, Ask]:
        """Return the columns after the first as they are, and the places of their words."""
        if self.head is None:
            raise MirrormaskError("The objective replacement-detection must be attached to an encoder first.")
        before, after = len(self._frame.prefix), len(self._frame.suffix)
        columns = batch.columns if len(batch.columns) > 1 else batch.columns * 2
        shown = {}
        for role, column in enumerate(columns[1:], 1):
            places, answers = [], []
            for mine, theirs in zip(columns[0].rows, column.rows, strict=True):
                one, other = (each[before : len(each) - after] for each in (mine, theirs))
                there, changed = replaced_words(one, other, self._starts)
                places.append(there + before)
                answers.append(changed)
            shown[role] = Ask(column, tuple(places), torch.from_numpy(np.concatenate(answers)))
        return shown

    def saw(self, shown: dict[int, Ask], seen: dict[int, Seen]) -> Tensor:
        """Return the mean loss over all tokens of all roles."""
        assert self.head is not None
        states = torch.cat([seen[role].states for role in shown])
        answers = to_device(torch.cat([ask.answers for ask in shown.values()]), states.device)
        scores = at_least_float32(self.head(states))
        return F.cross_entropy(scores, answers, reduction="sum") / max(1, len(answers))
