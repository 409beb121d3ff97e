from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from tests.methods.whole_step import ROWS, batch_of, built, cos, counted, method_of, one_by_one
from torch import Tensor

from mirrormask.methods import methods
from mirrormask.models.embeddings import embedding_module
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.models.training_heads import batch_norm
from mirrormask.objectives.info_nce import InfoNCE
from mirrormask.objectives.replaced_tokens import ReplacedTokens
from mirrormask.training.composed import Composition
from mirrormask.views.dropout import Dropout


def projected(head: Any, vectors: Tensor) -> Tensor:
    """Return what the projector makes of all rows together, layer by layer."""
    first, norm, _, last, _ = head
    x = vectors @ first.weight.T
    x = (x - x.mean(dim=0)) / (x.var(dim=0, correction=0) + 1e-5).sqrt() * norm.weight + norm.bias
    x = x.clamp(min=0) @ last.weight.T
    found: Tensor = (x - x.mean(dim=0)) / (x.var(dim=0, correction=0) + 1e-5).sqrt()
    return found


def detected(objective: ReplacedTokens, changed: Any, row: Any, h: Tensor) -> list[Tensor]:
    """Return the loss of each token of one changed row, the sentence vector in place of its first embedding."""
    network: Any = objective.discriminator
    ids = torch.from_numpy(changed)[None]
    handle = embedding_module(network).register_forward_hook(
        lambda _module, _inputs, out: torch.cat([h[None, None], out[:, 1:]], dim=1)
    )
    states = network[0].model(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state[0]
    handle.remove()
    losses = []
    for t in range(1, len(row)):
        scores = objective.tell(states[t])
        losses.append(-torch.log_softmax(scores, dim=0)[int(changed[t] != row[t])])
    return losses


def test_a_step_is_the_papers_formula(tiny: Callable[..., Any], tiny_folder: Any, sentences: list[str]) -> None:
    lm = MaskedLM.load(tiny_folder, device="cpu")
    special = lm.tokenizer.all_special_ids
    for faithful in (False, True):
        method = built(tiny, "diffcse", temperature=0.4, weight=0.7, faithful=faithful)
        objective = method.objective.parts_of()[1][1]
        assert isinstance(objective, ReplacedTokens)
        batch = batch_of(method.encoder, sentences)
        torch.manual_seed(9)
        found = method(batch, 0)
        found.backward()

        rows = list(batch.columns[0].rows) * (2 if faithful else 1)
        torch.manual_seed(9)
        chance = np.random.default_rng(int(torch.randint(2**62, ())))
        z = projected(method.head, one_by_one(method.encoder, batch.columns[0]).repeat(2, 1))
        losses, others = [], 0
        for place, row in enumerate(rows):
            masked = 1 + np.flatnonzero(chance.random(len(row) - 2) < 0.3)
            hidden = row.copy()
            hidden[masked] = lm.tokenizer.mask_token_id
            with torch.no_grad():
                scores = lm.model(torch.from_numpy(hidden)[None]).logits[0]
            scores[:, special] = -torch.inf
            guess, changed = scores.argmax(dim=-1).numpy(), row.astype(np.int64)
            for t in range(1, len(row) - 1):
                if faithful or t in masked:
                    changed[t] = guess[t]
            others += int((changed != row).sum())
            losses += detected(objective, changed, row, z[place])
        assert others > 0
        contrast = 0.0
        for i in range(ROWS):
            total = sum(torch.exp(cos(z[i], z[ROWS + j]) / 0.4) for j in range(ROWS))
            contrast -= torch.log(torch.exp(cos(z[i], z[ROWS + i]) / 0.4) / total).item() / ROWS
        expected = contrast + 0.7 * sum(loss.item() for loss in losses) / len(losses)
        assert abs(found.item() - expected) < 1e-10
        for module in (objective.discriminator, objective.tell, method.encoder):
            assert module is not None
            assert all(p.grad is not None for name, p in module.named_parameters()), "all of it learns"


def test_the_vector_is_taught_by_what_was_changed(tiny: Callable[..., Any], sentences: list[str]) -> None:
    """The gradient of the detection alone reaches the encoder, through the first embedding."""
    alone = 0.0 * InfoNCE() + ReplacedTokens()
    method = method_of(tiny, Composition((Dropout(), Dropout()), alone, pooling="cls", head=batch_norm))
    method(batch_of(method.encoder, sentences), 0).backward()
    assert sum(bool(p.grad.abs().sum() > 0) for p in method.encoder.parameters() if p.grad is not None) > 20


def test_published_conditions_cost_more(tiny: Callable[..., Any], sentences: list[str]) -> None:
    method = built(tiny, "diffcse", exact=False, faithful=True)
    with counted() as rows:
        method(batch_of(method.encoder, sentences), 0)
    assert (rows["trained"], rows["read"]) == (4 * ROWS, 2 * ROWS)


def test_it_has_the_published_constants() -> None:
    built = methods.build("diffcse")
    record = built.record()
    assert [weight for weight, _ in built.objective.parts_of()] == [1.0, 0.005]
    assert record["objective"]["terms"][1]["terms"][0]["rate"] == 0.3
    assert (record["head"], built.pooling, built.training["learning_rate"]) == ("batch_norm", "cls", 7e-6)
