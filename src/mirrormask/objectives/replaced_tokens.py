"""Replaced token detection under a condition: the sentence vector must help to see what was changed in the sentence.

Paper: Chuang et al. 2022, "DiffCSE: Difference-based Contrastive Learning for Sentence Embeddings", Eq. 2

    x' = x with some tokens masked,  x'' = argmax of a fixed masked LM at the masks,
    loss = mean over tokens t of  -log p_D(x''_t = x_t | x'', h)  where it is, -log(1 - p_D) where it is not

The discriminator D is a transformer of its own, a copy of the encoder's at the start, and is trained. It reads x'' with
the sentence vector h, as it is scored, in place of its first token's embedding, and the gradient flows into h. In the
published code the generator changes every token and not only the masked ones, both views of a sentence are
conditions, and padding counts in the mean. `faithful` does the first two.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from mirrormask.core.batch import Batch, Tokens
from mirrormask.core.errors import MirrormaskError, above, between
from mirrormask.core.framing import frame_of
from mirrormask.core.transfer import to_device
from mirrormask.models.copies import copy_of
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.objectives import Ask, Objective, objectives

Places = NDArray[np.int64]


@torch.no_grad()
def replaced(generator: MaskedLM, rows: Tokens, masked: list[Places], filled: list[Places]) -> Tokens:
    """Return the rows as a masked LM fills them, with its likeliest token that is no special one.

    Args:
        generator: the masked LM.
        rows: with their special tokens.
        masked: for each row, what the masked LM does not see.
        filled: for each row, where its guess is taken.
    """
    hidden = [row.astype(np.int64) for row in rows.rows]
    for row, places in zip(hidden, masked, strict=True):
        row[places] = generator.tokenizer.mask_token_id
    scores = generator.logits(Tokens.of(hidden), filled)
    scores[:, sorted(generator.tokenizer.all_special_ids)] = -torch.inf
    guesses = np.split(scores.argmax(dim=-1).cpu().numpy(), np.cumsum([len(places) for places in filled])[:-1])
    found = [row.astype(np.int64) for row in rows.rows]
    for row, places, guess in zip(found, filled, guesses, strict=True):
        row[places] = guess
    return Tokens.of(found)


@objectives.register("replaced-tokens")
class ReplacedTokens(Objective):
    """Tell which tokens a masked LM has replaced, with the help of the sentence vector.

    Args:
        rate: chance of a token to be masked (DiffCSE takes 0.3).
        generator: the masked LM that fills the masks, by name, with the same tokens; empty takes the one that the
            encoder starts from. The paper's is smaller than the encoder.
        faithful: take the generator's guess for every token, and both views as conditions, as the published code does.

    Relations: DiffCSE adds it to `info-nce` with a weight of 0.005. `masked-lm` guesses the tokens themselves.

    Example:
        >>> ReplacedTokens().needs_encoder
        True
    """

    needs_encoder = True

    def __init__(self, rate: float = 0.3, generator: str = "", faithful: bool = False) -> None:
        super().__init__()
        self.rate = between("rate", above("rate", rate, 0, of="replaced-tokens"), 0, 1, of="replaced-tokens")
        self.generator = generator
        self.faithful = faithful
        self.discriminator: nn.Module | None = None
        self._generator: tuple[MaskedLM, ...] = ()  # in a tuple, so that it is neither trained nor saved

    def attach(self, encoder: Any) -> None:
        """Load the generator, and make a discriminator of the encoder as it is now."""
        source = self.generator or getattr(encoder, "mirrormask_source", None)
        if source is None:
            raise MirrormaskError("The objective replaced-tokens needs a masked LM. Name one as its 'generator'.")
        generator = MaskedLM.load(source, device=str(next(encoder.parameters()).device)).requires_grad_(False)
        if generator.tokenizer.get_vocab() != encoder.tokenizer.get_vocab():
            raise MirrormaskError(
                f"The 'generator' of replaced-tokens, {self.generator}, has other tokens than the encoder. Name a "
                "masked LM with the same tokenizer."
            )
        width = int(encoder[0].model.config.hidden_size)
        if encoder.get_embedding_dimension() != width:
            raise MirrormaskError(
                f"The objective replaced-tokens puts sentence vectors among token embeddings of {width} numbers, and "
                f"they have {encoder.get_embedding_dimension()}. Take another pooling."
            )
        self._generator = (generator,)
        self._frame = getattr(encoder[0], "frame", None) or frame_of(encoder.tokenizer)
        network = nn.Sequential(copy_of(encoder[0]).requires_grad_(True))
        network.max_seq_length = encoder.max_seq_length
        self.discriminator = network
        self.tell = nn.Linear(width, 2).to(next(encoder.parameters()))

    def ask(self, batch: Batch) -> Ask:
        """Return the rows with tokens replaced, where the discriminator shall look, and which of them are others."""
        if not self._generator:
            raise MirrormaskError("The objective replaced-tokens reads tokens, and must be attached to an encoder.")
        rows, given = batch.columns[0], (0, 1) if self.faithful else (0,)
        if self.faithful:
            rows = rows + batch.columns[min(1, len(batch.columns) - 1)]
        before, after = len(self._frame.prefix), len(self._frame.suffix)
        chance = np.random.default_rng(int(torch.randint(2**62, ())))
        text = [np.arange(before, max(before, length - after)) for length in rows.lengths]
        masked = [places[chance.random(len(places)) < self.rate] for places in text]
        changed = replaced(self._generator[0], rows, masked, text if self.faithful else masked)
        positions = tuple(np.arange(1, length) for length in rows.lengths)
        others = [new[1:] != old[1:] for new, old in zip(changed.rows, rows.rows, strict=True)]
        answers = torch.from_numpy(np.concatenate(others).astype(np.int64))
        return Ask(changed, positions, answers, network=self.discriminator, given=given)

    def answered(self, ask: Ask, states: Tensor) -> Tensor:
        """Return the mean loss over the tokens."""
        return F.cross_entropy(self.tell(states), to_device(ask.answers, states.device))
