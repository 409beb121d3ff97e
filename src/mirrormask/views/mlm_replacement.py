"""MLM replacement: some words are masked and a masked language model puts others there.

Paper: Gao et al. 2021, "SimCSE: Simple Contrastive Learning of Sentence Embeddings", Table 1, "MLM k = 15 %"

    x'_t ~ p_LM(. | x with its chosen positions masked) at the chosen positions t, else x_t

The language model is the one the encoder starts from and stays as it was.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mirrormask.core.batch import Tokens
from mirrormask.core.errors import MirrormaskError, between
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.views import View, Vocabulary, views

Places = NDArray[np.int64]


def choose_positions(rows: Tokens, vocabulary: Vocabulary, rate: float, rng: np.random.Generator) -> list[Places]:
    """Return, for each row, the positions of its text that are chosen, each with chance `rate`."""
    before, after = len(vocabulary.frame.prefix), len(vocabulary.frame.suffix)
    found: list[Places] = []
    for row in rows.rows:
        chosen = rng.random(len(row)) < rate
        chosen[:before] = False
        chosen[len(row) - after :] = False
        found.append(np.flatnonzero(chosen).astype(np.int64))
    return found


def draw_tokens(scores: Tensor, barred: frozenset[int], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return one token id per row of scores (m, vocabulary), drawn by softmax, never one of `barred`."""
    scores = scores.float().clone()
    scores[:, sorted(barred)] = -torch.inf
    chance = torch.Generator(scores.device).manual_seed(int(rng.integers(2**62)))
    drawn: NDArray[np.int64] = torch.multinomial(scores.softmax(-1), 1, generator=chance)[:, 0].cpu().numpy()
    return drawn


@views.register("mlm-replacement")
class MLMReplacement(View):
    """Let a masked language model replace some tokens.

    Args:
        rate: chance of a token to be replaced (Table 1 takes 0.15).

    Relations: `word-deletion` leaves the words out; the objective `masked-lm` trains on the masks instead.

    Example:
        >>> MLMReplacement().rate
        0.15
    """

    def __init__(self, rate: float = 0.15) -> None:
        super().__init__()
        self.rate = between("rate", rate, 0, 1, of="mlm-replacement")
        self._lm: MaskedLM | None = None

    def attach(self, encoder: Any, head: nn.Module | None) -> None:
        """Load the masked language model that the encoder starts from."""
        source = getattr(encoder, "mirrormask_source", None)
        if source is None or encoder.tokenizer.mask_token_id is None:
            raise MirrormaskError("The view mlm-replacement needs an encoder built from a masked language model.")
        lm = MaskedLM.load(source, device=str(next(encoder.parameters()).device)).requires_grad_(False)
        object.__setattr__(self, "_lm", lm)  # not a submodule: it never changes, so checkpoints need not hold it

    @torch.no_grad()
    def rewrite(self, rows: Tokens, rng: np.random.Generator, vocabulary: Vocabulary) -> Tokens:
        """Return the rows with tokens replaced; special tokens and prompts stay."""
        places = choose_positions(rows, vocabulary, self.rate, rng)
        if self._lm is None or not any(len(each) for each in places):
            return rows
        masked = [row.astype(np.int64) for row in rows.rows]  # astype copies
        for row, chosen in zip(masked, places, strict=True):
            row[chosen] = self._lm.tokenizer.mask_token_id
        drawn = draw_tokens(self._lm.logits(Tokens.of(masked), places), vocabulary.special_ids, rng)
        ends = np.cumsum([len(each) for each in places])[:-1]
        for row, chosen, words in zip(masked, places, np.split(drawn, ends), strict=True):
            row[chosen] = words
        return Tokens.of(masked)
