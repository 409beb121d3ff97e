"""Objectives that read the views' own forwards: the rows they show, the states they get, and what is refused."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from mirrormask.core.batch import Batch
from mirrormask.core.errors import MirrormaskError
from mirrormask.models.bulk import tokenize
from mirrormask.models.embeddings import embedding_module
from mirrormask.negatives.gaussian import Gaussian
from mirrormask.objectives import Ask, Objective, Seen
from mirrormask.objectives.info_nce import InfoNCE
from mirrormask.training import forward
from mirrormask.training.forward import encode, states_at
from mirrormask.training.method import Composition, Method
from mirrormask.views import View, Vocabulary
from mirrormask.views.dropout import Dropout
from mirrormask.views.word_deletion import WordDeletion


class Reader(Objective):
    """Reads some positions of one role and keeps what it saw."""

    needs_encoder = True
    reads_views = True

    def __init__(self, role: int = 0, positions: bool = True) -> None:
        super().__init__()
        self.role, self.positions = role, positions

    def show(self, batch: Batch) -> dict[int, Ask]:
        rows = batch.columns[min(self.role, len(batch.columns) - 1)]
        places = tuple(np.arange(i % 3) + 1 if self.positions else np.zeros(0, np.int64) for i in range(len(rows)))
        return {self.role: Ask(rows, places, torch.zeros(0))}

    def saw(self, shown: dict[int, Ask], seen: dict[int, Seen]) -> Tensor:
        self.seen = seen[self.role]
        return self.seen.vectors.square().mean() + self.seen.states.square().sum()


@pytest.fixture
def batch(tiny: Callable[..., Any], sentences: list[str]) -> Batch:
    texts = [" ".join(text.split()[: 3 + i % 7]) for i, text in enumerate(sentences[:8])]
    return Batch((tokenize(tiny(), texts), tokenize(tiny(), sentences[20:28])))


@pytest.fixture
def make(tiny: Callable[..., Any]) -> Callable[..., Method]:
    def build(objective: Objective, *views: View, chunk: int | None = None, **options: Any) -> Method:
        encoder = tiny(pooling="mean")
        both = views or (Dropout(0.0), Dropout(0.0))
        return Method(encoder, Composition(both, objective, **options), Vocabulary.of(encoder), chunk=chunk)  # type: ignore[arg-type]

    return build


@pytest.mark.parametrize("role", [0, 1])
def test_states_and_vectors_are_those_of_the_rows(make: Callable[..., Method], batch: Batch, role: int) -> None:
    reader = Reader(role)
    method = make(reader + InfoNCE()).eval()
    method(batch, 0)
    rows, places = batch.columns[role], reader.show(batch)[role].positions
    torch.testing.assert_close(reader.seen.vectors, encode(method.encoder, rows, pad_id=0))
    torch.testing.assert_close(reader.seen.states, states_at(method.encoder, rows, places, pad_id=0))
    assert len(reader.seen.states) == sum(map(len, places)) > 0


def rows_run(method: Method, batch: Batch) -> int:
    """Return how many rows go through the encoder in one step."""
    rows: list[int] = []
    handle = embedding_module(method.encoder).register_forward_hook(lambda _module, _given, out: rows.append(len(out)))
    method(batch, 0)
    handle.remove()
    return sum(rows)


def test_no_row_is_run_for_a_reader(make: Callable[..., Method], batch: Batch) -> None:
    plain = rows_run(make(InfoNCE()), batch)
    assert rows_run(make(InfoNCE() + 0.1 * Reader()), batch) == plain == 16
    assert rows_run(make(Reader()), batch) == 8, "without a loss over vectors only what is read"
    assert rows_run(make(Reader(1)), batch) == 8


def test_gradient_caching_gives_the_same_gradients(
    make: Callable[..., Method], batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gradients(chunk: int | None) -> list[Tensor]:
        method = make(InfoNCE() + Reader(1), Dropout(), Dropout(), chunk=chunk).train()
        torch.manual_seed(0)
        method(batch, 0).backward()
        return [p.grad for p in method.encoder.parameters() if p.grad is not None]

    cached = gradients(3)
    cut = forward.shards_for
    monkeypatch.setattr(forward, "shards_for", lambda tokens, device, chunk, whole=False: cut(tokens, device, 3))
    plain = gradients(None)
    assert len(plain) == len(cached) > 20
    for one, other in zip(plain, cached, strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-4)


def test_a_view_may_rewrite_rows_of_which_only_vectors_are_read(make: Callable[..., Method], batch: Batch) -> None:
    reader = Reader(0, positions=False)
    method = make(reader, WordDeletion(0.5), Dropout()).eval()
    method(batch, 0)
    assert reader.seen.states.shape == (0, 32)
    assert not torch.allclose(reader.seen.vectors, encode(method.encoder, batch.columns[0], pad_id=0))
    with pytest.raises(MirrormaskError, match="reads single tokens of rows that its view rewrites"):
        make(Reader(0), WordDeletion(0.5), Dropout())(batch, 0)


def test_what_does_not_go_together_is_refused(make: Callable[..., Method], batch: Batch) -> None:
    with pytest.raises(MirrormaskError, match="Two objectives read the rows of one view"):
        make(Reader() + Reader())(batch, 0)
    with pytest.raises(MirrormaskError, match="compares no sentence vectors, so it has no use for negatives"):
        make(Reader(), negatives=Gaussian())


def test_a_step_without_a_loss_over_vectors_is_observed(make: Callable[..., Method], batch: Batch) -> None:
    method = make(Reader(), Dropout(), Dropout())
    method.check(copy.copy(batch))
    method(batch, 0).backward()
    method.observe()
    assert method.similarities() == {}
