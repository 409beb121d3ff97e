from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from mirrormask.core.batch import Batch, Step, Tokens
from mirrormask.core.errors import MirrormaskError, ModelError
from mirrormask.models.bulk import tokenize
from mirrormask.models.masking import hide
from mirrormask.objectives import WeightedSum, masked_lm
from mirrormask.objectives.info_nce import InfoNCE
from mirrormask.objectives.masked_lm import MaskedLMLoss


@pytest.fixture
def attached(tiny: Callable[..., Any]) -> Callable[..., tuple[Any, MaskedLMLoss]]:
    def build(**options: Any) -> tuple[Any, MaskedLMLoss]:
        encoder, objective = tiny(pooling="mean"), MaskedLMLoss(**options)
        objective.attach(encoder)
        return encoder.eval(), objective.eval()

    return build


def step_of(*columns: Tokens) -> Step:
    return Step(Batch(columns), torch.zeros(2, 32), torch.zeros(2, 32))


def test_equals_the_models_own_masked_lm_loss(
    attached: Callable[..., tuple[Any, MaskedLMLoss]],
    sentences: list[str],
    tiny_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from transformers import AutoModelForMaskedLM

    encoder, objective = attached(rate=0.4)
    seen: dict[str, Tensor] = {}
    plain = hide

    def noted(ids: Tensor, chosen: Tensor, **options: Any) -> Tensor:
        seen.update(ids=ids, chosen=chosen, shown=plain(ids, chosen, **options))
        return seen["shown"]

    monkeypatch.setattr(masked_lm, "hide", noted)
    texts = [tokenize(encoder, sentences[:5]), tokenize(encoder, [s[:12] for s in sentences[5:10]])]
    found = objective(step_of(*texts))
    assert seen["ids"].shape[0] == 10, "all columns are masked"
    model = AutoModelForMaskedLM.from_pretrained(tiny_folder, dtype="float32").eval()
    labels = torch.where(seen["chosen"], seen["ids"], -100)
    mask = (seen["ids"] != 0).long()
    expected = model(input_ids=seen["shown"], attention_mask=mask, labels=labels).loss
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    special = torch.isin(seen["ids"], torch.tensor(encoder.tokenizer.all_special_ids))
    assert not (seen["chosen"] & special).any()


def test_gradients_reach_the_encoder_and_a_head_of_its_own(
    attached: Callable[..., tuple[Any, MaskedLMLoss]], sentences: list[str]
) -> None:
    encoder, objective = attached()
    own = {id(p) for p in encoder.parameters()}
    head = list(objective.parameters())
    assert head
    assert not any(id(p) in own for p in head), "the head is a copy, its output matrix not tied"
    assert sum(p.numel() for p in head) < sum(p.numel() for p in encoder.parameters()), "no second encoder"
    torch.manual_seed(0)
    objective(step_of(tokenize(encoder, sentences[:20]))).backward()
    assert all(p.grad is not None for p in head)
    assert sum(p.grad is not None and bool(p.grad.abs().sum() > 0) for p in encoder.parameters()) > 20


def test_the_head_runs_at_masked_positions_alone(
    attached: Callable[..., tuple[Any, MaskedLMLoss]], sentences: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder, objective = attached(rate=0.15)
    assert objective.lm is not None
    rows: list[int] = []
    head = objective.lm.head

    def noted(states: torch.Tensor) -> torch.Tensor:
        rows.append(len(states))
        return head(states)

    monkeypatch.setattr(objective.lm, "head", noted)
    tokens = tokenize(encoder, sentences[:50])
    torch.manual_seed(0)
    objective(step_of(tokens))
    assert 0 < rows[0] < 0.25 * tokens.lengths.sum()


def test_the_same_seed_masks_the_same(attached: Callable[..., tuple[Any, MaskedLMLoss]], sentences: list[str]) -> None:
    encoder, objective = attached()
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(objective(step_of(tokenize(encoder, sentences[:20]))).item())
    assert found[0] == found[1] != found[2]


def test_nothing_masked_is_no_loss(attached: Callable[..., tuple[Any, MaskedLMLoss]]) -> None:
    encoder, objective = attached(rate=1e-9)
    loss = objective(step_of(tokenize(encoder, ["the gray cat", "my neighbor"])))
    assert loss.item() == 0
    loss.backward()


def test_a_sum_is_split_into_what_reads_vectors_and_what_reads_tokens() -> None:
    contrast, guess = InfoNCE(), MaskedLMLoss()
    vectors, tokens = (contrast + 0.1 * guess).split()
    assert isinstance(vectors, WeightedSum)
    assert isinstance(tokens, WeightedSum)
    assert (vectors.terms, vectors.weights) == ([contrast], [1.0])
    inner = tokens.terms[0]
    assert isinstance(inner, WeightedSum)
    assert (inner.terms, inner.weights) == ([guess], [0.1])
    assert contrast.split() == (contrast, None)
    assert guess.split() == (None, guess)


def test_what_cannot_be(tiny: Callable[..., Any], tmp_path: Path) -> None:
    for rate in (0.0, 1.0):
        with pytest.raises(MirrormaskError, match="The 'rate' of masked-lm must be"):
            MaskedLMLoss(rate)
    with pytest.raises(MirrormaskError, match="must be attached to an encoder first"):
        MaskedLMLoss()(step_of(Tokens(())))
    encoder = tiny()
    encoder[0].model.save_pretrained(tmp_path / "bare")
    encoder.tokenizer.save_pretrained(tmp_path / "bare")
    encoder.mirrormask_source = str(tmp_path / "bare")
    with pytest.raises(ModelError, match="has no LM head"):
        MaskedLMLoss().attach(encoder)
    del encoder.mirrormask_source
    with pytest.raises(MirrormaskError, match="masked-lm needs an encoder built from a masked language model"):
        MaskedLMLoss().attach(encoder)
