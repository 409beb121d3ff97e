"""Every registered part trains a tiny model through the one loop, the same way each time, and resumes to the bit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from mirrormask.core.batch import Batch
from mirrormask.core.framing import frame_of
from mirrormask.data.text.corpus import build_corpus
from mirrormask.data.text.tokens import LazyTokens
from mirrormask.data.text.vocabulary import word_starts
from mirrormask.methods.composition import composition
from mirrormask.models.bulk import tokenize
from mirrormask.models.glow import Flow
from mirrormask.objectives import objectives
from mirrormask.runs.catalogue import registries
from mirrormask.training import forward
from mirrormask.training.checkpoint import weights_of
from mirrormask.training.loop import Reporter, fit
from mirrormask.training.method import Composition, Method
from mirrormask.training.settings import Settings
from mirrormask.views import Vocabulary

FLOW = "flow-likelihood"


def tables() -> dict[str, dict[str, Any]]:
    """Return a composition for each part, the part in its place and SimCSE around it."""
    found: dict[str, dict[str, Any]] = {}
    for name in registries()["view"].names():
        found[f"view:{name}"] = {"views": ["dropout", name]}
    for part in objectives:
        alone = not part.build().needs_encoder and part.name != FLOW  # which teaches a flow, and never the encoder
        found[f"objective:{part.name}"] = {"objective": part.name if alone else ["info-nce", part.name]}
    for name in registries()["negative source"].names():
        found[f"negatives:{name}"] = {"negatives": name}
    for name in registries()["stabilizer"].names():
        found[f"stabilizer:{name}"] = {"stabilizer": name}
    found["awp + gaussian-noise"] = {"views": ["gaussian-noise", "gaussian-noise"], "stabilizer": "awp"}
    found["awp + fgsm"] = {"views": ["dropout", "fgsm"], "stabilizer": {"name": "awp", "redraw": True}}
    found["twin + contrastive-tension"] = {"views": ["dropout", "twin"], "objective": "contrastive-tension"}
    found["momentum + memory-bank"] = {"views": ["dropout", "momentum"], "negatives": "memory-bank"}
    slow = {"name": "memory-bank", "size": 20, "momentum": 0.9}
    found["word-repetition + slow memory-bank"] = {"views": ["dropout", "word-repetition"], "negatives": slow}
    found["chains"] = {"views": [["word-deletion", "fgsm", "gaussian-noise"], ["token-shuffle", "feature-cutoff"]]}
    return found


TABLES = tables()
EVERY = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES.keys())


def test_every_part_is_here() -> None:
    kinds = ("view", "objective", "negative source", "stabilizer")
    assert len(TABLES) == sum(len(registries()[kind].names()) for kind in kinds) + 6


class Given:
    """Batches from a list, over and over."""

    def __init__(self, batches: list[Batch]) -> None:
        self.batches = batches

    def __len__(self) -> int:
        return len(self.batches)

    def stream(self, start: int, stop: int, rank: int, world: int) -> Iterator[Batch]:
        for number in range(start, stop):
            yield self.batches[number % len(self.batches)]


@pytest.fixture(scope="module")
def text(
    tiny_of_options: Callable[..., Any], sentences: list[str], tmp_path_factory: pytest.TempPathFactory
) -> LazyTokens:
    """Return the tokens of some sentences, for parts that read the text before training."""
    corpus = build_corpus(sentences, tmp_path_factory.mktemp("corpus") / "text")
    return LazyTokens(corpus, tiny_of_options().tokenizer, max_tokens=32)


@pytest.fixture
def make(tiny: Callable[..., Any], text: LazyTokens) -> Callable[..., tuple[Method, Composition]]:
    """Return a builder of a method with a training-only head, over a fresh tiny encoder."""

    def build(table: dict[str, Any], chunk: int | None = None) -> tuple[Method, Composition]:
        torch.manual_seed(0)
        encoder, parts = tiny(pooling="mean"), composition(**table)
        tokenizer = encoder.tokenizer
        special = frozenset(tokenizer.all_special_ids)
        words = Vocabulary(frame_of(tokenizer), word_starts(tokenizer), tokenizer.mask_token_id, special, tokenizer)
        head: nn.Module | None = nn.Sequential(nn.Linear(32, 32), nn.Tanh())
        if FLOW in table.get("objective", ""):
            encoder.append(Flow(32, 2, 1))
            head = None
        parts.objective.read(text)
        return Method(encoder, parts, words, head=head, chunk=chunk).train(), parts

    return build


@pytest.fixture
def source(table: dict[str, Any], tiny_of_options: Callable[..., Any], sentences: list[str]) -> Given:
    """Return batches of as many columns as the objective asks for: words of a text, and the text."""
    encoder = tiny_of_options()
    texts = [" ".join(text.split()[: 3 + i % 7]) for i, text in enumerate(sentences[:32])]
    columns = [texts]
    name = table.get("objective")
    if isinstance(name, str) and objectives.build(name).columns == 2:
        columns = [[" ".join(text.split()[:2]) for text in texts], texts]
    rows = [[tokenize(encoder, column[i * 8 : (i + 1) * 8]) for column in columns] for i in range(4)]
    return Given([Batch(tuple(each), labels=torch.arange(8) % 3) for each in rows])


class Killed(Exception):
    pass


class Killer(Reporter):
    def step(self, step: int, metrics: dict[str, float]) -> None:
        if step == 4:
            raise Killed


def states(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in weights_of(model).items()}


@EVERY
def test_it_trains_and_resumes_to_the_bit(
    table: dict[str, Any], make: Callable[..., tuple[Method, Composition]], source: Given, tmp_path: Path
) -> None:
    settings = Settings(steps=5, checkpoint_every=2, batch_size=8, learning_rate=1e-3, precision="fp32")

    def run(folder: Path, **options: Any) -> dict[str, Tensor]:
        method, parts = make(table)
        before = states(method.encoder)
        fit(method, source, settings, folder, stabilizer=parts.stabilizer, **options)
        after = states(method.encoder)
        assert sum(not torch.equal(before[name], after[name]) for name in before) > 20, "the encoder learned"
        return states(method)

    whole = run(tmp_path / "whole")
    rows = [json.loads(line) for line in (tmp_path / "whole" / "metrics.jsonl").read_text().splitlines()]
    assert all(row["gradient_norm"] > 0 for row in rows)
    assert all(torch.isfinite(value).all() for value in whole.values() if value.is_floating_point())
    with pytest.raises(Killed):
        run(tmp_path / "stopped", reporter=Killer())
    resumed = run(tmp_path / "stopped", resume=True)
    assert whole.keys() == resumed.keys()
    for name in whole:
        assert torch.equal(whole[name], resumed[name]), name


@EVERY
def test_it_goes_with_gradient_caching(
    table: dict[str, Any],
    make: Callable[..., tuple[Method, Composition]],
    source: Given,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Computing activations again must replay whatever the part draws, hooks or swaps."""

    def gradients(chunk: int | None) -> dict[str, Tensor]:
        method, _ = make(table, chunk)
        method.observe()
        torch.manual_seed(3)
        method(source.batches[0], 3).backward()
        return {n: p.grad.clone() for n, p in method.named_parameters() if p.grad is not None}

    cached = gradients(3)
    cut = forward.shards_for
    monkeypatch.setattr(forward, "shards_for", lambda tokens, device, chunk, whole=False: cut(tokens, device, 3))
    plain = gradients(None)
    assert cached.keys() == plain.keys()
    assert len(plain) > 20
    for name in plain:
        torch.testing.assert_close(cached[name], plain[name], atol=1e-6, rtol=1e-4, msg=name)


@EVERY
def test_a_loss_without_gradients_is_the_same_loss(
    table: dict[str, Any], make: Callable[..., tuple[Method, Composition]], source: Given
) -> None:
    """Choosing a checkpoint by the loss on held-out text runs the method without gradients."""
    method, _ = make(table)
    found = []
    for enabled in (True, False):
        torch.manual_seed(3)
        with torch.set_grad_enabled(enabled):
            found.append(method(source.batches[0], 3).detach())
    torch.testing.assert_close(found[0], found[1])
