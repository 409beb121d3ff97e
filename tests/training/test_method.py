"""How a method runs its views: heads, long rows, compiled code, and what is refused."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from mirrormask.core.batch import Batch, Step, Tokens, text_ids_of
from mirrormask.core.errors import MirrormaskError
from mirrormask.methods.composition import composition
from mirrormask.negatives import Local, NegativeSource
from mirrormask.negatives.memory_bank import MemoryBank
from mirrormask.objectives.info_nce import info_nce
from mirrormask.runs.recipe import build_recipe
from mirrormask.runs.runner import run_recipe
from mirrormask.training import compiling, forward
from mirrormask.training.compiling import compile_encoder, restore
from mirrormask.training.method import Method
from mirrormask.views import Vocabulary


@pytest.fixture
def compose(tiny: Callable[..., Any]) -> Callable[..., Method]:
    def build(table: dict[str, Any], **options: Any) -> Method:
        encoder = tiny(pooling="mean")
        return Method(encoder, composition(**table), Vocabulary.of(encoder), **options).train()

    return build


def loss_of(method: Method, batch: Batch, seed: int = 5) -> tuple[Tensor, list[Tensor]]:
    method.zero_grad()
    torch.manual_seed(seed)
    loss = method(batch, seed)
    loss.backward()
    return loss.detach(), [p.grad.clone() for p in method.parameters() if p.grad is not None]


@pytest.mark.parametrize("before_head", [False, True])
def test_an_output_view_works_before_or_after_the_head(
    compose: Callable[..., Method], batch_of: Callable[..., Batch], sentences: list[str], before_head: bool
) -> None:
    torch.manual_seed(0)
    head = nn.Linear(32, 32)
    views = ["dropout", {"name": "output-largest", "share": 0.5, "before_head": before_head}]
    method = compose({"views": views}, head=head).eval()
    z = torch.from_numpy(method.encoder.encode(sentences[:8]))

    def largest(x: Tensor) -> Tensor:
        return x.scatter(1, x.abs().topk(16, dim=1).indices, 0.0)

    positive = head(largest(z)) if before_head else largest(head(z))
    expected = info_nce(head(z), positive, temperature=0.05)
    torch.testing.assert_close(method(batch_of(sentences[:8]), 0), expected, atol=1e-4, rtol=1e-4)


def test_pairs_keep_a_forward_for_each_column(
    compose: Callable[..., Method], batch_of: Callable[..., Batch], sentences: list[str]
) -> None:
    """A view of the encoder's output shares the anchor's forward only where the positive is the anchor's text."""
    method = compose({"views": ["dropout", {"name": "output-smallest", "share": 0.5}]}).eval()
    one, two = (torch.from_numpy(method.encoder.encode(texts)) for texts in (sentences[:8], sentences[8:16]))
    two = two.scatter(1, two.abs().topk(16, dim=1, largest=False).indices, 0.0)
    found = method(batch_of(sentences[:8], sentences[8:16]), 0)
    torch.testing.assert_close(found, info_nce(one, two, temperature=0.05), atol=1e-4, rtol=1e-4)


def test_rows_that_a_view_made_too_long_are_cut_before_the_frame_ends(
    compose: Callable[..., Method], monkeypatch: pytest.MonkeyPatch
) -> None:
    method = compose({"views": ["dropout", {"name": "word-repetition", "rate": 0.9}]})
    assert method.encoder.max_seq_length == 64
    row = np.array([2, *range(10, 72), 3])
    seen: list[Tokens] = []
    plain = forward.encode

    def noted(encoder: Any, tokens: Tokens, **options: Any) -> Tensor:
        seen.append(tokens)
        return plain(encoder, tokens, **options)

    monkeypatch.setattr("mirrormask.training.method.encode", noted)
    for seed in range(3):
        method(Batch((Tokens.of([row, row]),)), seed)
    assert all(len(row) <= 64 and (row[0], row[-1]) == (2, 3) for tokens in seen for row in tokens.rows)
    assert any(len(set(row.tolist())) < 64 for tokens in seen for row in tokens.rows), "something was repeated"


def test_a_dropout_rate_holds_when_activations_are_computed_again(
    compose: Callable[..., Method],
    batch_of: Callable[..., Batch],
    sentences: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = {"views": [{"name": "dropout", "rate": 0.3}, {"name": "dropout", "rate": 0.3}]}
    batch = batch_of(sentences[:9])
    cached, grads = loss_of(compose(table, chunk=4), batch)
    cut = forward.shards_for
    monkeypatch.setattr(forward, "shards_for", lambda tokens, device, chunk, whole=False: cut(tokens, device, 4))
    plain, expected = loss_of(compose(table), batch)
    torch.testing.assert_close(cached, plain)
    for one, two in zip(grads, expected, strict=True):
        torch.testing.assert_close(one, two, atol=1e-6, rtol=1e-4)


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")  # torch hides it itself
@pytest.mark.parametrize(
    "views",
    [
        ["dropout", "gaussian-noise"],
        ["dropout", "fgsm"],
        ["dropout", ["token-cutoff", "drop-head"]],
    ],
    ids=str,
)
def test_compiled_code_gives_the_same_loss(
    compose: Callable[..., Method],
    batch_of: Callable[..., Batch],
    sentences: list[str],
    monkeypatch: pytest.MonkeyPatch,
    views: list[Any],
) -> None:
    """Compiled code keeps the hooks it met first, so forwards with hooks must go around it."""
    real = torch.compile
    ran: list[int] = []

    def eager(function: Any, **options: Any) -> Any:
        def counted(graph: Any, _inputs: Any) -> Any:
            ran.append(1)
            return graph.forward

        return real(function, backend=counted, **options)

    monkeypatch.setattr(compiling.torch, "compile", eager)
    batches = [batch_of(sentences[i : i + 8]) for i in (0, 8, 16)]
    plain, compiled = compose({"views": views}, pad_to=16), compose({"views": views}, pad_to=16)
    compile_encoder(compiled.encoder)
    for seed, batch in enumerate(batches):
        (one, first), (two, second) = loss_of(plain, batch, seed), loss_of(compiled, batch, seed)
        torch.testing.assert_close(one, two, atol=1e-4, rtol=1e-4)
        for left, right in zip(first, second, strict=True):
            torch.testing.assert_close(left, right, atol=1e-4, rtol=1e-3)
    assert ran, "something was compiled"
    restore(compiled.encoder)
    torch._dynamo.reset()


@pytest.mark.parametrize("views", [["dropout", "twin"], ["dropout", "momentum"], ["dropout", "layer-sample"]], ids=str)
def test_other_encoders_are_not_saved_with_the_model(
    views: list[str], tiny_folder: Path, sentences: list[str], tmp_path: Path
) -> None:
    found = []
    for number, each in enumerate((["dropout", "dropout"], views)):
        recipe = build_recipe(
            {
                "model": {"name": str(tiny_folder)},
                "method": {"name": "composition", "views": each},
                "training": {"steps": 2, "batch_size": 8, "precision": "fp32"},
            }
        )
        done = run_recipe(recipe, tmp_path / str(number), source=sentences[:40])
        found.append({name: value.shape for name, value in load_file(done.model / "model.safetensors").items()})
        files = sorted(p.name for p in done.model.rglob("*") if p.is_file())
    assert found[0] == found[1]
    assert "model.safetensors" in files


@pytest.mark.parametrize("stabilizer", ["sam", "awp"])
def test_a_step_is_remembered_as_it_was_before_the_weights_moved(
    compose: Callable[..., Method], batch_of: Callable[..., Batch], sentences: list[str], stabilizer: str
) -> None:
    from mirrormask.stabilizers import stabilizers

    method, batch = compose({}), batch_of(sentences[:8])

    def closure(draw: int = 0) -> Tensor:
        return loss_of(method, batch)[0]

    closure()
    before = method.similarities()
    stabilizers.build(stabilizer).step(closure, method)
    assert method.similarities() == before
    assert not method.moved


def test_what_does_not_go_together_is_refused(compose: Callable[..., Method]) -> None:
    with pytest.raises(
        MirrormaskError, match="A method needs an objective over sentence vectors. Add one, such as info-nce"
    ):
        compose({"objective": "masked-lm"})
    with pytest.raises(MirrormaskError, match="Both views bring an encoder of their own"):
        compose({"views": ["momentum", "twin"]})
    with pytest.raises(MirrormaskError, match="which a momentum encoder or a frozen copy does not give"):
        compose({"views": ["dropout", ["momentum", "fgsm"]]})
    for first in ("twin", "momentum", "layer-sample", ["dropout", "twin"]):
        with pytest.raises(MirrormaskError, match="changes the vectors of the first, and the first brings an encoder"):
            compose({"views": [first, "output-noise"]})


def test_an_auxiliary_goes_with_gradient_caching(
    compose: Callable[..., Method],
    batch_of: Callable[..., Batch],
    sentences: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both = {"objective": ["info-nce", {"name": "masked-lm", "weight": 0.5}]}
    batch = batch_of([" ".join(text.split()[: 3 + i % 7]) for i, text in enumerate(sentences[:9])])
    cached, grads = loss_of(compose(both, chunk=4), batch)
    cut = forward.shards_for
    monkeypatch.setattr(forward, "shards_for", lambda tokens, device, chunk, whole=False: cut(tokens, device, 4))
    plain, expected = loss_of(compose(both), batch)
    torch.testing.assert_close(cached, plain)
    assert len(grads) == len(expected) > 30
    for one, two in zip(grads, expected, strict=True):
        torch.testing.assert_close(one, two, atol=1e-6, rtol=1e-4)


def joined(*parts: Batch) -> Batch:
    return Batch(tuple(sum(columns[1:], columns[0]) for columns in zip(*(part.columns for part in parts), strict=True)))


class Noted(NegativeSource):
    """Keeps what it is shown."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[Step, Local | None]] = []

    def draw(self, step: Step, criterion: Any) -> None:
        return None

    def observe(self, step: Step, local: Local | None = None) -> None:
        self.seen.append((step, local))


def test_sources_see_all_parts_of_an_accumulated_update(
    compose: Callable[..., Method], batch_of: Callable[..., Batch], sentences: list[str]
) -> None:
    method = compose({}, parts=3, head=nn.Linear(32, 32))
    source = method.negatives = Noted()
    method.eval()
    method(batch_of(sentences[90:98]), 0)  # an earlier pass, such as the estimate's
    parts = [batch_of(sentences[i : i + 8]) for i in (0, 8, 16)]
    for part in parts:
        method(part, 0)
        with torch.no_grad():
            method(batch_of(sentences[60:64]), 0)  # measuring is not remembered
    method.observe()
    ((step, local),) = source.seen
    assert local is not None
    assert local.batches == tuple(parts)
    expected = local.encode(local.encoder, local.head, joined(*parts).columns[0])
    torch.testing.assert_close(step.anchor, expected, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(step.positive, expected, atol=1e-5, rtol=1e-4)
    assert not step.anchor.requires_grad


def test_the_bank_of_an_accumulated_run_holds_all_of_its_rows(
    tiny_folder: Path, sentences: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []
    plain = MemoryBank.observe

    def noted(self: MemoryBank, step: Step, local: Local | None = None) -> None:
        plain(self, step, local)
        sizes.append(len(self.bank))

    monkeypatch.setattr(MemoryBank, "observe", noted)
    recipe = build_recipe(
        {
            "model": {"name": str(tiny_folder)},
            "method": {"name": "composition", "negatives": {"name": "memory-bank", "size": 40}},
            "training": {"steps": 2, "batch_size": 8, "accumulation": 3, "precision": "fp32"},
        }
    )
    run_recipe(recipe, tmp_path / "run", source=sentences[:100])
    assert sizes == [24, 40]


def test_objectives_see_the_rows_of_all_processes_and_never_of_one(
    compose: Callable[..., Method],
    batch_of: Callable[..., Batch],
    sentences: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two processes, played by one: what is gathered is there twice."""
    monkeypatch.setattr("mirrormask.training.method.gather_rows", lambda rows: torch.cat([rows, rows]))
    method = compose({}).eval()
    plain = batch_of(sentences[:6], sentences[6:12])
    batch = Batch(plain.columns, labels=torch.arange(6), text_ids=text_ids_of(plain.columns))
    seen: list[Step] = []
    method.objective.register_forward_pre_hook(lambda _module, given: seen.append(given[0]))
    method(batch, 0)
    (step,) = seen
    assert step.labels is not None
    assert step.text_ids is not None
    assert step.labels.tolist() == [*range(6)] * 2
    assert step.text_ids.shape == (12, 2)
    assert [len(rows) for rows in (step.anchor, step.positive)] == [12, 12]
    assert not any(isinstance(value, (Batch, Tokens)) for value in vars(step).values()), "no rows of one process"
    with pytest.raises(TypeError, match="The labels of a step must have its 12 rows. Got 6"):
        dataclasses.replace(step, labels=batch.labels)


@pytest.mark.parametrize("kind", ["modernbert", "bert"])
def test_views_that_are_the_same_are_refused(
    kind: str, tiny_of_kind: Callable[[str], Path], sentences: list[str], tmp_path: Path
) -> None:
    """ModernBERT has no dropout, so its dropout views are one vector; with a rate they differ."""
    folder = tiny_of_kind(kind)

    def run(out: str, **method: Any) -> None:
        recipe = build_recipe(
            {
                "model": {"name": str(folder)},
                "method": {"name": "simcse-unsup", **method},
                "training": {"steps": 1, "batch_size": 8, "precision": "fp32"},
            }
        )
        run_recipe(recipe, tmp_path / out, source=sentences[:40])

    refused = pytest.raises(MirrormaskError, match="Both views of a sentence are the same here")
    with refused if kind == "modernbert" else nullcontext():
        run("own")
    with refused:
        run("none", dropout=0.0)
    run("some", dropout=0.1)


def test_the_auxiliary_is_added_with_its_weight(
    compose: Callable[..., Method], batch_of: Callable[..., Batch], sentences: list[str]
) -> None:
    batch = batch_of(sentences[:8])
    losses = []
    for weight in (1e-12, 0.1, 0.2):
        objective = ["info-nce", {"name": "masked-lm", "weight": weight}]
        losses.append(loss_of(compose({"objective": objective}), batch)[0].item())
    assert losses[1] - losses[0] == pytest.approx((losses[2] - losses[0]) / 2, rel=1e-3)
    assert losses[1] > losses[0]
