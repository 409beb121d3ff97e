"""What the tests of whole methods share: a model in float64 without dropout, and rows read one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from transformers import BertModel

from mirrormask.core.batch import Batch, Tokens
from mirrormask.methods import methods
from mirrormask.models.bulk import tokenize
from mirrormask.models.encoder import training_head
from mirrormask.training.composed import Composition
from mirrormask.training.method import Method
from mirrormask.views import Vocabulary

ROWS = 6


def without_chance(module: nn.Module) -> nn.Module:
    """Return the module in float64 and in training, with all dropout at 0."""
    for part in module.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
    return module.double().train()


def method_of(tiny: Callable[..., Any], composition: Composition, *, exact: bool = True, **options: Any) -> Method:
    """Return a composition with a fresh tiny encoder, its pooling and its head."""
    torch.manual_seed(0)
    encoder = tiny(pooling=composition.pooling, **options)
    if exact:
        without_chance(encoder)
    width = encoder.get_embedding_dimension()
    head = training_head(encoder, composition.pooling) if composition.head is None else composition.head(width)
    if exact and head is not None:
        without_chance(head)
    method = Method(encoder, composition, Vocabulary.of(encoder), head=head)
    return without_chance(method) if exact else method.train()  # type: ignore[return-value]


def built(tiny: Callable[..., Any], name: str, *, exact: bool = True, **parameters: Any) -> Method:
    """Return a registered method with a fresh tiny encoder."""
    return method_of(tiny, methods.build(name, **parameters), exact=exact)


def batch_of(encoder: Any, sentences: list[str], first: int = 0, columns: int = 1) -> Batch:
    """Return a few sentences of different lengths, the same in every column."""
    texts = [" ".join(text.split()[: 4 + i % 5]) for i, text in enumerate(sentences[first : first + ROWS])]
    return Batch((tokenize(encoder, texts),) * columns, labels=torch.arange(ROWS) % 3)


def one_by_one(encoder: Any, rows: Tokens) -> Tensor:
    """Return the vectors of rows that go through the encoder alone, without padding (n, d)."""
    found = []
    for row in rows.rows:
        ids = torch.from_numpy(row.astype("int64"))[None]
        found.append(encoder({"input_ids": ids, "attention_mask": torch.ones_like(ids)})["sentence_embedding"][0])
    return torch.stack(found)


def cos(one: Tensor, other: Tensor) -> Tensor:
    """Return the cosine of two vectors."""
    return one @ other / (one.norm() * other.norm())


@contextmanager
def counted() -> Iterator[dict[str, int]]:
    """Count the rows that go through any BERT inside the block, with a gradient and without, and their tokens."""
    found = {"trained": 0, "read": 0, "tokens": 0}
    forward = BertModel.forward

    def counting(self: Any, input_ids: Any = None, *rest: Any, **named: Any) -> Any:
        given: Any = named.get("inputs_embeds") if input_ids is None else input_ids
        taught = torch.is_grad_enabled() and any(p.requires_grad for p in self.parameters())
        found["trained" if taught else "read"] += len(given)
        mask = named.get("attention_mask")
        found["tokens"] += int(mask.sum()) if mask is not None else given.shape[0] * given.shape[1]
        return forward(self, input_ids, *rest, **named)

    BertModel.forward = counting  # type: ignore[method-assign]
    try:
        yield found
    finally:
        BertModel.forward = forward  # type: ignore[method-assign]
