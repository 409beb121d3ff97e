"""Drop-head: whole attention heads are silent, other ones for every sentence.

Paper: Zhou et al. 2020, "Scheduled DropHead: A Regularization Method for Transformer Models"; as a view,
    Liu et al. 2021, "Fast, Effective, and Self-Supervised: Transforming Masked Language Models into Universal Lexical
    and Sentence Encoders" (Mirror-BERT)

    head'_h = head_h * m_h * H / sum(m),  m_h ~ Bernoulli(1 - rate) in every layer and sentence, H = number of heads

Where all heads of a layer would be dropped, all stay: nothing could be scaled up. The heads are taken at the input of
the matrix that mixes them, since the models no longer take a head mask.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from mirrormask.core.errors import MirrormaskError, between
from mirrormask.views import View, views

MIXING = ("attention.output.dense", "attention.out_lin", "attn.Wo")
"""What the matrix that mixes the heads is called: in BERT and RoBERTa, DistilBERT, ModernBERT."""


def drop_heads(x: Tensor, heads: int, rate: float) -> Tensor:
    """Return `x` (n, length, heads * d) with each head of a row at zero with chance `rate` and the others scaled up."""
    keep = (torch.rand(len(x), heads, device=x.device) >= rate).to(x.dtype)  # (n, heads)
    keep = torch.where(keep.sum(dim=1, keepdim=True) > 0, keep, torch.ones_like(keep))
    scale = keep * heads / keep.sum(dim=1, keepdim=True)
    return (x.unflatten(-1, (heads, -1)) * scale[:, None, :, None]).flatten(-2)


@views.register("drop-head")
class DropHead(View):
    """Drop whole attention heads.

    Args:
        rate: chance of a head to be dropped (Mirror-BERT takes 0.2 for BERT, 0.05 for RoBERTa).

    Relations: Mirror-BERT uses it in place of dropout: `["drop-head", { name = "dropout", rate = 0 }]`.

    Example:
        >>> DropHead().rate
        0.2
    """

    hooks = True

    def __init__(self, rate: float = 0.2) -> None:
        super().__init__()
        self.rate = between("rate", rate, 0, 1, of="drop-head")

    @contextlib.contextmanager
    def forward_with(self, encoder: Any) -> Iterator[None]:
        """Let heads drop in every layer inside the block."""
        heads = encoder[0].model.config.num_attention_heads
        layers = [module for name, module in encoder.named_modules() if name.endswith(MIXING)]
        if not layers:
            raise MirrormaskError(
                "The view drop-head does not know where this model mixes its attention heads. Use a BERT, RoBERTa, "
                "DistilBERT or ModernBERT, or another view."
            )

        def drop(_module: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            return drop_heads(inputs[0], heads, self.rate), *inputs[1:]

        handles = [layer.register_forward_pre_hook(drop) for layer in layers]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()
