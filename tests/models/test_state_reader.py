from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from mirrormask.models.masked_lm import MaskedLM
from mirrormask.models.precision import Precision
from mirrormask.models.state_reader import BertReader, LibraryReader, MaskedCopies, reader_of

FP32 = Precision("fp32", "as asked")


def copies_of(lm: MaskedLM) -> tuple[MaskedCopies, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(5)
    texts = torch.randint(5, len(lm.tokenizer), (3, 9), generator=generator)
    source = torch.tensor([0, 0, 2, 1, 2, 0, 1])
    masked = torch.rand(7, 9, generator=generator) < 0.3
    rows = torch.tensor([0, 0, 2, 3, 3, 3, 6])
    places = torch.tensor([0, 8, 4, 1, 2, 3, 5])
    return MaskedCopies(texts, source, masked), rows, places


@torch.no_grad()
@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert", "modernbert"])
@pytest.mark.parametrize("layers", [[3], [0], [1], [2], [0, 1, 3], [0, 1, 2, 3]])
def test_states_are_the_librarys(kind: str, layers: list[int], tiny_of_kind: Callable[[str], Path]) -> None:
    lm = MaskedLM.load(tiny_of_kind(kind), device="cpu")
    base, mask_id = lm.model.base_model, lm.tokenizer.mask_token_id
    copies, rows, places = copies_of(lm)
    reader = reader_of(base, mask_id, FP32)
    assert isinstance(reader, BertReader if kind in ("bert", "roberta") else LibraryReader)
    found = reader.read(copies, rows, places, layers)
    ids = copies.texts[copies.source].clone()
    ids[copies.masked] = mask_id
    assert torch.equal(copies.ids(mask_id), ids)
    run = base(ids, output_hidden_states=True)
    for layer, states in zip(layers, found, strict=True):
        torch.testing.assert_close(states, run.hidden_states[layer][rows, places], atol=1e-5, rtol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize(("many", "seen"), [(0.25, 18), (0.0, 1), (2.0, 1), (2.0, 1 << 18)])
def test_few_or_many_positions(tiny_folder: Path, monkeypatch: pytest.MonkeyPatch, many: float, seen: int) -> None:
    monkeypatch.setattr("mirrormask.models.state_reader._MANY", many)
    monkeypatch.setattr("mirrormask.models.state_reader._SEEN", seen)
    lm = MaskedLM.load(tiny_folder, device="cpu")
    base = lm.model.base_model
    copies, *_ = copies_of(lm)
    rows, places = (each.flatten() for each in torch.meshgrid(torch.arange(7), torch.arange(9), indexing="ij"))
    found = reader_of(base, 4, FP32).read(copies, rows, places, [3])[0]
    torch.testing.assert_close(found, base(copies.ids(4)).last_hidden_state.flatten(0, 1), atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_another_activation(tiny_folder: Path) -> None:
    lm = MaskedLM.load(tiny_folder, device="cpu")
    base = lm.model.base_model
    for layer in base.encoder.layer:
        layer.intermediate.intermediate_act_fn = torch.nn.SiLU()
    copies, rows, places = copies_of(lm)
    found = reader_of(base, 4, FP32).read(copies, rows, places, [3])[0]
    torch.testing.assert_close(found, base(copies.ids(4)).last_hidden_state[rows, places], atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_memory_that_is_kept_does_not_leak_into_results(tiny_folder: Path) -> None:
    lm = MaskedLM.load(tiny_folder, device="cpu")
    copies, rows, places = copies_of(lm)
    reader = reader_of(lm.model.base_model, 4, FP32)
    first = reader.read(copies, rows, places, [1, 2, 3])
    kept = [states.clone() for states in first]
    reader.read(MaskedCopies(copies.texts, copies.source, ~copies.masked), rows, places, [1, 2, 3])
    for states, before in zip(first, kept, strict=True):
        assert torch.equal(states, before)


def test_adapters_fall_back_to_the_library(tiny_folder: Path) -> None:
    pytest.importorskip("peft")
    from peft import LoraConfig, inject_adapter_in_model

    lm = MaskedLM.load(tiny_folder, device="cpu")
    inject_adapter_in_model(LoraConfig(r=2, target_modules=["query"]), lm.model.base_model)
    assert isinstance(reader_of(lm.model.base_model, 4, FP32), LibraryReader)


def test_low_precision_keeps_weights_as_they_are(tiny_folder: Path) -> None:
    lm = MaskedLM.load(tiny_folder, device="cpu")
    reader = reader_of(lm.model.base_model, 4, Precision("bf16", "as asked"))
    copies, rows, places = copies_of(lm)
    with torch.no_grad():
        low = reader.read(copies, rows, places, [3])[0]
        exact = reader_of(lm.model.base_model, 4, FP32).read(copies, rows, places, [3])[0]
    assert low.dtype == torch.float32
    assert next(lm.parameters()).dtype == torch.float32
    torch.testing.assert_close(low, exact, atol=0.1, rtol=0.05)
