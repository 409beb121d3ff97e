from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from mirrormask.core.batch import Batch, Tokens
from mirrormask.core.errors import MirrormaskError, ModelError
from mirrormask.models.bulk import tokenize
from mirrormask.models.embeddings import embedding_module, word_table
from mirrormask.models.encoder import build_encoder, save_encoder
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.objectives import masked_lm_loss
from mirrormask.objectives.info_nce import InfoNCE
from mirrormask.objectives.masked_lm_loss import MaskedLMLoss
from mirrormask.runs.recipe import build_recipe
from mirrormask.runs.runner import run_recipe
from mirrormask.training.forward import states_at


@pytest.fixture
def attached(tiny: Callable[..., Any]) -> Callable[..., tuple[Any, MaskedLMLoss]]:
    def build(**options: Any) -> tuple[Any, MaskedLMLoss]:
        encoder, objective = tiny(pooling="mean"), MaskedLMLoss(**options)
        objective.attach(encoder)
        return encoder.eval(), objective.eval()

    return build


def loss_of(encoder: Any, objective: MaskedLMLoss, *columns: Tokens, **options: Any) -> Tensor:
    """Ask, run and score, as the method does."""
    ask = objective.ask(Batch(columns))
    return objective.answered(ask, states_at(encoder, ask.rows, ask.positions, pad_id=0, **options))


def test_equals_the_models_own_masked_lm_loss(
    attached: Callable[..., tuple[Any, MaskedLMLoss]],
    sentences: list[str],
    tiny_folder: Path,
) -> None:
    from transformers import AutoModelForMaskedLM

    encoder, objective = attached(rate=0.4)
    texts = [tokenize(encoder, sentences[:5]), tokenize(encoder, [s[:12] for s in sentences[5:10]])]
    ask = objective.ask(Batch(tuple(texts)))
    found = objective.answered(ask, states_at(encoder, ask.rows, ask.positions, pad_id=0))
    assert len(ask.rows) == 10, "all columns are masked"
    ids, mask = (texts[0] + texts[1]).padded(0, range(10))
    shown, _ = ask.rows.padded(0, range(10))
    chosen = torch.zeros_like(ids, dtype=torch.bool)
    for row, places in enumerate(ask.positions):
        chosen[row, places] = True
    assert torch.equal(shown[~chosen], ids[~chosen]), "nothing else is hidden"
    assert 0 < (shown == encoder.tokenizer.mask_token_id).sum() < chosen.sum()
    model = AutoModelForMaskedLM.from_pretrained(tiny_folder, dtype="float32").eval()
    labels = torch.where(chosen, ids, -100)
    expected = model(input_ids=shown, attention_mask=mask, labels=labels).loss
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    special = torch.isin(ids, torch.tensor(encoder.tokenizer.all_special_ids))
    assert not (chosen & special).any()


def test_gradients_reach_the_encoder_and_a_head_of_its_own(
    attached: Callable[..., tuple[Any, MaskedLMLoss]], sentences: list[str]
) -> None:
    encoder, objective = attached(faithful=True)
    own = {id(p) for p in encoder.parameters()}
    head = list(objective.parameters())
    assert head
    assert not any(id(p) in own for p in head), "the head is a copy, its output matrix not tied"
    assert sum(p.numel() for p in head) < sum(p.numel() for p in encoder.parameters()), "no second encoder"
    torch.manual_seed(0)
    loss_of(encoder, objective, tokenize(encoder, sentences[:20])).backward()
    assert all(p.grad is not None for p in head)
    assert sum(p.grad is not None and bool(p.grad.abs().sum() > 0) for p in encoder.parameters()) > 20


def test_by_default_the_output_matrix_is_the_trained_embeddings(
    attached: Callable[..., tuple[Any, MaskedLMLoss]], sentences: list[str]
) -> None:
    encoder, objective = attached()
    assert objective.lm is not None
    matrix, words = objective.lm.model.get_output_embeddings().weight, word_table(encoder).weight
    assert matrix is words
    torch.manual_seed(0)
    loss_of(encoder, objective, tokenize(encoder, sentences[:20])).backward()
    assert words.grad is not None and bool((words.grad.abs().sum(dim=1) > 0).all()), "of every word, seen or not"
    assert "cls.predictions.decoder.weight" not in (objective.lm_head() or [])
    assert "cls.predictions.bias" in (objective.lm_head() or [])
    both = nn.ModuleList([encoder, objective])
    assert sum(p is words for p in both.parameters()) == 1, "one weight to the optimizer"


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
    loss_of(encoder, objective, tokens)
    assert 0 < rows[0] < 0.25 * tokens.lengths.sum()


def test_the_same_seed_masks_the_same(attached: Callable[..., tuple[Any, MaskedLMLoss]], sentences: list[str]) -> None:
    encoder, objective = attached()
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(loss_of(encoder, objective, tokenize(encoder, sentences[:20])).item())
    assert found[0] == found[1] != found[2]


def test_nothing_masked_is_no_loss(attached: Callable[..., tuple[Any, MaskedLMLoss]]) -> None:
    encoder, objective = attached(rate=1e-9)
    loss = loss_of(encoder, objective, tokenize(encoder, ["the gray cat", "my neighbor"]))
    assert loss.item() == 0
    loss.backward()


@pytest.mark.parametrize("chunk", [None, 4])
def test_in_small_parts_the_loss_and_its_gradient_are_the_same(
    attached: Callable[..., tuple[Any, MaskedLMLoss]],
    sentences: list[str],
    monkeypatch: pytest.MonkeyPatch,
    chunk: int | None,
) -> None:
    """Few rows through the encoder at a time, and few hidden tokens through the head."""
    found = []
    for block in (4096, 7):
        monkeypatch.setattr(masked_lm_loss, "_BLOCK", block)
        encoder, objective = attached()
        torch.manual_seed(0)
        tokens = tokenize(encoder, [text[: 10 + 3 * i] for i, text in enumerate(sentences[:20])])
        loss = loss_of(encoder, objective, tokens, chunk=None if block == 4096 else chunk)
        loss.backward()
        weights = [*encoder.parameters(), *objective.parameters()]
        found.append([loss.detach(), *(p.grad for p in weights if p.grad is not None)])
    assert len(found[0]) == len(found[1]) > 20
    for one, two in zip(*found, strict=True):
        torch.testing.assert_close(one, two, atol=1e-6, rtol=1e-4)


def test_a_sum_knows_its_terms_and_their_weights() -> None:
    contrast, guess = InfoNCE(), MaskedLMLoss()
    assert contrast.parts_of() == [(1.0, contrast)]
    assert (0.5 * (contrast + 0.1 * guess)).parts_of() == [(0.5, contrast), (0.05, guess)]
    assert (contrast + guess).needs_encoder
    assert contrast.lm_head() is None
    assert guess.lm_head() is None, "until it is attached to an encoder"


def test_what_cannot_be(tiny: Callable[..., Any], tmp_path: Path) -> None:
    for rate in (0.0, 1.0):
        with pytest.raises(MirrormaskError, match="The 'rate' of masked-lm must be"):
            MaskedLMLoss(rate)
    with pytest.raises(MirrormaskError, match="must be attached to an encoder first"):
        MaskedLMLoss().ask(Batch((Tokens(()),)))
    encoder = tiny()
    encoder[0].model.save_pretrained(tmp_path / "bare")
    encoder.tokenizer.save_pretrained(tmp_path / "bare")
    encoder.mirrormask_source = str(tmp_path / "bare")
    with pytest.raises(ModelError, match="has no LM head"):
        MaskedLMLoss().attach(encoder)
    del encoder.mirrormask_source
    with pytest.raises(MirrormaskError, match="masked-lm needs an encoder built from a masked language model"):
        MaskedLMLoss().attach(encoder)


@pytest.mark.parametrize(
    ("kind", "faithful"),
    [("bert", False), ("bert", True), ("roberta", False), ("distilbert", True), ("modernbert", False)],
)
def test_the_trained_head_is_saved_with_the_encoder(
    kind: str,
    faithful: bool,
    tiny_of_kind: Callable[[str], Path],
    sentences: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a run saves guesses masked words as the model in training did, and not as its start."""
    start = tiny_of_kind(kind)
    kept: list[Any] = []
    plain = MaskedLMLoss.attach

    def noted(self: MaskedLMLoss, encoder: Any) -> None:
        plain(self, encoder)
        kept.append((self, encoder))

    monkeypatch.setattr(MaskedLMLoss, "attach", noted)
    recipe = build_recipe(
        {
            "model": {"name": str(start), "pooling": "mean"},
            "method": {
                "name": "composition",
                "views": ["dropout", "word-deletion"],
                "objective": ["info-nce", {"name": "masked-lm", "faithful": faithful}],
            },
            "training": {"steps": 3, "batch_size": 8, "learning_rate": 1e-2, "precision": "fp32", "average": 0.5},
        }
    )
    done = run_recipe(recipe, tmp_path / "run", source=sentences[:40])
    ((objective, encoder),) = kept
    tokens = tokenize(encoder, sentences[:6])
    places = [np.array([1, 2])] * 6
    with torch.no_grad():
        expected = objective.lm.head(states_at(encoder.eval(), tokens, places, pad_id=0))
        found = MaskedLM.load(done.model, device="cpu").logits(tokens, places)
        before = MaskedLM.load(start, device="cpu").logits(tokens, places)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
    assert (found - before).abs().max() > 0.1
    saved = load_file(done.model / "lm_head.safetensors")
    assert saved.keys() == objective.lm_head().keys()
    assert all(torch.equal(value, objective.lm_head()[name]) for name, value in saved.items())
    # it goes on from there: another encoder trained from this one keeps the head
    save_encoder(build_encoder(done.model, device="cpu"), tmp_path / "second")
    again = MaskedLM.load(tmp_path / "second", device="cpu").logits(tokens, places)
    torch.testing.assert_close(again, found)


def test_shared_it_guesses_words_of_the_anchors_in_their_own_forward(
    attached: Callable[..., tuple[Any, MaskedLMLoss]], sentences: list[str]
) -> None:
    from mirrormask.training.method import Composition, Method
    from mirrormask.views import Vocabulary
    from mirrormask.views.dropout import Dropout

    encoder, _ = attached()
    objective = MaskedLMLoss(rate=0.4, shared=True)
    method = Method(
        encoder, Composition((Dropout(0.0), Dropout(0.0)), InfoNCE() + objective), Vocabulary.of(encoder)
    ).eval()
    columns = tuple(tokenize(encoder, texts) for texts in (sentences[:6], sentences[6:12]))
    rows: list[int] = []
    embedding_module(encoder).register_forward_hook(lambda _module, _given, out: rows.append(len(out)))
    torch.manual_seed(4)
    found = method(Batch(columns), 0)
    assert sum(rows) == 12, "no forward of its own"
    torch.manual_seed(4)
    ask = objective.show(Batch(columns))[0]
    hidden = Batch((ask.rows, columns[1]))
    alone = Method(encoder, Composition((Dropout(0.0), Dropout(0.0)), InfoNCE()), Vocabulary.of(encoder)).eval()
    expected = alone(hidden, 0) + objective.answered(ask, states_at(encoder, ask.rows, ask.positions, pad_id=0))
    torch.testing.assert_close(found, expected)
