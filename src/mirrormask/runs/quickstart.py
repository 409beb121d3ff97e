"""The quickstart: train on the docstrings of the packages on this machine, and measure what that gained.

Nothing is downloaded and nothing is imported from those packages; the functions searched for are never trained on.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mirrormask.core.errors import at_least
from mirrormask.core.seeding import generator
from mirrormask.core.similarity import unit_rows
from mirrormask.core.wording import counted
from mirrormask.data.docstrings.collecting import Docstring, collect
from mirrormask.data.docstrings.retrieval import HeldOut, hold_out
from mirrormask.evaluation.evaluate import EvaluationReport
from mirrormask.evaluation.evaluation_page import geometry_sections, own_section
from mirrormask.evaluation.geometry import measure_shape
from mirrormask.evaluation.own.own_report import score_own
from mirrormask.evaluation.own.queries import QueryDocuments
from mirrormask.evaluation.vectors import TextVectors
from mirrormask.models.encoder import load
from mirrormask.reporting.page import Section, render, save
from mirrormask.reporting.tables import Table
from mirrormask.runs.folder import held_folder, spare_read
from mirrormask.runs.recipe import Recipe, build_recipe
from mirrormask.runs.runner import Reporter, run_recipe
from mirrormask.search.hits import Hit
from mirrormask.search.index import Index

QUESTIONS = (
    "how do I read a csv file",
    "measure how similar two vectors are",
    "save a trained model to disk",
)
"""What someone might ask the documentation of the packages on this machine."""

STEPS = 180
"""Updates: about two minutes on two CPU cores."""

SEARCHED = 4_000
"""Functions searched for an answer, besides the held-out ones."""

ON = "held-out functions"


@dataclass(frozen=True)
class Answer:
    """What a model answers to a question: the name of a function and its summary."""

    function: str
    summary: str
    cosine: float


@dataclass(frozen=True)
class Quickstart:
    """What the quickstart found.

    Args:
        folder: where everything is.
        model: the encoder's folder.
        page: the HTML report.
        evaluation: before and after, measured on the held-out functions.
        answers: for each question, the best answer before and after.
        index: of the functions that were searched.
        found: for each question, what the index finds first by words, by vectors and by both; None: nothing.
        sentences: how many sentences were learned from.
        record: of the training run.
    """

    folder: Path
    model: Path
    page: Path
    evaluation: EvaluationReport
    answers: dict[str, tuple[Answer, Answer]]
    index: Path
    found: dict[str, dict[str, Hit | None]]
    sentences: int
    record: dict[str, Any]

    def gain(self) -> tuple[float, float]:
        """Return MRR@10 before and after, as shares of 1."""
        own = self.evaluation.own
        if own is None:
            return float("nan"), float("nan")
        scores = [own.comparison.score("mrr_at_10_percent", i).value / 100 for i in (0, 1)]
        return scores[0], scores[1]

    def to_dict(self) -> dict[str, Any]:
        """Return everything, JSON-able."""
        return {
            "out": str(self.folder),
            "model": str(self.model),
            "report": str(self.page),
            "sentences": self.sentences,
            "mrr_at_10": dict(zip(("before", "after"), self.gain(), strict=True)),
            "evaluation": self.evaluation.to_dict(),
            "answers": {
                question: {when: vars(answer) for when, answer in zip(("before", "after"), pair, strict=True)}
                for question, pair in self.answers.items()
            },
            "index": str(self.index),
            "found": {
                question: {mode: hit.to_dict() if hit else None for mode, hit in hits.items()}
                for question, hits in self.found.items()
            },
            "run": self.record,
        }


def quickstart(
    out: Path | str,
    *,
    model: str = "mini",
    steps: int = STEPS,
    functions: int = 2_000,
    searched: int = SEARCHED,
    paths: Sequence[str | Path] | None = None,
    seed: int = 42,
    resume: bool = False,
    reporter: Reporter | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Quickstart:
    """Train the default method on docstrings, measure before and after, and write a report.

    Args:
        out: folder for the encoder, the report and the record.
        model: what to start from.
        steps: updates.
        functions: how many functions to hold out.
        searched: how many others are searched for an answer besides them.
        paths: folders of Python packages; by default those of the running interpreter.
        seed: of everything.
        resume: go on from the last checkpoint.
        reporter: is told how the training goes.
        progress: called with (files read, files in all).
    """
    out = Path(out)
    reporter = reporter or Reporter()
    at_least("functions", functions, 10, of="quickstart")
    at_least("searched", searched, 0, of="quickstart")
    training = {"seed": seed, "steps": steps, "evaluate_every": max(STEPS, steps) // 10}  # a short run looks less often
    recipe = build_recipe({"model": {"name": model}, "training": training}, of="quickstart")
    with held_folder(out, resume=resume):  # a folder in the way is said at once
        return _quickstart(recipe, out, functions, searched, paths, seed, reporter, progress, resume=resume)


def _quickstart(
    recipe: Recipe,
    out: Path,
    functions: int,
    searched: int,
    paths: Sequence[str | Path] | None,
    seed: int,
    reporter: Reporter,
    progress: Callable[[int, int], None] | None,
    *,
    resume: bool,
) -> Quickstart:
    spare_read(out, recipe.model.name)
    before = load(recipe.model.name)
    reporter.say("First reading the docstrings of the packages on this machine, then training, then measuring.")
    begun = time.monotonic()
    found = collect(paths, progress, workers=os.cpu_count() or 1)
    seconds = time.monotonic() - begun
    held = hold_out(found, functions, seed)
    sentences = sum(map(len, held.training))
    reporter.say(
        f"Read {counted(len(found), 'docstring')} in {counted(found.files, 'file')} in {seconds:.0f} s. "
        f"{counted(len(held.functions), 'function')} held out to measure with; "
        f"{counted(len(held.training), 'docstring')} left to learn from."
    )
    texts = [" ".join(document) for document in held.training]
    run = run_recipe(recipe, out, source=texts, resume=resume, reporter=reporter)
    reporter.say("Measuring before and after on the held-out functions.")
    pool = _pool(found, held, searched, seed)
    encoders = (before, load(run.model))
    task = QueryDocuments(ON, held.queries, held.documents)
    vectors = [
        TextVectors.encode(encoder, [*QUESTIONS, *(each.summary for each in pool)], roles=task.roles())
        for encoder in encoders
    ]
    names = ["before", "after"]
    own = score_own(task, names, vectors, resamples=1_000, seed=seed)
    shape = measure_shape(task, ON, names, vectors, seed=seed)
    evaluation = EvaluationReport(tuple(names), None, own, shape, seed, 1_000)
    answers = {question: _answers(question, pool, vectors) for question in QUESTIONS}
    reporter.say(f"Indexing {counted(len(pool), 'function')}, to search them by words, by vectors and by both.")
    rows = [{"id": f"{each.module}.{each.qualname}", "text": each.summary} for each in pool]
    index = Index.build(rows, out / "index", model=str(run.model))
    hits = {
        question: {
            mode: next(iter(index.search(question, mode=mode, top=1)), None) for mode in ("words", "vectors", "both")
        }
        for question in QUESTIONS
    }
    page = out / "report.html"
    result = Quickstart(out, run.model, page, evaluation, answers, index.folder, hits, sentences, run.record)
    save(page, _page(result, len(pool)))
    return result


def shown(function: str, summary: str, longest: int = 90) -> str:
    """Return an answer on one line: the function, its package, and the beginning of its docstring."""
    package, _, name = function.partition(".")
    line = f"{name.rpartition('.')[2] or package} ({package}): {summary}"
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


def _pool(found: Any, held: HeldOut, searched: int, seed: int) -> list[Docstring]:
    """Return the functions to search: the held-out ones and some of the others, one per summary."""
    others = [d for d in found if d.kind == "function" and not d.name.startswith("_") and len(d.summary.split()) >= 4]
    chosen = generator(seed, "pool").permutation(len(others))[: searched * 2]
    unique: dict[str, Docstring] = {each.summary: each for each in held.functions}
    for place in sorted(chosen.tolist()):
        if len(unique) < len(held.functions) + searched:
            unique.setdefault(others[place].summary, others[place])
    return list(unique.values())


def _answers(question: str, pool: Sequence[Docstring], vectors: Sequence[TextVectors]) -> tuple[Answer, Answer]:
    found = []
    for each in vectors:
        scores = unit_rows(each.of([d.summary for d in pool])) @ unit_rows(each.of([question]))[0]
        best = int(np.argmax(scores))
        name = f"{pool[best].module}.{pool[best].qualname}"
        found.append(Answer(name, pool[best].summary, float(scores[best])))
    return found[0], found[1]


def _page(result: Quickstart, searched: int) -> str:
    report = result.evaluation
    before, after = result.gain()
    rows = [
        (question, when, shown(answer.function, answer.summary))
        for question, pair in result.answers.items()
        for when, answer in zip(("before", "after"), pair, strict=True)
    ]
    found = [
        (question, mode, shown(hit.id, hit.passage) if hit else "–")
        for question, hits in result.found.items()
        for mode, hit in hits.items()
    ]
    examples = Section(
        "Three questions",
        (f"The nearest of {searched:,} functions, by the model before and after training.",),
        (Table("", ("question", "model", "nearest function"), tuple(rows), texts=(1, 2)),),
    )
    searched_for = Section(
        "The same, searched",
        ("What an index of these functions finds first: by words, by the trained encoder's vectors, and by both.",),
        (Table("", ("question", "mode", "first hit"), tuple(found), texts=(1, 2)),),
    )
    sections = [examples, searched_for]
    if report.own is not None:
        sections.insert(0, own_section(report.own))
    if report.geometry is not None:
        sections += geometry_sections(report.geometry)
    moved = "rose" if after > before else "fell" if after < before else "stayed"
    headline = f"MRR@10 {moved} from {before:.3f} to {after:.3f} ({after / before - 1:+.0%})." if before else ""
    subtitle = f"Trained on {result.sentences:,} sentences of docstrings installed on this machine, without labels."
    return render("Quickstart", sections, verdict=[headline, *report.verdict()], subtitle=subtitle)
