from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from tests.objectives.token_rows import Rows
from torch import Tensor

from mirrormask.core.batch import Step, Tokens
from mirrormask.core.errors import MirrormaskError
from mirrormask.objectives.start_and_words import StartAndWords, bm25, standardized


def objective_on(encoder: Any, documents: list[list[int]], **parameters: Any) -> StartAndWords:
    objective = StartAndWords(**parameters)
    objective.attach(encoder)
    objective.read(Rows(documents, len(encoder.tokenizer)))  # type: ignore[arg-type]
    return objective


def framed(encoder: Any, texts: list[str]) -> Tokens:
    from mirrormask.models.bulk import tokenize

    return tokenize(encoder, texts)


QUERIES = ["the old baker paints", "two red apples", "near the river"]
DOCUMENTS = [
    "the old baker paints a wooden boat before sunrise",
    "a young pilot carries two red apples in the garden",
    "my neighbor watches the broken clock near the river",
]


def step_of(objective: StartAndWords, encoder: Any) -> Step:
    columns = [framed(encoder, QUERIES), framed(encoder, DOCUMENTS)]
    targets = tuple(objective.target(column) for column in columns)
    size = encoder.get_embedding_dimension()
    anchor, positive = (each[:, :size].clone().requires_grad_() for each in targets)
    return Step(anchor, positive, targets=targets)


@pytest.fixture
def encoder(tiny: Callable[..., Any]) -> Any:
    return tiny().eval()


@pytest.fixture
def documents(encoder: Any) -> list[list[int]]:
    return [ids[1:-1].tolist() for ids in framed(encoder, DOCUMENTS).rows]


def test_bm25_is_the_formula() -> None:
    chance = np.random.default_rng(0)
    asked, counts = chance.integers(0, 3, (2, 5)), chance.integers(0, 4, (3, 5))
    idf = chance.random(5)
    asked_, counts_, idf_ = (torch.tensor(x, dtype=torch.float64) for x in (asked, counts, idf))
    found = bm25(asked_, counts_, idf_, 4.0)
    for i, query in enumerate(asked):
        for j, document in enumerate(counts):
            length = 0.9 * (0.6 + 0.4 * document.sum() / 4.0)
            expected = sum(query[w] * idf[w] * document[w] * 1.9 / (document[w] + length) for w in range(5))
            assert found[i, j].item() == pytest.approx(expected, abs=1e-12)


def test_the_start_has_nothing_to_learn_where_words_have_no_say(encoder: Any, documents: list[list[int]]) -> None:
    step = step_of(objective := objective_on(encoder, documents, weight=0.0), encoder)
    loss = objective(step)
    loss.backward()
    assert loss.item() == pytest.approx(0, abs=1e-6)
    assert step.anchor.grad is not None
    assert step.anchor.grad.abs().max().item() < 1e-4


def test_the_loss_is_the_divergence_from_both_together(encoder: Any, documents: list[list[int]]) -> None:
    objective = objective_on(encoder, documents, weight=0.7, sharpness=1.5)
    step = step_of(objective, encoder)
    torch.manual_seed(1)
    anchor = torch.randn(3, encoder.get_embedding_dimension())
    step = Step(anchor, step.positive.detach(), targets=step.targets)

    size = anchor.shape[1]
    start = [[float(F.cosine_similarity(step.targets[0][i, :size], step.targets[1][j, :size], dim=0)) for j in range(3)]
             for i in range(3)]  # fmt: skip
    words = bm25(step.targets[0][:, size:], step.targets[1][:, size:], objective.idf, objective.mean_length)

    def z(row: list[float]) -> list[float]:
        return [float((x - np.mean(row)) / np.std(row)) for x in row]

    def softmax(row: list[float]) -> list[float]:
        return [math.exp(1.5 * x) / sum(math.exp(1.5 * y) for y in row) for x in row]

    expected = 0.0
    for i in range(3):
        taught = softmax([a + 0.7 * b for a, b in zip(z(start[i]), z(words[i].tolist()), strict=True)])
        spread = float(np.std(start[i]))
        now = softmax([float(F.cosine_similarity(anchor[i], each, dim=0)) / spread for each in step.positive])
        expected += sum(p * math.log(p / q) for p, q in zip(taught, now, strict=True)) / 3
    assert objective(step).item() == pytest.approx(expected, abs=1e-4)


def test_words_pull_a_query_to_the_document_that_has_them(encoder: Any, documents: list[list[int]]) -> None:
    objective = objective_on(encoder, documents, weight=5.0)
    step = step_of(objective, encoder)
    objective(step).backward()
    assert step.anchor.grad is not None

    def cosines(vectors: Tensor) -> Tensor:
        return F.normalize(vectors, dim=-1) @ F.normalize(step.positive.detach(), dim=-1).T

    moved = cosines(step.anchor.detach() - 1e-3 * step.anchor.grad) - cosines(step.anchor.detach())
    assert (moved.diagonal() > moved.mean(dim=1)).all(), "each query's own document has its words"


def test_a_copy_of_the_start_teaches_whatever_training_does(encoder: Any, documents: list[list[int]]) -> None:
    objective = objective_on(encoder, documents)
    before = objective.target(framed(encoder, QUERIES))
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.add_(1.0)
    assert torch.equal(objective.target(framed(encoder, QUERIES)), before)
    assert not list(objective.parameters()), "nothing of it is trained"
    assert set(objective.state_dict()) == {"idf"}, "nor saved"


def test_special_tokens_and_unseen_ones_tell_nothing(encoder: Any, documents: list[list[int]]) -> None:
    objective = objective_on(encoder, documents)
    for token in ("[CLS]", "[SEP]", "winter"):
        assert objective.idf[encoder.tokenizer.convert_tokens_to_ids(token)] == 0
    assert objective.idf[encoder.tokenizer.convert_tokens_to_ids("apples")] > 0


def test_equal_scores_stay_equal() -> None:
    assert standardized(torch.ones(2, 4)).abs().max() == 0


def test_one_column_and_an_unread_text_are_refused(encoder: Any, documents: list[list[int]]) -> None:
    objective = objective_on(encoder, documents)
    with pytest.raises(MirrormaskError, match="pairing gives one column"):
        objective(Step(torch.ones(2, 32), torch.ones(2, 32), targets=(torch.ones(2, 40),)))
    with pytest.raises(MirrormaskError, match="must read the text"):
        StartAndWords().target(framed(encoder, QUERIES))
