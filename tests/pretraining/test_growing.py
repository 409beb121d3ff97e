from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import BertConfig, BertForMaskedLM, DistilBertConfig, DistilBertForMaskedLM

from mirrormask.core.errors import MirrormaskError
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.pretraining.growing import deepen, repeat_positions
from mirrormask.pretraining.plan import Plan
from mirrormask.runs.pretrain import pretrain


def bert(layers: int = 3) -> BertForMaskedLM:
    torch.manual_seed(0)
    shape = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64, "max_position_embeddings": 20}
    model = BertForMaskedLM(BertConfig(vocab_size=50, num_hidden_layers=layers, **shape)).eval()
    for layer in model.bert.encoder.layer:  # norms as a trained model has them
        layer.output.LayerNorm.weight.data.normal_(1.0, 0.2)
        layer.output.LayerNorm.bias.data.normal_(0.1, 0.3)
    return model


def states(model: BertForMaskedLM) -> torch.Tensor:
    ids = torch.randint(0, 50, (4, 12), generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        return model.bert(ids).last_hidden_state


def test_a_grown_model_begins_near_where_the_old_one_was() -> None:
    model = bert()
    before = states(model)
    deepen(model, 5)
    after = states(model)
    assert len(model.bert.encoder.layer) == model.config.num_hidden_layers == 5
    assert torch.nn.functional.cosine_similarity(before, after, dim=-1).min() > 0.95
    other = bert(5)  # whereas five layers that know nothing of each other are far away
    assert torch.nn.functional.cosine_similarity(before, states(other), dim=-1).mean() < 0.9


def test_old_layers_stay_in_order_and_new_ones_are_spread_among_them() -> None:
    model = bert(4)
    old = list(model.bert.encoder.layer)
    deepen(model, 6)
    places = [next(i for i, layer in enumerate(model.bert.encoder.layer) if layer is each) for each in old]
    assert places == [0, 2, 3, 5]


def test_new_layers_learn() -> None:
    model = bert()
    deepen(model, 4)
    new = model.bert.encoder.layer[1]
    model(torch.randint(0, 50, (2, 8)), labels=torch.randint(0, 50, (2, 8))).loss.backward()
    assert new.output.dense.weight.grad.abs().sum() > 0
    assert new.attention.output.dense.weight.grad.abs().sum() > 0


def test_later_positions_repeat_the_learned_ones() -> None:
    model = bert()
    table = model.bert.embeddings.position_embeddings.weight
    first = table[:8].detach().clone()
    repeat_positions(model, 8)
    assert torch.equal(table[8:16], first)
    assert torch.equal(table[16:20], first[:4])
    assert torch.equal(table[:8], first)


def test_what_cannot_grow_is_refused() -> None:
    with pytest.raises(MirrormaskError, match="grows to more layers than it has, 3. Got 3"):
        deepen(bert(), 3)
    other = DistilBertForMaskedLM(DistilBertConfig(vocab_size=50, n_layers=1, dim=32, n_heads=4, hidden_dim=64))
    with pytest.raises(MirrormaskError, match="Only BERT models can grow layers. Got one of type 'distilbert'"):
        deepen(other, 2)
    with pytest.raises(MirrormaskError, match="no table of at least 21 positions"):
        repeat_positions(bert(), 21)
    with pytest.raises(MirrormaskError, match="Only a model that is continued can grow"):
        Plan(grow=8)


def test_a_grown_model_is_saved_and_opens(tiny_folder: Path, sentences: list[str], tmp_path: Path) -> None:
    layers = MaskedLM.load(tiny_folder, device="cpu").layers
    plan = Plan(init=str(tiny_folder), grow=layers + 1, learned=8, length=16, held_out=10)
    settings = {"batch_size": 4, "steps": 2, "optimizer": "muon"}
    run = pretrain(sentences, out=tmp_path / "grown", plan=plan, training=settings)
    assert MaskedLM.load(run.model, device="cpu").layers == layers + 1
    assert run.record["plan"]["grow"] == layers + 1


def test_frozen_embeddings_stay_as_they_were(tiny_folder: Path, sentences: list[str], tmp_path: Path) -> None:
    before = MaskedLM.load(tiny_folder, device="cpu").model.base_model.state_dict()
    plan = Plan(init=str(tiny_folder), freeze_embeddings=True, length=16, held_out=10)
    run = pretrain(sentences, out=tmp_path / "run", plan=plan, training={"batch_size": 4, "steps": 2})
    after = MaskedLM.load(run.model, device="cpu").model.base_model.state_dict()
    same = {name for name, weight in before.items() if torch.equal(weight, after[name])}
    assert {name for name in before if name.startswith("embeddings.")} <= same
    assert not [name for name in same if name.endswith("query.weight")]  # the layers were trained
    with pytest.raises(MirrormaskError, match="Only a model that is continued has embeddings to keep"):
        Plan(freeze_embeddings=True)
