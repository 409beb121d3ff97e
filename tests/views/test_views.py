"""What holds for views as such: stages, keys, and chains of several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mirrormask.core.batch import Batch, Frame, Ids, Tokens
from mirrormask.models.bulk import tokenize
from mirrormask.training.method import Method
from mirrormask.views import Chain, View, Vocabulary, rewrite_texts
from mirrormask.views.drop_head import DropHead
from mirrormask.views.dropout import Dropout
from mirrormask.views.feature_cutoff import FeatureCutoff
from mirrormask.views.fgsm import FGSM
from mirrormask.views.gaussian_noise import GaussianNoise
from mirrormask.views.momentum import Momentum
from mirrormask.views.output_fgsm import OutputFGSM
from mirrormask.views.output_mask import OutputMask
from mirrormask.views.output_noise import OutputNoise
from mirrormask.views.token_shuffle import TokenShuffle
from mirrormask.views.twin import Twin
from mirrormask.views.word_deletion import WordDeletion


class Plus(View):
    gradient_at = "words"

    def __init__(self, amount: float) -> None:
        super().__init__()
        self.amount = amount

    def rewrite(self, rows: Tokens, rng: np.random.Generator, vocabulary: Vocabulary) -> Tokens:
        return Tokens.of([np.append(row, int(self.amount)) for row in rows.rows])

    def words(self, x: Tensor, mask: Tensor) -> Tensor:
        return 2 * x + self.amount

    embeddings = words

    def output(self, z: Tensor) -> Tensor:
        return 2 * z + self.amount

    def perturb(self, x: Tensor, gradient: Tensor) -> Tensor:
        return 2 * x + self.amount * gradient


def test_a_chain_does_all_stages_in_order() -> None:
    chain = Chain([Plus(1.0), Plus(10.0)])
    x, mask = torch.ones(1, 1, 1), torch.ones(1, 1)
    assert chain.words(x, mask).item() == chain.embeddings(x, mask).item() == chain.output(x).item() == 16
    assert chain.perturb_at("words", x, torch.tensor(2.0)).item() == 2 * (2 + 2) + 20
    assert chain.perturb_at("output", x, torch.tensor(2.0)).item() == 1
    words = Vocabulary(Frame(np.array([]), np.array([])), np.ones(1, dtype=np.bool_), None, frozenset())
    assert chain.rewrite(Tokens.of([np.array([5])]), np.random.default_rng(0), words).rows[0].tolist() == [5, 1, 10]


def test_a_chain_is_what_its_views_are() -> None:
    assert Chain([WordDeletion(), TokenShuffle()]).forward_key == "plain"
    assert Chain([Dropout(0.2), GaussianNoise()]).forward_key == Chain([Dropout(0.2), GaussianNoise()]).forward_key
    assert Chain([Dropout(0.2), GaussianNoise()]).forward_key != Chain([Dropout(0.3), GaussianNoise()]).forward_key
    assert [Chain([WordDeletion(), FGSM()]).attacks_at(stage) for stage in ("words", "output")] == [True, False]
    assert all(Chain([FGSM(), OutputFGSM()]).attacks_at(stage) for stage in ("words", "output"))
    assert Chain([DropHead(), Dropout()]).hooks
    assert Chain([OutputMask(), OutputNoise(before_head=True)]).shares_forward
    assert Chain([OutputMask(), OutputNoise(before_head=True)]).before_head
    assert not Chain([OutputMask(), Dropout(0.2)]).shares_forward, "another dropout needs a forward of its own"
    stages = [s for s in ("rewrite", "words", "embeddings") if Chain([TokenShuffle(), FeatureCutoff()]).works_at(s)]
    assert stages == ["rewrite", "embeddings"]


def test_a_chain_runs_its_contexts_and_encoders(tiny: Callable[..., Any]) -> None:
    encoder = tiny()
    chain = Chain([Dropout(0.3), Momentum(0.5)])
    chain.attach(encoder, torch.nn.Linear(2, 2))
    slow = chain.encoder_of(encoder)
    assert slow is not encoder
    assert chain.head_of(None) is not None
    with chain.forward_with(slow):
        assert {layer.p for layer in slow.modules() if isinstance(layer, torch.nn.Dropout)} == {0.3}
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()
    with torch.no_grad():
        next(encoder.parameters()).add_(1.0)
    before = next(slow.parameters()).clone()
    chain.observe(encoder, torch.nn.Linear(2, 2))
    assert not torch.equal(next(slow.parameters()), before)


def test_keys_tell_which_rows_share_a_forward() -> None:
    assert GaussianNoise(0.1).forward_key == GaussianNoise(0.1).forward_key != GaussianNoise(0.2).forward_key
    assert FGSM().forward_key != "plain"
    assert OutputMask().forward_key == WordDeletion().forward_key == "plain"
    assert Twin().forward_key != Twin().forward_key, "each has a twin of its own"


def test_rows_of_equal_views_run_together_and_others_apart(method: Callable[..., Method], batch: Batch) -> None:
    def forwards(views: list[Any]) -> int:
        trained = method(views)
        calls = 0

        def count(*_: Any) -> None:
            nonlocal calls
            calls += 1

        trained.encoder[0].register_forward_pre_hook(count)
        trained(batch, 0)
        return calls

    assert forwards(["gaussian-noise", "gaussian-noise"]) == 1
    assert forwards(["dropout", "word-deletion"]) == 1
    assert forwards(["dropout", "gaussian-noise"]) == 2
    assert forwards(["dropout", "output-noise"]) == 1
    assert forwards(["dropout", "twin"]) == 1, "the other forward is the twin's"
    assert forwards(["dropout", "fgsm"]) == 4
    assert forwards(["fgsm", "fgsm"]) == 2


def test_a_view_on_characters_can_reach_the_tokenizer(tiny: Callable[..., Any], sentences: list[str]) -> None:
    """Every word backwards, which no operation on ids could do."""
    encoder = tiny()
    words = Vocabulary.of(encoder)
    assert words.special_ids == frozenset(encoder.tokenizer.all_special_ids)
    assert words.mask_id == encoder.tokenizer.mask_token_id

    def backwards(ids: Ids) -> Ids:
        return words.ids_of(" ".join(word[::-1] for word in words.text_of(ids).split()))

    rows = tokenize(encoder, sentences[:3])
    seen = rewrite_texts(rows, words, backwards)
    for text, row in zip(sentences[:3], seen.rows, strict=True):
        spelled = encoder.tokenizer.tokenize(" ".join(word[::-1] for word in text.split()))
        assert encoder.tokenizer.convert_ids_to_tokens(row.tolist()) == ["[CLS]", *spelled, "[SEP]"]
