"""Pretraining from Python: the command `mirrormask pretrain` as a function."""

from __future__ import annotations

import copy
import dataclasses
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mirrormask.core.errors import MirrormaskError, at_least
from mirrormask.core.framing import frame_of
from mirrormask.core.seeding import Seeds, derive
from mirrormask.core.spread import spread_evenly
from mirrormask.core.storage import atomic_folder, remove_folder, write_json
from mirrormask.core.wording import counted, passes
from mirrormask.data.text.corpus import build_corpus
from mirrormask.data.text.origin import paths_in
from mirrormask.models.embeddings import embeddings_of
from mirrormask.models.loading import quiet_loading
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.models.precision import best_precision
from mirrormask.pretraining.budget import steps_in
from mirrormask.pretraining.card import write_card
from mirrormask.pretraining.centering import last_norm_and_head, mean_vector, move_origin
from mirrormask.pretraining.growing import deepen, repeat_positions
from mirrormask.pretraining.held_out_score import HeldOutScore
from mirrormask.pretraining.masking import Masking
from mirrormask.pretraining.model import Pretraining, fresh_bert, set_dropout
from mirrormask.pretraining.packing import ASIDE, PackedRows, Stream
from mirrormask.pretraining.plan import Plan
from mirrormask.pretraining.prepared_text import PreparedText
from mirrormask.pretraining.rates import Rates
from mirrormask.pretraining.row_losses import word_weights
from mirrormask.runs.folder import MODEL, RECORD, WORK, RunResult, held_folder, spare_read, tidy
from mirrormask.runs.versions import versions
from mirrormask.training.compiling import should_compile
from mirrormask.training.gather import join, world
from mirrormask.training.loop import Reporter, Result, check_trackers, fit
from mirrormask.training.quick_dropout import quickened
from mirrormask.training.settings import Settings

DEFAULTS: dict[str, Any] = {
    "batch_size": 256,
    "learning_rate": 1e-3,
    "weight_decay": 0.01,
    "betas": (0.9, 0.98),
    "warmup": 0.05,
}
"""What pretraining takes unless told otherwise."""

CONTINUED_RATE = 1e-4
"""The highest learning rate for a model that is continued: the rate for new weights would undo what it knows."""

PLANNED = "steps.json"

CENTERED_ON = 10_000
"""Texts, evenly spaced, whose mean vector becomes the origin."""

DROPOUT = 0.1
"""What the saved configuration says, for whoever trains the model on."""


def pretrain(
    corpus: str | Path | Sequence[Path] | Iterable[str],
    *,
    out: str | Path,
    plan: Plan | None = None,
    data: Mapping[str, Any] | None = None,
    training: Mapping[str, Any] | None = None,
    minutes: float = 0.0,
    seed: int = 42,
    half: bool = False,
    resume: bool = False,
    reporter: Reporter | None = None,
) -> RunResult:
    """Train a masked LM from text alone, or continue one, and return where it is and how it went.

    Args:
        corpus: a file or several, the name of a corpus or dataset, or texts.
        out: folder of the run; the model will be in `out/model`.
        plan: what to make.
        data: how to read the corpus, as `build_corpus` takes it, such as ``{"min_words": 3}``.
        training: settings of the loop, such as ``{"steps": 5000}``.
        minutes: train for about so long, instead of a number of steps; how many that makes is measured first.
        seed: same seed, same model.
        half: store the weights in float16.
        resume: go on from the last checkpoint in `out`.
        reporter: is told how it goes.
    """
    out, plan = Path(out), plan or Plan()
    reporter = (reporter if join()[0] == 0 else None) or Reporter()
    with held_folder(out, resume=resume) as finished:
        if finished is not None:
            reporter.say(f"{out} is finished already; its model is in {out / MODEL}.")
            return finished
        return _pretrain(corpus, out, plan, data, training, minutes, seed, reporter, half=half, resume=resume)


def _pretrain(
    corpus: str | Path | Sequence[Path] | Iterable[str],
    out: Path,
    plan: Plan,
    data: Mapping[str, Any] | None,
    training: Mapping[str, Any] | None,
    minutes: float,
    seed: int,
    reporter: Reporter,
    *,
    half: bool,
    resume: bool,
) -> RunResult:
    rank, processes = world()
    spare_read(out, *paths_in(corpus), plan.init, plan.tokenizer, plan.center)
    at_least("minutes", minutes, 0, of="pretraining")
    defaults = {**DEFAULTS, "learning_rate": CONTINUED_RATE} if plan.init else DEFAULTS
    settings = Settings(**{**defaults, **(training or {})}, seeds=Seeds.all(seed), max_length=plan.length)
    if plan.neighbors:
        at_least("batch_size", settings.batch_size // processes, 4, of="learning from neighbors")
    for other in ("steps", "epochs"):
        if minutes and (training or {}).get(other):
            raise MirrormaskError(f"Give either 'minutes' or {other!r}, not both.")
    check_trackers(settings.trackers)
    torch.manual_seed(derive(seed, "weights"))
    start = _start(plan)  # before the text, which may take long
    prepared = out / WORK / f"text-{rank}"
    if not resume:  # what an earlier command that failed left here may be of other text
        remove_folder(prepared)
        (out / WORK / PLANNED).unlink(missing_ok=True)
    center = _center_texts(plan, prepared / "center")
    text = PreparedText(plan, corpus, dict(data or {}), prepared, start, reporter)
    model = _model(plan, text, start)
    rows, aside = _rows(plan, settings, text)
    precision = best_precision(model.lm.device, settings.precision)
    score = HeldOutScore(model, aside, precision, derive(seed, "held-out") >> 16)
    steps = settings.total_steps(len(rows))
    if minutes:
        steps = steps_in(out / WORK / PLANNED, model, rows, settings, precision, minutes, reporter, score)
    settings = dataclasses.replace(settings, steps=steps)
    rates = Rates(reporter, model, rows, precision, settings.accumulation)
    batch = settings.batch_size * settings.accumulation
    reporter.say(
        f"{counted(steps, 'step')} of {counted(batch, 'row')} of {plan.length} tokens: "
        f"{passes(steps * batch * rows.content / len(text.train), f'{len(text.train):,} tokens')}."
    )
    with quickened(model):
        if should_compile(settings.compile, model.lm.device, steps, plan.length):
            model.compile()
        result = fit(
            model,
            rows,
            settings,
            out,
            evaluate=score,
            reporter=rates,
            resume=resume,
            plan={"pretraining": dataclasses.asdict(plan), "text": text.facts["fingerprint"], "processes": processes},
        )
    if center:
        move_origin(model.lm, mean_vector(model.lm.eval(), center, length=plan.length))
        reporter.say(f"The origin of the states is now the mean of {len(center):,} texts of {plan.center}.")
    record = _record(plan, settings, text, result, rates, model)
    if rank == 0:
        _save(model.lm, out / MODEL, record, half=half)
        np.save(out / ASIDE, text.aside)  # to measure on again: no weight has seen it
        write_json(out / RECORD, record)
        tidy(out)
    return RunResult(out, out / MODEL, record)


def _device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def _start(plan: Plan) -> MaskedLM | None:
    """Return the model to continue, or nothing."""
    if not plan.init:
        return None
    lm = MaskedLM.load(plan.init, device=_device())
    if plan.center:
        last_norm_and_head(lm)  # or refuse now
    if plan.grow:
        deepen(lm.model, plan.grow)
    if plan.learned:
        repeat_positions(lm.model, plan.learned)
    longest = int(getattr(lm.model.config, "max_position_embeddings", plan.length))
    if plan.length > longest:
        raise MirrormaskError(
            f"The 'length' of pretraining must be at most {longest}, the most {plan.init} can read. Got {plan.length}."
        )
    set_dropout(lm.model, plan.dropout)
    if plan.freeze_embeddings:
        embeddings_of(lm.model.base_model).requires_grad_(False)
    return lm


def _model(plan: Plan, text: PreparedText, start: MaskedLM | None) -> Pretraining:
    device = _device()
    tokenizer = text.tokenizer
    lm = start
    if lm is None:
        lm = MaskedLM(fresh_bert(plan, len(tokenizer), tokenizer.pad_token_id), tokenizer).to(device)
    masking = Masking.of(tokenizer, rate=plan.mask_rate, whole_words=plan.whole_words).to(lm.device)
    weights = torch.zeros(int(lm.model.config.vocab_size))
    if plan.bag:
        size = len(tokenizer)
        counts = torch.from_numpy(_counts(text.train, size))
        weights[:size] = word_weights(counts).masked_fill(masking.special.cpu(), 0.0)
    return Pretraining(lm, masking, plan, weights).to(device)


def _center_texts(plan: Plan, folder: Path) -> list[str]:
    """Return evenly spaced texts of the file whose mean vector becomes the origin; none where none is named."""
    if not plan.center:
        return []
    corpus = build_corpus(plan.center, folder)
    rows = spread_evenly(len(corpus), CENTERED_ON)
    return [corpus.column(0, row, row + 1)[0] for row in rows.tolist()]


def _counts(stream: Stream, size: int, block: int = 1 << 22) -> np.ndarray[Any, np.dtype[np.int64]]:
    counts = np.zeros(size, dtype=np.int64)
    for start in range(0, len(stream), block):
        counts += np.bincount(stream[start : start + block], minlength=size)
    return counts


def _rows(plan: Plan, settings: Settings, text: PreparedText) -> tuple[PackedRows, PackedRows]:
    frame = frame_of(text.tokenizer)
    together = 2 if plan.neighbors else 1
    rows = PackedRows(
        text.train,
        frame,
        length=plan.length,
        batch_size=settings.batch_size,
        seed=settings.seeds.data,
        together=together,
    )
    aside = PackedRows(
        text.aside,
        frame,
        length=plan.length,
        batch_size=min(128, settings.batch_size),
        seed=settings.seeds.data,
        together=together,
    )
    return rows, aside


def _record(
    plan: Plan, settings: Settings, text: PreparedText, result: Result, rates: Rates, model: Pretraining
) -> dict[str, Any]:
    return {
        "plan": plan.record(),
        "settings": dataclasses.asdict(settings),
        "data": {**text.facts, "tokens": len(text.train), "held_out_tokens": len(text.aside)},
        "parameters": sum(p.numel() for p in model.lm.parameters()),
        "tokens_seen": result.steps * settings.batch_size * settings.accumulation * plan.length,
        "speed": rates.summary(),
        "result": dataclasses.asdict(result),
        "device": str(model.lm.device),
        "versions": versions(),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def _save(lm: MaskedLM, folder: Path, record: dict[str, Any], *, half: bool) -> None:
    """Write a plain Hugging Face folder, whole or not at all."""
    model = copy.deepcopy(lm.model).cpu()
    set_dropout(model, DROPOUT)
    if half:
        model = model.half()
    with atomic_folder(folder) as unfinished, quiet_loading():
        model.save_pretrained(str(unfinished))
        lm.tokenizer.save_pretrained(str(unfinished))
        write_card(unfinished / "README.md", record)
