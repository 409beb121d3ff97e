"""One run of a recipe: model, text, method and loop put together, measured, saved and recorded."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import Any

import torch

from mirrormask.core.errors import MirrormaskError
from mirrormask.core.framing import frame_of
from mirrormask.core.registry import configuration
from mirrormask.core.seeding import derive
from mirrormask.core.storage import write_json
from mirrormask.data.batching import Batches
from mirrormask.data.held_out import Rest
from mirrormask.data.pairs import pairings
from mirrormask.data.text.corpus import Corpus, build_corpus
from mirrormask.data.text.origin import paths_in
from mirrormask.data.text.tokens import LazyTokens, Tokenized, build_tokens
from mirrormask.evaluation.selection import Selection, check_dev, choose_selection
from mirrormask.methods import methods
from mirrormask.models.embeddings import is_static
from mirrormask.models.encoder import build_encoder, pooling_of, save_encoder, training_head
from mirrormask.models.mask_prompt import TEMPLATE
from mirrormask.models.precision import best_precision, varied_shapes
from mirrormask.runs.adapting import Adapting, texts_aside
from mirrormask.runs.folder import MODEL, RECORD, WORK, RunResult, held_folder, spare_read, tidy
from mirrormask.runs.on_top import fit_on_corpus, put_flow
from mirrormask.runs.partners import partners_found
from mirrormask.runs.recipe import Recipe
from mirrormask.runs.versions import versions
from mirrormask.training.compiling import WIDTHS, can_replay, compile_encoder, restore, should_compile
from mirrormask.training.estimate import estimate
from mirrormask.training.gather import join, world
from mirrormask.training.loop import Reporter, Result, Score, check_trackers, fit
from mirrormask.training.method import Composition, Method
from mirrormask.training.quick_dropout import quickened
from mirrormask.training.settings import Settings
from mirrormask.views import Vocabulary

__all__ = ["HELD_OUT", "RECORD", "Reporter", "RunResult", "Score", "prepare_text", "run_recipe"]

HELD_OUT, HELD_OUT_BATCH, FEWEST_ASIDE = 512, 256, 32
"""Examples set aside for choosing a checkpoint without labels, in batches of so many, and the fewest that tell."""


def run_recipe(
    recipe: Recipe,
    out: Path | str,
    *,
    source: Any = None,
    resume: bool = False,
    reporter: Reporter | None = None,
    work: Path | None = None,
    same_rate: bool = False,
) -> RunResult:
    """Train as the recipe says and leave an encoder in `out/model`.

    Args:
        recipe: the run.
        out: its folder: model, record, metrics, and while it runs checkpoints and the prepared text.
        source: texts to learn from instead of the recipe's corpus, as `build_corpus` takes them.
        resume: go on from the last checkpoint in `out`.
        reporter: is told how it goes.
        work: where the prepared text is kept for other runs on the same text; by default it goes with the run.
        same_rate: refuse to go on with another learning rate than the one the run was started with.
    """
    out = Path(out)
    reporter = (reporter if join()[0] == 0 else None) or Reporter()
    with held_folder(out, resume=resume) as finished:
        if finished is not None:
            reporter.say(f"{out} is finished already; its encoder is in {out / MODEL}.")
            return finished
        return _run(recipe, out, source, reporter, work, resume=resume, same_rate=same_rate)


def _run(
    recipe: Recipe,
    out: Path,
    source: Any,
    reporter: Reporter,
    work: Path | None,
    *,
    resume: bool,
    same_rate: bool,
) -> RunResult:
    rank, processes = world()
    text = source if source is not None else _names(recipe.data.corpus)
    spare_read(out, *paths_in(text), recipe.data.dev, recipe.model.name)
    composition: Composition = methods.build(recipe.method.name, **recipe.method.parameters)
    settings = _settings(recipe, composition)
    check_dev(recipe.data.dev)
    torch.manual_seed(derive(recipe.seeds.initialization, "weights"))
    encoder, pooling = _encoder(recipe, composition)
    settings = _fitting(settings, recipe, encoder)
    method_text = _Text(recipe, composition, settings, encoder, out / WORK, work, source, reporter)
    adapting = None
    if composition.between:
        adapting = Adapting(encoder, method_text.corpus, method_text.aside, recipe.data.dev, recipe.seeds.data)
        composition = methods.build(recipe.method.name, **{"weight": adapting.weight, **recipe.method.parameters})
        settings = _fitting(_settings(recipe, composition), recipe, encoder)
    device = next(encoder.parameters()).device
    total = settings.total_steps(len(method_text.batches))
    compiled = should_compile(settings.compile, device, total, settings.max_length)
    composition.objective.read(method_text.tokens, device)
    if composition.flow is not None:
        put_flow(encoder, composition.flow, method_text.batches, frozen=composition.frozen)
    method = Method(
        encoder,
        composition,
        method_text.vocabulary,
        head=_head(encoder, pooling, composition),
        chunk=settings.large_batch or None,
        pad_to=WIDTHS if compiled else 1,
        parts=settings.accumulation,
    )
    method.to(device)
    method.check(method_text.batches.at(0, rank=rank, world=processes))
    if adapting is None:
        selection = choose_selection(method, recipe.data.dev, method_text.held_out)
    else:
        selection = adapting.follow(encoder, composition.between)
    reporter.say(selection.explanation)
    partners = [partners_found(encoder, method_text.held_out)]
    if adapting is not None and adapting.judge is None:
        result = Result(0, 0, None, [], 0.0, stopped_early=False, kept_start=True)
    else:
        with quickened(encoder), varied_shapes():
            start = _announce(method, method_text, settings, composition, total, selection, reporter, adapting)
            if compiled:
                replay = can_replay(device, settings, one_pass=composition.one_pass, processes=processes)
                compile_encoder(encoder, replay=replay)
            result = fit(
                method,
                method_text.batches,
                settings,
                out,
                stabilizer=composition.stabilizer,
                evaluate=selection.score,
                reporter=reporter,
                resume=resume,
                plan={"recipe": recipe.record(), "corpus": method_text.corpus.fingerprint, "processes": processes},
                same_rate=same_rate,
                start=start,
            )
    restore(encoder)
    if adapting is not None:
        result = adapting.choose(result)
    partners.append(partners_found(encoder, method_text.held_out))
    fitted = fit_on_corpus(encoder, recipe.transform, method_text.corpus)
    record = _record(recipe, composition, settings, pooling, method_text, selection, result, encoder)
    if adapting is not None:
        record["adaptation"] = adapting.record()
    if fitted is not None:
        record["parts"]["transform"] = fitted
    if None not in partners:
        record["partners_found"] = dict(zip(("before", "after"), partners, strict=True))
    if rank == 0:
        head = composition.objective.lm_head()
        save_encoder(encoder, out / MODEL, facts=_facts(recipe, result, selection), lm_head=head)
        write_json(out / RECORD, record)
        tidy(out)
    return RunResult(out, out / MODEL, record)


def prepare_text(recipe: Recipe, work: Path, reporter: Reporter | None = None) -> None:
    """Read, tokenize and pair the text of a recipe into `work`, so that runs given the same folder find it there."""
    composition: Composition = methods.build(recipe.method.name, **recipe.method.parameters)
    encoder, _ = _encoder(recipe, composition)
    settings = _fitting(_settings(recipe, composition), recipe, encoder)
    _Text(recipe, composition, settings, encoder, work, work, None, reporter or Reporter())


class _Text:
    """The prepared text of a run: corpus, tokens, pairs, batches, and what was set aside."""

    def __init__(
        self,
        recipe: Recipe,
        composition: Composition,
        settings: Settings,
        encoder: Any,
        folder: Path,
        shared: Path | None,
        source: Any,
        reporter: Reporter,
    ) -> None:
        name, parameters = composition.pairing
        if recipe.pairing.name:
            name, parameters = recipe.pairing.name, dict(recipe.pairing.parameters)
        self.pairing = pairings.build(name, **parameters)
        data = recipe.data
        if source is None and not data.corpus:
            raise MirrormaskError("A run needs text: name a corpus (a file, '-' for stdin, or a dataset).")
        tokenizer = encoder.tokenizer
        frame = getattr(encoder[0], "frame", None) or frame_of(tokenizer)
        _check_length(settings.max_length, len(frame), encoder)
        self.corpus: Corpus = build_corpus(
            source if source is not None else _names(data.corpus),
            _own((shared or folder) / "corpus"),
            columns=data.columns or None,
            where=data.where,
            split=data.split,
            deduplicate=data.deduplicate,
            min_words=data.min_words,
            max_words=data.max_words or None,
            limit=data.limit or None,
        )
        reporter.say(f"{self.corpus.report}.")
        keep = self.pairing.max_tokens_needed(settings.max_length - len(frame))
        drawn = settings.steps * settings.batch_size * settings.accumulation
        if settings.steps and 10 * drawn < len(self.corpus):  # a run that sees a small part tokenizes only that part
            self.tokens: Tokenized = LazyTokens(self.corpus, tokenizer, max_tokens=keep)
        else:
            self.tokens = build_tokens(self.corpus, tokenizer, _own((shared or folder) / "tokens"), max_tokens=keep)
        examples = self.pairing.index(self.corpus, self.tokens, _own(folder / "pairs"))
        aside = min(HELD_OUT, len(examples) // 10)
        aside = aside if aside >= FEWEST_ASIDE else 0
        if composition.between:
            aside = texts_aside(len(examples))
        rest = Rest(examples, 0 if data.dev else aside, derive(recipe.seeds.data, "held-out"))
        self.aside, self.held_out = rest.aside_numbers, None
        if len(self.aside) and not composition.between:
            shape = {"batch_size": min(HELD_OUT_BATCH, len(self.aside)), "max_length": settings.max_length}
            self.held_out = Batches(rest.aside(), frame, **shape, seed=recipe.seeds.data, drop_last=True)
        self.batches = Batches(
            rest,
            frame,
            batch_size=settings.batch_size,
            max_length=settings.max_length,
            seed=recipe.seeds.data,
            drop_last=len(rest) >= 2 * settings.batch_size,
            min_rows=max(2, world()[1]),
        )
        self.vocabulary = Vocabulary.of(encoder)


def _names(corpus: tuple[str, ...]) -> Any:
    return corpus[0] if len(corpus) == 1 else [Path(name) for name in corpus]


def _own(folder: Path) -> Path:
    """Return a folder that only this process writes, where several share a disk."""
    rank, size = world()
    return folder if size == 1 else folder.with_name(f"{folder.name}-{rank}")


def _settings(recipe: Recipe, composition: Composition) -> Settings:
    own = dict(composition.training)
    if "epochs" in recipe.training:  # asked for, so the method's number of steps must not win
        own.pop("steps", None)
    settings = Settings(**{**own, **recipe.training}, seeds=recipe.seeds)
    if composition.objective.in_batch and settings.batch_size < 2:
        raise MirrormaskError("The 'batch_size' must be at least 2, because a row alone has no negatives. Got 1.")
    check_trackers(settings.trackers)
    return settings


def _fitting(settings: Settings, recipe: Recipe, encoder: Any) -> Settings:
    """Return the settings with the method's length cut to what the model can read; one asked for stays."""
    if "max_length" in recipe.training:
        return settings
    return dataclasses.replace(settings, max_length=min(settings.max_length, _longest(encoder, settings.max_length)))


def _longest(encoder: Any, otherwise: int) -> int:
    positions = getattr(encoder[0].model.config, "max_position_embeddings", None)
    return int(min(positions or otherwise, encoder.tokenizer.model_max_length))


def _check_length(max_length: int, frame: int, encoder: Any) -> None:
    """Refuse a length that leaves no room for text, or that the model has no positions for."""
    if max_length <= frame:
        raise MirrormaskError(
            f"The 'max_length' of training must be at least {frame + 1}, because the template or special tokens alone "
            f"take {frame}. Got {max_length}."
        )
    longest = _longest(encoder, max_length)
    if max_length > longest:
        raise MirrormaskError(
            f"The 'max_length' of training must be at most {longest}, the most this model can read. Got {max_length}."
        )


def _encoder(recipe: Recipe, composition: Composition) -> tuple[Any, str]:
    spec = recipe.model
    options = {"template": spec.template or TEMPLATE, "lora": spec.lora, "freeze_embeddings": spec.freeze_embeddings}
    if spec.pooling:
        return build_encoder(spec.name, pooling=spec.pooling, **options), spec.pooling  # type: ignore[arg-type]
    encoder = build_encoder(spec.name, **options)  # type: ignore[arg-type]
    if is_static(encoder):
        raise MirrormaskError(
            f"{spec.name} is a table of word vectors, and what is trained here is a transformer. Start from a masked "
            "language model or a sentence encoder that is one."
        )
    own = pooling_of(encoder)
    trained = getattr(encoder, "mirrormask_source", "")
    if (Path(str(trained)) / "modules.json").is_file():  # a sentence encoder keeps the pooling it was made with
        return encoder, own
    if composition.pooling != own:
        encoder = build_encoder(spec.name, pooling=composition.pooling, **options)  # type: ignore[arg-type]
    return encoder, composition.pooling


def _head(encoder: Any, pooling: str, composition: Composition) -> Any:
    """Return the projection on top of the encoder in training: the method's, or that of its pooling."""
    if composition.head is None:
        return training_head(encoder, pooling)
    return composition.head(encoder.get_embedding_dimension())


def _announce(
    method: Method,
    text: _Text,
    settings: Settings,
    composition: Composition,
    total: int,
    selection: Selection,
    reporter: Reporter,
    adapting: Adapting | None,
) -> Score | None:
    """Say what the run is and what it will take, and return the score before training, which that is measured with."""
    precision = best_precision(next(method.parameters()).device, settings.precision)
    rank, size = world()
    begun = time.monotonic()
    batch = text.batches.at(0, rank=rank, world=size)
    reading = (time.monotonic() - begun) * settings.accumulation
    begun = time.monotonic()
    method.eval()
    score = selection.score() if selection.score is not None else None
    times = 0 if score is None else -(-total // (settings.evaluate_every or max(1, total // 10)))
    evaluations = (time.monotonic() - begun) * times
    if adapting is not None:
        evaluations = adapting.seconds * (1 + len(composition.between))
    expected = estimate(
        method,
        batch,
        total,
        precision,
        passes=composition.stabilizer.passes * settings.accumulation,
        reading=reading,
        evaluations=evaluations,
    )
    truncated = (
        f"; {text.tokens.truncated:,} texts cut at {text.tokens.max_tokens} tokens" if text.tokens.truncated else ""
    )
    reporter.say(f"{total:,} steps of {settings.batch_size} over {len(text.batches.examples):,} pairs{truncated}.")
    reporter.say(f"This will take {expected}.")
    return score


def _facts(recipe: Recipe, result: Result, selection: Selection) -> dict[str, Any]:
    return {
        "base_model": recipe.model.name,
        "method": recipe.method.name,
        "steps": result.best_step,
        "chosen_by": selection.name,
        "score": result.best_score,
        "trained_with": f"mirrormask {versions()['mirrormask']}",
    }


def _record(
    recipe: Recipe,
    composition: Composition,
    settings: Settings,
    pooling: str,
    text: _Text,
    selection: Selection,
    result: Result,
    encoder: Any,
) -> dict[str, Any]:
    return {
        "recipe": recipe.record(),
        "parts": {**composition.record(), "pairing": configuration(text.pairing), "pooling": pooling},
        "settings": dataclasses.asdict(settings),
        "data": {
            **dataclasses.asdict(text.corpus.report),
            "fingerprint": text.corpus.fingerprint,
            "pairs": len(text.batches.examples),
            "truncated": text.tokens.truncated,
        },
        "selection": {"by": selection.name, "explanation": selection.explanation},
        "result": dataclasses.asdict(result),
        "device": str(encoder.device),
        "precision": best_precision(encoder.device, settings.precision).name,
        "processes": world()[1],
        "versions": versions(),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
