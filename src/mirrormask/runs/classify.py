"""Training a classifier from Python: the command `mirrormask classify train` as a function."""

from __future__ import annotations

import dataclasses
import hashlib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.core.framing import frame_of
from mirrormask.core.seeding import Seeds, derive
from mirrormask.core.storage import write_json
from mirrormask.core.wording import counted
from mirrormask.data.batching import Batches
from mirrormask.data.tasks.classified import Classified, read_classified
from mirrormask.heads.class_subsets import choose_classes
from mirrormask.heads.classification import Classification
from mirrormask.heads.classifier import Classifier
from mirrormask.heads.held_out_labels import HeldOutLabels, LabelledRows
from mirrormask.heads.label_splits import FEWEST_ASIDE, class_weights, stratified
from mirrormask.heads.learner import Learner
from mirrormask.heads.linear_fit import fit_linear
from mirrormask.models.bulk import encode_texts, encode_tokens
from mirrormask.models.copies import copy_of
from mirrormask.models.encoder import build_encoder
from mirrormask.models.precision import best_precision, varied_shapes
from mirrormask.runs.folder import MODEL, RECORD, RunResult, held_folder, spare_read, tidy
from mirrormask.runs.versions import versions
from mirrormask.training.gather import join, world
from mirrormask.training.loop import Reporter, Result, check_trackers, fit
from mirrormask.training.quick_dropout import quickened
from mirrormask.training.settings import Settings
from mirrormask.views import View, Vocabulary, views

FEW = 32
"""Texts a class up to which `auto` takes contrast and then a linear head: beyond it no gain was measured."""

FEWEST_STEPS = 30
"""Updates of contrast at least, where a pass over few texts is one or two of them; more of them only overfit."""

MOST_FITTED = 20_000
"""Texts that a linear head is fitted on at most."""

DEFAULTS: dict[str, dict[str, Any]] = {
    "cross-entropy": {"batch_size": 32, "epochs": 5.0, "learning_rate": 3e-4},
    "sup-con": {"batch_size": 32, "epochs": 5.0, "learning_rate": 3e-4},
    "lcl": {"batch_size": 32, "epochs": 5.0, "learning_rate": 3e-4},
    "contrast": {"batch_size": 64, "epochs": 2.0, "learning_rate": 1e-4},
}
COMMON: dict[str, Any] = {"warmup": 0.1, "weight_decay": 0.01, "max_length": 128}
"""What classification takes unless told otherwise."""

LARGE, LARGE_RATE = 50_000_000, 0.1
"""Parameters from which on a model takes a tenth of these rates, which are those of a small one."""


def classify(
    data: str | Path | Classified,
    *,
    out: str | Path,
    dev: str | Path | Classified | None = None,
    how: Classification | None = None,
    columns: Mapping[str, Any] | None = None,
    training: Mapping[str, Any] | None = None,
    seed: int = 42,
    resume: bool = False,
    reporter: Reporter | None = None,
) -> RunResult:
    """Train a classifier and return where it is and how it went; `Classifier.load(out)` opens it.

    Args:
        data: a file with texts and labels, a dataset's name, or the texts themselves.
        out: folder of the run; encoder and head will be in `out/model`, a sentence encoder like any other.
        dev: texts with labels to choose a checkpoint and calibrate by, instead of a part of `data`.
        how: what to make.
        columns: how to read files, as `read_classified` takes it, such as ``{"label": "emotion"}``.
        training: settings of the loop, such as ``{"epochs": 3}``.
        seed: same seed, same classifier.
        resume: go on from the last checkpoint in `out`.
        reporter: is told how it goes.
    """
    out, how = Path(out), how or Classification()
    Settings(**{**COMMON, **(training or {})})  # or say now what is wrong with it
    reporter = (reporter if join()[0] == 0 else None) or Reporter()
    with held_folder(out, resume=resume) as finished:
        if finished is not None:
            reporter.say(f"{out} is finished already; its classifier is in {out / MODEL}.")
            return finished
        spare_read(out, *(each for each in (data, dev, how.lexicon, how.model) if isinstance(each, (str, Path))))
        run = _Run(data, dev, how, dict(columns or {}), dict(training or {}), seed, reporter)
        return run.train(out, resume=resume)


class _Run:
    """One classifier on its way: the texts, the parts, the loop, and what is kept."""

    def __init__(
        self,
        data: str | Path | Classified,
        dev: str | Path | Classified | None,
        how: Classification,
        columns: dict[str, Any],
        training: dict[str, Any],
        seed: int,
        reporter: Reporter,
    ) -> None:
        self.how, self.seed, self.reporter = how, seed, reporter
        whole = data if isinstance(data, Classified) else read_classified(data, **columns)
        judged = dev if isinstance(dev, Classified) or dev is None else read_classified(dev, **columns)
        torch.manual_seed(derive(seed, "weights"))
        self.encoder = build_encoder(how.model, pooling=how.pooling or None)
        whole, notes = whole.once()
        self.labels = choose_classes(whole, how.classes, lambda names: self._means(whole, names))
        self.whole = whole.of_classes(self.labels) if len(self.labels) < len(whole.counts) else whole
        self._check()
        self.objective = self._objective()
        self.train_texts, self.aside = self._split(judged)
        self._say(notes)
        self.settings = self._settings(training)
        self.classifier, self.learner = self._parts()

    def train(self, out: Path, *, resume: bool) -> RunResult:
        """Train, fit and calibrate, and save what came of it."""
        max_length, encoder = self.settings.max_length, self.encoder
        rows = LabelledRows(encoder.tokenizer, self.train_texts.texts, self.train_texts.numbers(self.labels))
        frame = getattr(encoder[0], "frame", None) or frame_of(encoder.tokenizer)
        batches = Batches(
            rows,
            frame,
            batch_size=self.settings.batch_size,
            max_length=max_length,
            seed=self.settings.seeds.data,
            drop_last=len(rows) >= 2 * self.settings.batch_size,
            min_rows=world()[1],
        )
        if "steps" not in self.given and "epochs" not in self.given and self.objective == "contrast":
            steps = max(FEWEST_STEPS, self.settings.total_steps(len(batches)))
            self.settings = dataclasses.replace(self.settings, steps=steps)
        before = None
        if self.objective == "contrast":
            some = np.random.default_rng(derive(self.seed, "fitted")).permutation(len(rows))[:MOST_FITTED]
            framed = rows.tokens(encoder, max_length).rows
            before = _Fitting(self.classifier, [framed[i] for i in some], rows.classes[some], self.how.class_weights)
        judge = None
        if self.aside is not None:
            aside = LabelledRows(encoder.tokenizer, self.aside.texts, self.aside.numbers(self.labels))
            judge = HeldOutLabels(
                self.classifier, aside, max_length=max_length, choose_by=self.how.choose_by, before=before
            )
        total = self.settings.total_steps(len(batches))
        self.reporter.say(f"{counted(total, 'step')} of {self.settings.batch_size} over {counted(len(rows), 'text')}.")
        with quickened(self.learner), varied_shapes():
            result = fit(
                self.learner,
                batches,
                self.settings,
                out,
                evaluate=judge,
                reporter=self.reporter,
                resume=resume,
                plan={"classify": self.record(), "data": _digest(self.whole, self.aside), "processes": world()[1]},
            )
        if before is not None:
            before()
        calibration = judge.calibrate() if judge is not None else None
        record = self._record(result, calibration)
        if world()[0] == 0:
            self.classifier.save(out / MODEL, facts=self._facts(result))
            write_json(out / RECORD, record)
            tidy(out)
        return RunResult(out, out / MODEL, record)

    def _means(self, data: Classified, names: Sequence[str]) -> NDArray[np.floating]:
        """Return the mean vector of each class, by the encoder as it starts, from at most a hundred texts each."""
        found = []
        for name in names:
            texts = [text for text, each in zip(data.texts, data.labels, strict=True) if name in each][:100]
            found.append(encode_texts(self.encoder, texts).mean(axis=0))
        return np.stack(found)

    def _check(self) -> None:
        counts = self.whole.counts
        alone = [name for name, count in counts.items() if count == 1]
        if len(alone) > max(2, len(counts) // 2) and len(counts) > len(self.whole) / 2:
            raise DataError(
                f"{self.whole.source} has {len(counts):,} different labels in {counted(len(self.whole), 'row')}, which "
                "is no set of classes. Name another column with --label-column, or give more texts of each."
            )
        if alone:
            listed = ", ".join(map(repr, alone[:5])) + (" …" if len(alone) > 5 else "")
            self.reporter.say(
                f"A single text is little to learn a class from: {listed}. It is trained on and never set aside."
            )

    def _objective(self) -> str:
        if self.how.objective != "auto":
            return self.how.objective
        each = len(self.whole) / len(self.labels)
        few = each <= FEW and self.how.head == "linear"
        chosen = "contrast" if few else "cross-entropy"
        why = "contrast first, then a linear head, for few labels" if few else "there are labels enough for it"
        self.reporter.say(f"{each:.0f} texts a class: the objective is {chosen} ({why}).")
        return chosen

    def _split(self, judged: Classified | None) -> tuple[Classified, Classified | None]:
        """Return what is trained on, and what is set aside, or given, to choose and calibrate by."""
        if judged is not None:
            known = dataclasses.replace(judged.of_classes(self.labels), several=self.whole.several)
            if not len(known):
                raise DataError(f"No row of {judged.source} has a label that is trained on. Give another --dev.")
            if len(known) < len(judged):
                left = counted(len(judged) - len(known), "row")
                self.reporter.say(f"{left} of {judged.source} with a label that is not trained on left out.")
            return self.whole, known
        aside = stratified(self.whole.numbers(self.labels), self.how.held_out, derive(self.seed, "aside"))
        if aside.sum() < max(FEWEST_ASIDE, 2 * len(self.labels)):
            self.reporter.say(
                "Too few labels to set some aside: the last weights are kept, and probabilities are not calibrated. "
                "Give --dev, or a larger --held-out, for both."
            )
            return self.whole, None
        return self.whole.take(np.flatnonzero(~aside)), self.whole.take(np.flatnonzero(aside))

    def _say(self, notes: Sequence[str]) -> None:
        held = "" if self.aside is None else f", {counted(len(self.aside), 'text')} to choose and calibrate by"
        several = " (a text may have several)" if self.whole.several else ""
        notes = [f"{counted(len(self.train_texts), 'text')} of {len(self.labels)} classes{several}{held}", *notes]
        self.reporter.say("; ".join(notes) + ".")

    def _settings(self, training: dict[str, Any]) -> Settings:
        self.given = training
        own = {**COMMON, **DEFAULTS[self.objective], "patience": 4 if self.aside is not None else 0}
        if sum(each.numel() for each in self.encoder.parameters()) >= LARGE:
            own["learning_rate"] *= LARGE_RATE
        positions = getattr(self.encoder[0].model.config, "max_position_embeddings", None)
        longest = int(min(positions or 512, self.encoder.tokenizer.model_max_length))
        own["max_length"] = min(own["max_length"], longest)
        settings = Settings(**{**own, **training}, seeds=Seeds.all(self.seed))
        if settings.max_length > longest:
            raise MirrormaskError(
                f"The 'max_length' of training must be at most {longest}, the most this model can read. "
                f"Got {settings.max_length}."
            )
        check_trackers(settings.trackers)
        return settings

    def _parts(self) -> tuple[Classifier, Learner]:
        how, several = self.how, self.whole.several
        shape: dict[str, Any] = {"head": how.head, "several": several, "unit": self.objective == "contrast"}
        always = all(self.whole.labels)
        length = self.settings.max_length
        classifier = Classifier(self.encoder, self.labels, **shape, always=always, max_length=length)
        other = Classifier(copy_of(self.encoder), self.labels, **shape) if self.objective == "lcl" else None
        view, vocabulary = self._view(), Vocabulary.of(self.encoder)
        if view is not None:
            view.attach(self.encoder, None)
        numbers = self.train_texts.numbers(self.labels)
        learner = Learner(
            classifier,
            self.objective,
            contrast=how.contrast,
            temperature=how.temperature,
            weighting=other,
            detach=how.detach,
            class_weights=class_weights(numbers, len(self.labels), how.class_weights),
            view=view,
            vocabulary=vocabulary,
            head_rate=how.head_rate,
            clip=self.settings.clip,
            chunk=self.settings.large_batch or None,
        )
        return classifier, learner.to(self.encoder.device)

    def _view(self) -> View | None:
        name = self.how.augment or ("dropout" if self.objective == "contrast" else "none")
        if self.how.lexicon and name != "synonyms":
            raise MirrormaskError("A lexicon belongs to --augment synonyms. Leave it out, or name that view.")
        if name == "none":
            return None
        view: View = views.build(name, **({"lexicon": self.how.lexicon} if name == "synonyms" else {}))
        if view.forward_key != "plain" or view.works_at("output"):
            fit_for = ", ".join(each.name for each in views if _rewrites(each.build()))
            raise MirrormaskError(f"The view {name!r} does not rewrite text. Take one of: none, {fit_for}.")
        return view

    def record(self) -> dict[str, Any]:
        """Return what the run was asked to be, with what `auto` came to."""
        return {**dataclasses.asdict(self.how), "objective": self.objective, "labels": list(self.labels)}

    def _facts(self, result: Result) -> dict[str, Any]:
        return {
            "base_model": self.how.model,
            "method": f"classify {self.objective}",
            "classes": len(self.labels),
            "steps": result.best_step,
            "chosen_by": f"{self.how.choose_by} on labels set aside" if self.aside is not None else "last",
            **({} if result.best_score is None else {"score": result.best_score}),
            "learned_from": "labels",
            "trained_with": f"mirrormask {versions()['mirrormask']}",
        }

    def _record(self, result: Result, calibration: dict[str, float] | None) -> dict[str, Any]:
        return {
            "classify": self.record(),
            "settings": dataclasses.asdict(self.settings),
            "data": {
                "source": self.whole.source,
                "texts": len(self.train_texts),
                "aside": 0 if self.aside is None else len(self.aside),
                "several": self.whole.several,
                "counts": self.whole.counts,
            },
            "selection": {"by": self.how.choose_by if self.aside is not None else "last"},
            "result": dataclasses.asdict(result),
            "calibration": calibration,
            "device": str(self.encoder.device),
            "precision": best_precision(self.encoder.device, self.settings.precision).name,
            "processes": world()[1],
            "versions": versions(),
            "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }


class _Fitting:
    """Fits the linear head of a classifier to the vectors that its encoder has now."""

    def __init__(self, classifier: Classifier, rows: list[Any], labels: NDArray[np.int64], weights: str) -> None:
        from mirrormask.core.batch import Tokens

        self.classifier, self.tokens, self.labels = classifier, Tokens.of(rows), labels
        self.balanced = weights == "balanced"

    def __call__(self) -> None:
        vectors = encode_tokens(self.classifier.encoder, self.tokens)
        fit_linear(self.classifier, vectors, self.labels, balanced=self.balanced)


def _rewrites(view: View) -> bool:
    return view.forward_key == "plain" and not view.works_at("output")


def _digest(*parts: Classified | None) -> str:
    found = hashlib.blake2b(digest_size=8)
    for part in parts:
        for text, labels in () if part is None else zip(part.texts, part.labels, strict=True):
            found.update("\0".join((text, *labels, "")).encode("utf-8", "surrogatepass"))
    return found.hexdigest()
