"""The masked language model: states and logits, only at the positions asked for."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers import AutoTokenizer
from transformers.modeling_outputs import BaseModelOutput

from mirrormask.core.batch import Tokens
from mirrormask.core.errors import MirrormaskError, ModelError, between
from mirrormask.core.shards import length_shards
from mirrormask.models.bulk import token_budget
from mirrormask.models.embeddings import word_table
from mirrormask.models.lm_head import is_tied, load_masked_lm
from mirrormask.models.loading import check_numbers, check_tokenizer, opening
from mirrormask.models.names import DEFAULT_MODEL, resolve
from mirrormask.models.precision import best_precision, varied_shapes


class MaskedLM(nn.Module):
    """An `AutoModelForMaskedLM` that runs its head only where it is asked.

    Args:
        model: a Hugging Face masked LM.
        tokenizer: its tokenizer.

    Example:
        >>> lm = MaskedLM.load("mini")  # doctest: +SKIP
        >>> lm.fill("The capital of France is [MASK].", top=5)  # doctest: +SKIP
    """

    def __init__(self, model: Any, tokenizer: Any) -> None:
        super().__init__()
        self.model = model
        self.tokenizer = tokenizer
        if tokenizer.mask_token_id is None:
            raise ModelError("This tokenizer has no mask token. Name a masked language model.")
        # a copy that shares every weight but takes its states as given: any architecture's own head code runs on them
        head = copy.copy(model)
        head._modules = dict(model._modules)
        head._modules[model.base_model_prefix] = _Given()
        self._head = (head,)  # in a tuple, so that the shared weights are not registered twice

    @classmethod
    def load(cls, name: str | Path = DEFAULT_MODEL, *, device: str | None = None) -> MaskedLM:
        """Load a masked LM by name or folder; an encoder trained from one still has its head."""
        folder = resolve(name)
        with opening(name, folder):
            model, tokenizer = load_masked_lm(folder), AutoTokenizer.from_pretrained(folder)
            check_tokenizer(tokenizer, folder, model)
            check_numbers(model, folder)
            lm = cls(model, tokenizer).to(device or ("cuda" if torch.cuda.is_available() else "cpu")).eval()
            with torch.inference_mode():  # what does not fit together is said now, not in the middle of the work
                lm.logits(Tokens.of([np.asarray(tokenizer("a")["input_ids"], dtype=np.int64)]), [np.zeros(1, np.int64)])
        return lm

    @property
    def device(self) -> torch.device:
        """Return where the weights are."""
        return next(self.model.parameters()).device

    @property
    def layers(self) -> int:
        """Return the number of encoder layers."""
        return int(self.model.config.num_hidden_layers)

    def states(
        self, tokens: Tokens, positions: Sequence[NDArray[np.int64]], *, layer: int = -1, precision: str = "fp32"
    ) -> Tensor:
        """Return the states of `layer` at the asked positions of each row, end to end (total, d).

        Args:
            tokens: rows with their special tokens.
            positions: for each row, the token positions to read.
            layer: 0 is the embedding output, -1 the last layer.
            precision: as for the bulk pass.
        """
        last = self.layers
        layer = int(between("layer", layer if layer >= 0 else last + 1 + layer, 0, last + 1, of="states"))
        counts = np.array([len(p) for p in positions])
        starts = np.concatenate([[0], np.cumsum(counts)])
        found: list[Tensor] = []
        order: list[NDArray[np.int64]] = []
        chosen = best_precision(self.device, precision)
        pad = self.tokenizer.pad_token_id or 0
        for shard in length_shards(tokens.lengths, token_budget(self.device), tolerance=0.15):
            ids, mask = (t.to(self.device) for t in tokens.padded(pad, shard))
            with chosen.autocast(self.device), varied_shapes():
                run = self.model.base_model(ids, attention_mask=mask, output_hidden_states=layer != last)
            hidden = run.last_hidden_state if layer == last else run.hidden_states[layer]
            rows = np.repeat(np.arange(len(shard)), counts[shard])
            places = np.concatenate([positions[i] for i in shard])
            order.append(np.concatenate([np.arange(starts[i], starts[i + 1]) for i in shard]))
            at = [torch.from_numpy(a.astype(np.int64)).to(self.device) for a in (rows, places)]
            found.append(hidden[at[0], at[1]].float())
        back = torch.from_numpy(np.argsort(np.concatenate(order))).to(self.device)
        return torch.cat(found)[back]

    def logits(self, tokens: Tokens, positions: Sequence[NDArray[np.int64]], *, precision: str = "fp32") -> Tensor:
        """Return the vocabulary scores at the asked positions, end to end (total, vocabulary)."""
        return self.head(self.states(tokens, positions, precision=precision))

    def head(self, states: Tensor) -> Tensor:
        """Return the LM head's scores (total, vocabulary) of last-layer states (total, d)."""
        out: Tensor = self._head[0](inputs_embeds=states[:, None, :]).logits[:, 0]
        return out

    @torch.inference_mode()
    def fill(self, text: str, *, top: int = 5) -> list[list[tuple[str, float]]]:
        """Return, for each mask in `text`, the likeliest tokens with their probabilities."""
        ids = np.asarray(self.tokenizer(text)["input_ids"], dtype=np.int64)
        places = np.flatnonzero(ids == self.tokenizer.mask_token_id)
        if not len(places):
            raise ModelError(f"The text has no {self.tokenizer.mask_token}. Put one where a word is to be guessed.")
        best = self.logits(Tokens.of([ids]), [places]).softmax(-1).topk(top)
        return [
            list(zip(self.tokenizer.convert_ids_to_tokens(i.tolist()), p.tolist(), strict=True))
            for i, p in zip(best.indices, best.values, strict=True)
        ]


def head_alone(encoder: Any, *, of: str, own_matrix: bool = False) -> tuple[MaskedLM, bool]:
    """Return the LM head that belongs to an encoder, to be trained beside it, and whether it is tied to its embeddings.

    Args:
        encoder: a SentenceTransformer built from a masked LM; its embeddings are the output matrix where they were.
        of: the objective that wants it, for the message.
        own_matrix: an output matrix of its own in any case.

    Raises:
        MirrormaskError: the encoder has no masked LM.
    """
    source = getattr(encoder, "mirrormask_source", None)
    if source is None:
        raise MirrormaskError(f"The objective {of} needs an encoder built from a masked language model.")
    lm = MaskedLM.load(source, device=str(next(encoder.parameters()).device))
    tied = not own_matrix and is_tied(lm.model)
    lm.model._modules[lm.model.base_model_prefix] = nn.Identity()  # the encoder is the trained one
    if tied:
        lm.model.get_output_embeddings().weight = word_table(encoder).weight
    return lm, tied


class _Given(nn.Module):
    """Stands where the encoder was and returns the states it is handed."""

    def forward(
        self, input_ids: Tensor | None = None, inputs_embeds: Tensor | None = None, **_: Any
    ) -> BaseModelOutput:
        return BaseModelOutput(last_hidden_state=inputs_embeds)
