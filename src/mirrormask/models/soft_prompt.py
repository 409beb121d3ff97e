"""Soft prompts: embeddings of tokens that are no words, learned in place of a wording.

Paper: Liu et al. 2021, "GPT Understands, Too", Section 3.2: soft tokens are tied together by a bidirectional LSTM and
    a small network, since embeddings alone are found hardly better than where they begin. The authors' code has two:

    lstm        2 layers, h/2 each way, then h -> h with ReLU -> h     (their probing of LAMA)
    lstm-wide   2 layers, h each way, then 2h -> h with ReLU -> h      (their few-shot SuperGLUE)
    plain       the embeddings themselves                              (Lester et al. 2021)
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mirrormask.core.errors import at_least, one_of
from mirrormask.core.seeding import derive

KINDS = ("lstm", "lstm-wide", "plain")


class SoftPrompt(nn.Module):
    """The embeddings of a template's soft tokens; calling it returns them (tokens, width).

    Args:
        tokens: how many.
        width: of a word embedding.
        kind: one of `KINDS`.
        scale: standard deviation of the embeddings to begin with, that of words by default.
        seed: of fresh weights.

    Example:
        >>> SoftPrompt(3, 8, "lstm")().shape
        torch.Size([3, 8])
    """

    def __init__(self, tokens: int, width: int, kind: str = "lstm", *, scale: float = 0.02, seed: int = 42) -> None:
        super().__init__()
        at_least("tokens", tokens, 1, of="a soft prompt")
        self.kind = one_of("kind", kind, KINDS, of="a soft prompt")
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(derive(seed, "soft prompt") % 2**63)
            self.embeddings = nn.Parameter(torch.randn(tokens, width) * scale)
            self.lstm: nn.LSTM | None = None
            if kind != "plain":
                hidden = width // 2 if kind == "lstm" else width
                self.lstm = nn.LSTM(width, hidden, num_layers=2, bidirectional=True, batch_first=True)
                self.network = nn.Sequential(nn.Linear(2 * hidden, width), nn.ReLU(), nn.Linear(width, width))

    def forward(self) -> Tensor:
        """Return the embeddings (tokens, width)."""
        if self.lstm is None:
            return self.embeddings
        with torch.autocast(self.embeddings.device.type, enabled=False):  # so few tokens gain nothing from less
            found: Tensor = self.network(self.lstm(self.embeddings[None])[0][0])
        return found

    def fixed(self) -> SoftPrompt:
        """Return the same prompt as plain embeddings: what produced them is needed in training only."""
        return SoftPrompt.of(self())

    @classmethod
    @torch.no_grad()
    def of(cls, values: Tensor) -> SoftPrompt:
        """Return the prompt whose embeddings begin as these (tokens, width)."""
        plain = cls(len(values), values.shape[1], "plain").to(values)
        plain.embeddings.copy_(values)
        return plain
