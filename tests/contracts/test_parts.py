"""What holds for every registered part, whoever adds it."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import mirrormask
from mirrormask.core.batch import Step, Tokens
from mirrormask.core.errors import MirrormaskError
from mirrormask.core.framing import frame_of
from mirrormask.core.registry import Part, configuration
from mirrormask.data.text.corpus import build_corpus
from mirrormask.data.text.tokens import build_tokens
from mirrormask.data.text.vocabulary import word_starts
from mirrormask.models.bulk import tokenize
from mirrormask.objectives.contrastive_tension import ContrastiveTension
from mirrormask.runs.catalogue import PLACES, catalogue, registries
from mirrormask.training.forward import encode
from mirrormask.training.method import Composition, Method
from mirrormask.views import View, Vocabulary

SOURCE = Path(mirrormask.__file__).parent.parent


def written() -> dict[str, list[str]]:
    """Return the names of our parts by kind, as a plain search finds them in the files of their folders."""
    found = {}
    for kind, place in PLACES.items():
        module, _, registry = place.partition(":")
        folder = SOURCE.joinpath(*module.split("."))
        files = sorted(folder.glob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]
        text = "".join(file.read_text(encoding="utf-8") for file in files)
        found[kind] = sorted(re.findall(rf'^@{registry}\.register\("([^"]+)"\)', text, re.MULTILINE))
    return found


EVERY = [pytest.param(part, id=f"{part.kind}:{part.name}") for parts in catalogue().values() for part in parts]

CLASSES = [part for kind, parts in catalogue().items() if kind not in ("pooling", "method") for part in parts]


def of_kind(kind: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("part", list(registries()[kind]), ids=registries()[kind].names())


def test_every_part_in_a_file_is_found_and_tested_here() -> None:
    ours = {
        kind: [part.name for part in parts if part.build.__module__.startswith("mirrormask.")]
        for kind, parts in catalogue().items()
    }
    assert ours == written()
    assert all(written().values())
    assert len(EVERY) == sum(len(parts) for parts in catalogue().values()), "those from outside too"


@pytest.mark.parametrize("part", EVERY)
def test_a_part_says_what_it_is_and_where_it_comes_from(part: Part[Any]) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", part.name)
    assert re.search(r"\b(19|20)\d\d\b", part.paper), "the paper has a year"
    assert part.summary.endswith(".")
    assert ". " not in part.summary, "one sentence"
    assert len(part.summary) > 20
    assert not {"args", "kwargs"} & set(part.parameters), "explicit parameters only"


@pytest.mark.parametrize("part", EVERY)
def test_an_unknown_parameter_is_an_error_that_names_the_known_ones(part: Part[Any]) -> None:
    registry = registries()[part.kind]
    with pytest.raises(MirrormaskError, match=f"{part.kind} '{part.name}' has no parameter 'zzz'.* It takes: "):
        registry.build(part.name, zzz=1)
    for name in part.parameters:
        wrong = name[:-1] + name[-1] * 2
        with pytest.raises(MirrormaskError, match=f"Did you mean '{name}'"):
            registry.build(part.name, **{wrong: 1})


@pytest.mark.parametrize("kind", PLACES)
def test_an_unknown_name_is_an_error_that_offers_the_nearest(kind: str) -> None:
    registry = registries()[kind]
    with pytest.raises(MirrormaskError, match=f"There is no {kind} 'zzz'"):
        registry["zzz"]
    for name in registry.names():
        with pytest.raises(MirrormaskError, match="Did you mean '"):
            registry[name + "x"]


@pytest.mark.parametrize("part", CLASSES, ids=lambda part: f"{part.kind}:{part.name}")
def test_the_constructor_is_the_configuration(part: Part[Any]) -> None:
    """Every parameter is kept under its own name, so that a run record can read it back."""
    built = part.build()
    assert isinstance(built, nn.Module) or part.kind in ("pairing", "suite", "transform")
    assert configuration(built) == {"type": type(built).__name__, **part.parameters}


@of_kind("method")
def test_a_method_hands_every_parameter_on(part: Part[Composition]) -> None:
    """Changing a parameter of a method changes what its parts say about themselves."""
    changed: dict[type, Any] = {
        float: lambda v: v / 2 + 0.01,
        bool: lambda v: not v,
        int: lambda v: v + 1,
        str: lambda v: f"other {v}",
    }
    if part.name == "composition":  # its parameters are parts: tests/methods/test_composition.py
        return
    plain = part.build().record()
    for name, default in part.parameters.items():
        value = 0.3 if default is None else changed[type(default)](default)
        assert part.build(**{name: value}).record() != plain, name


@of_kind("method")
def test_a_method_names_parts_and_settings_that_exist(part: Part[Composition]) -> None:
    from mirrormask.training.settings import Settings

    built = part.build()
    assert len(built.views) == 2
    name, parameters = built.pairing
    registries()["pairing"].build(name, **parameters)
    assert built.pooling in registries()["pooling"].names()
    Settings(**built.training)


# views ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def rows(tiny: Callable[..., Any], sentences: list[str]) -> tuple[Any, Tokens, Vocabulary]:
    encoder = tiny(pooling="mean")
    return encoder, tokenize(encoder, [*sentences[:6], sentences[7][:9]]), Vocabulary.of(encoder)


def seen(view: View, encoder: Any, tokens: Tokens, vocabulary: Vocabulary, seed: int) -> tuple[Tokens, Tensor]:
    """Send rows through all stages of a view, in training mode."""
    view.attach(encoder.train(), None)
    torch.manual_seed(seed)
    rewritten = view.rewrite(tokens, np.random.default_rng(seed), vocabulary)
    used = view.encoder_of(encoder)
    words, embed = (getattr(view, stage) if view.works_at(stage) else None for stage in ("words", "embeddings"))
    vectors = encode(used, rewritten, pad_id=0, words=words, embed=embed, within=lambda: view.forward_with(used))
    return rewritten, view.output(vectors)


@of_kind("view")
def test_a_view_keeps_shapes_and_lets_gradients_through(part: Part[View], rows: tuple[Any, Tokens, Vocabulary]) -> None:
    encoder, tokens, vocabulary = rows
    view = part.build()
    rewritten, vectors = seen(view, encoder, tokens, vocabulary, 3)
    assert vectors.shape == (len(tokens), encoder.get_embedding_dimension())
    assert torch.isfinite(vectors).all()
    assert len(rewritten) == len(tokens)
    prefix, suffix = vocabulary.frame.prefix.tolist(), vocabulary.frame.suffix.tolist()
    for row in rewritten.rows:
        assert row[: len(prefix)].tolist() == prefix
        assert row[len(row) - len(suffix) :].tolist() == suffix
    if any(p.requires_grad for p in view.encoder_of(encoder).parameters()):
        vectors.square().sum().backward()  # type: ignore[no-untyped-call]
        used = view.encoder_of(encoder)
        reached = [p for p in used.parameters() if p.grad is not None and p.grad.abs().sum() > 0]
        assert len(reached) > 20
    else:
        assert not vectors.requires_grad, "a frozen copy takes no gradient"


@of_kind("view")
def test_a_view_draws_the_same_under_the_same_seed(part: Part[View], rows: tuple[Any, Tokens, Vocabulary]) -> None:
    encoder, tokens, vocabulary = rows
    view = part.build()
    (one, a), (two, b), (_, c) = (seen(view, encoder, tokens, vocabulary, seed) for seed in (3, 3, 4))
    assert all(np.array_equal(x, y) for x, y in zip(one.rows, two.rows, strict=True))
    assert torch.equal(a, b)
    assert not torch.equal(a, c), "another seed sees something else"


@of_kind("view")
@pytest.mark.parametrize("fails", [False, True])
def test_a_view_leaves_the_encoder_as_it_was(
    part: Part[View], rows: tuple[Any, Tokens, Vocabulary], fails: bool
) -> None:
    encoder, tokens, vocabulary = rows
    numbers = {n: p for n, p in part.parameters.items() if p is None or isinstance(p, float)}
    view = part.build(**dict.fromkeys(numbers, 0.3))  # with everything it can switch on switched on
    before = state_of(encoder)
    kept = [row.copy() for row in tokens.rows]
    if fails:
        with pytest.raises(ZeroDivisionError), view.forward_with(encoder):
            raise ZeroDivisionError
    else:
        seen(view, encoder, tokens, vocabulary, 3)
        encoder.eval()
    assert state_of(encoder) == before
    assert all(np.array_equal(x, y) for x, y in zip(kept, tokens.rows, strict=True))


def state_of(encoder: Any) -> list[Any]:
    """Return weights, hooks and settings of every module, comparable."""
    found: list[Any] = [(n, p.sum().item(), p.requires_grad) for n, p in encoder.named_parameters()]
    for name, module in encoder.named_modules():
        plain = {k: v for k, v in vars(module).items() if isinstance(v, (int, float, str, bool, type(None)))}
        plain.pop("training", None)
        hooks = len(module._forward_hooks) + len(module._forward_pre_hooks)
        found.append((name, type(module).__name__, hooks, sorted(plain.items()), "forward" in vars(module)))
    return found


# objectives ----------------------------------------------------------------------------------------------------------


def step_of(
    n: int = 6, d: int = 8, *, hard: bool = False, extra: bool = False, dtype: torch.dtype = torch.float64
) -> Step:
    drawn = torch.Generator().manual_seed(1)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=drawn, dtype=dtype).requires_grad_()

    anchor, positive = draw(n, d), draw(n, d)
    more = draw(n, 2, d) if hard else None, draw(4, d) if extra else None
    numbers = {"labels": torch.arange(n) % 2, "text_ids": torch.arange(n)[:, None]}
    return Step(anchor, positive, *more, **numbers, targets=(draw(n, d).detach(), draw(n, d).detach()))


def ready(part: Part[Any], d: int = 8, **given: Any) -> Any:
    """Return an objective that works on vectors of d dimensions; a large margin, so that every row is taught."""
    parameters = {name: value for name, value in {"margin": 100.0, **given}.items() if name in part.parameters}
    objective = part.build(**parameters)
    if part.name == "pair-classification":  # it has weights of its own
        torch.manual_seed(0)
        objective.attach(SimpleNamespace(get_embedding_dimension=lambda: d))
    return objective.double()


OF_VECTORS = [part for part in registries()["objective"] if not part.build().needs_encoder]
of_vectors = pytest.mark.parametrize("part", OF_VECTORS, ids=[part.name for part in OF_VECTORS])


@of_vectors
@pytest.mark.parametrize(("hard", "extra"), list(itertools.product([False, True], repeat=2)))
def test_an_objective_is_a_finite_scalar_with_gradients(part: Part[Any], hard: bool, extra: bool) -> None:
    step = step_of(hard=hard, extra=extra)
    loss = ready(part)(step)
    assert loss.shape == ()
    assert torch.isfinite(loss)
    loss.backward()
    for vectors in (step.anchor, step.positive):
        assert vectors.grad is not None
        assert torch.isfinite(vectors.grad).all()
        assert (vectors.grad.abs().sum(dim=1) > 0).all(), "every row is taught something"


@of_vectors
def test_the_gradient_of_an_objective_is_its_derivative(part: Part[Any]) -> None:
    step = step_of(n=3, d=4)
    objective = ready(part, 4, temperature=0.5)

    def loss(anchor: Tensor, positive: Tensor) -> Any:
        return objective(dataclasses.replace(step, anchor=anchor, positive=positive))

    assert torch.autograd.gradcheck(loss, (step.anchor, step.positive))


@of_vectors
@pytest.mark.parametrize("hard", [False, True])
def test_an_objective_does_not_care_about_the_order_of_rows(part: Part[Any], hard: bool) -> None:
    step = step_of(hard=hard)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    labels, ids = step.labels, step.text_ids
    assert labels is not None
    assert ids is not None
    mixed = Step(
        step.anchor[order],
        step.positive[order],
        None if step.hard is None else step.hard[order],
        labels=labels[order],
        text_ids=ids[order],
        targets=tuple(target[order] for target in step.targets),
    )
    objective = ready(part)
    torch.testing.assert_close(objective(mixed), objective(step), rtol=1e-12, atol=1e-12)
    wrong = dataclasses.replace(mixed, positive=step.positive)
    if part.name == "flow-likelihood":  # of each vector alone
        return
    assert not torch.allclose(objective(wrong), objective(step)), "but it does care which positive is whose"


@of_vectors
def test_objectives_add_up(part: Part[Any]) -> None:
    step = step_of()
    one, other = ready(part), ready(part)
    if one.needs_target:
        other = ContrastiveTension()
        torch.testing.assert_close((one + 0.5 * other)(step), one(step) + 0.5 * other(step))
        return
    torch.testing.assert_close((one + 0.5 * other)(step), 1.5 * one(step))
    assert (one + other).in_batch == one.in_batch


@of_kind("stabilizer")
def test_a_stabilizer_leaves_gradients_and_calls_as_often_as_it_says(part: Part[Any]) -> None:
    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    before = [p.detach().clone() for p in model.parameters()]
    data = torch.randn(5, 3)
    calls = 0

    def closure(draw: int = 0) -> Tensor:
        nonlocal calls
        calls += 1
        model.zero_grad()
        loss = model(data).square().mean()
        loss.backward()
        return loss.detach()

    stabilizer = part.build()
    first = closure()
    calls = 0
    assert torch.equal(stabilizer.step(closure, model), first)
    assert calls == stabilizer.passes
    assert all(torch.equal(p, b) for p, b in zip(model.parameters(), before, strict=True)), "the optimizer updates"
    assert all(p.grad is not None for p in model.parameters())


# pairings ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def prepared(tmp_path: Path, tiny: Callable[..., Any], sentences: list[str]) -> Callable[[str], tuple[Any, Any]]:
    tokenizer = tiny().tokenizer

    def build(name: str) -> tuple[Any, Any]:
        texts: list[Any] = [" ".join(sentences[3 * i : 3 * i + 3]) for i in range(30)]
        if name == "columns":
            texts = list(zip(sentences[:30], sentences[30:60], sentences[60:90], strict=True))
        if name == "classes":
            texts = [(text, "odd" if row % 2 else "even") for row, text in enumerate(sentences[:30])]
        if name in ("labelled-pairs", "scored-pairs"):
            texts = [(sentences[row], sentences[30 + row], str(row % 3)) for row in range(30)]
        if name == "inference":
            labels = ("entailment", "contradiction")
            texts = [(sentences[row // 2], sentences[30 + row], labels[row % 2]) for row in range(30)]
        if name.startswith("next-sentence"):
            texts = sentences[:30]
        corpus = build_corpus(texts, tmp_path / "corpus")
        return corpus, build_tokens(corpus, tokenizer, tmp_path / "tokens", max_tokens=512)

    return build


@of_kind("pairing")
def test_a_pairing_draws_by_seed_and_row_alone(
    part: Part[Any], prepared: Callable[[str], tuple[Any, Any]], tmp_path: Path
) -> None:
    corpus, tokens = prepared(part.name)
    pairing = part.build()
    assert pairing.max_tokens_needed(30) >= 30
    examples = pairing.index(corpus, tokens, tmp_path / "pairs")
    count = len(examples)
    assert 2 <= count <= len(corpus) * getattr(pairing, "anchors", 1)
    every = np.arange(count)
    whole = examples.columns(every, 7)
    assert {len(column) for column in whole} == {count}
    assert all(len(ids) > 0 for column in whole for ids in column)
    order = np.random.default_rng(0).permutation(count)
    for rows in (order, order[:3], every[-1:]):  # alone or in company, in any order, again and again
        drawn = examples.columns(rows, 7)
        assert len(drawn) == len(whole)
        for column, all_of_it in zip(drawn, whole, strict=True):
            assert all(np.array_equal(ids, all_of_it[row]) for ids, row in zip(column, rows, strict=True))
    sharing = examples.sharing(every[:2])
    assert set(every[:2].tolist()) <= set(sharing.tolist()) <= set(every.tolist())
    labels = examples.labels(every)
    assert labels is None or labels.shape == (count,)
    again = part.build().index(corpus, tokens, tmp_path / "again").columns(every, 7)
    assert all(
        np.array_equal(x, y) for one, two in zip(whole, again, strict=True) for x, y in zip(one, two, strict=True)
    )


@of_kind("pairing")
def test_a_pairing_makes_batches_a_method_learns_from(
    part: Part[Any], prepared: Callable[[str], tuple[Any, Any]], tmp_path: Path, tiny: Callable[..., Any]
) -> None:
    from mirrormask.data.batching import Batches

    corpus, tokens = prepared(part.name)
    examples = part.build().index(corpus, tokens, tmp_path / "pairs")
    encoder = tiny(pooling="mean")
    frame = frame_of(encoder.tokenizer)
    batch = Batches(examples, frame, batch_size=4, max_length=24, seed=1).at(0)
    assert max(column.lengths.max() for column in batch.columns) <= 24
    vocabulary = Vocabulary(frame, word_starts(encoder.tokenizer), None, frozenset())
    loss = Method(encoder, registries()["method"].build("simcse-unsup"), vocabulary).train()(batch, 0)
    assert torch.isfinite(loss)
