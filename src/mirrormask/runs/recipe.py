"""Recipes: a run as data, in TOML, checked whole before anything is loaded, all problems reported at once."""

from __future__ import annotations

import dataclasses
import tomllib
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mirrormask.core.errors import MirrormaskError, did_you_mean
from mirrormask.core.fitting import WRONG, fitted, type_name
from mirrormask.core.registry import Registry
from mirrormask.core.seeding import Seeds

DEFAULT_METHOD = "keyword-passages"
"""The method `train` takes when none is named."""


@dataclass(frozen=True)
class ModelSpec:
    """The model to start from.

    Args:
        name: a shipped model, a folder, a name under MIRRORMASK_MODELS, or a hub name.
        pooling: a pooling by name; empty takes the model's own, or the method's.
        template: the prompt of the `mask-prompt` pooling; empty takes PromptBERT's.
        lora: rank of adapters to train instead of all weights; 0 trains all.
        freeze_embeddings: leave the embeddings as they are.
    """

    name: str = "mini"
    pooling: str = ""
    template: str = ""
    lora: int = 0
    freeze_embeddings: bool = False


@dataclass(frozen=True)
class DataSpec:
    """The text to learn from.

    Args:
        corpus: files, `-` for stdin, or names of a corpus or dataset.
        columns: the columns to read.
        where: read only rows with such values, each as `column=value` or `column=value,value`.
        split: split texts into sentences: `none`, `auto`, `en` or `zh`.
        deduplicate: keep only the first of equal rows.
        min_words: leave out shorter rows.
        max_words: leave out longer rows; 0 keeps them.
        limit: read only so many rows; 0 reads all.
        dev: an STS task (`stsb-dev`) or a file with sentence1, sentence2, score to choose checkpoints by; empty
            chooses without labels.
    """

    corpus: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    split: str = "none"
    deduplicate: bool = True
    min_words: int = 1
    max_words: int = 0
    limit: int = 0
    dev: str = ""


@dataclass(frozen=True)
class EvaluationSpec:
    """What to measure when the run is over.

    Args:
        tasks: STS tasks; none are measured where none are named, unless several runs are made to be compared.
        untrained: measure the model as it is, without training, which is what the others are held against.
    """

    tasks: tuple[str, ...] = ()
    untrained: bool = False


@dataclass(frozen=True)
class PartSpec:
    """A part by name, with its parameters."""

    name: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Recipe:
    """A whole run: model, data, method, pairing, training, and the published number it is held against.

    Args:
        model: what to start from.
        data: what to learn from.
        method: the method and its parameters.
        pairing: where positives come from; without a name, the method's own.
        training: settings that differ from the method's.
        seeds: of data, dropout and initialization.
        expect: published numbers.
        evaluation: what to measure at the end.
        transform: a map of the trained encoder's vectors that is fitted on the same text and kept; none without a name.
    """

    model: ModelSpec = ModelSpec()
    data: DataSpec = DataSpec()
    method: PartSpec = PartSpec(DEFAULT_METHOD)
    pairing: PartSpec = PartSpec()
    training: Mapping[str, Any] = field(default_factory=dict)
    seeds: Seeds = field(default_factory=Seeds)
    expect: Mapping[str, Any] = field(default_factory=dict)
    evaluation: EvaluationSpec = EvaluationSpec()
    transform: PartSpec = PartSpec()

    def record(self) -> dict[str, Any]:
        """Return the recipe as plain data."""
        found = dataclasses.asdict(self)
        if not self.data.where:  # as runs begun before there were conditions have it, which are resumed
            del found["data"]["where"]
        return found


TABLES = {
    "model": "name, pooling, template, lora, freeze_embeddings",
    "data": "corpus, columns, where, split, deduplicate, min_words, max_words, limit, dev",
    "method": "name and the method's parameters",
    "pairing": "name and the pairing's parameters",
    "training": "the settings of the loop",
    "seeds": "data, dropout, initialization",
    "expect": "published numbers",
    "evaluation": "tasks, untrained",
    "transform": "name and the transform's parameters",
}


def read_recipe(path: Path | str, overrides: Sequence[str] = ()) -> Recipe:
    """Read a recipe from a TOML file, with `table.key=value` overrides.

    Args:
        path: the file; relative corpus paths in it are taken as they are, from where the command runs.
        overrides: such as ``training.steps=100`` or, where it is plain which table is meant, ``steps=100``.
    """
    path = Path(path)
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        near = [p.name for p in path.parent.glob("*.toml")] if path.parent.is_dir() else []
        raise MirrormaskError(f"There is no recipe {path}.{did_you_mean(path.name, near)}") from None
    except (ValueError, RecursionError, IsADirectoryError) as error:
        raise MirrormaskError(f"The recipe {path} is not TOML: {error}.") from error
    return build_recipe(apply_overrides(tables, overrides), of=str(path))


def apply_overrides(tables: dict[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """Return the tables with each `table.key=value` written in."""
    for override in overrides:
        _apply(tables, override)
    return tables


def build_recipe(tables: Mapping[str, Any], *, of: str = "the recipe") -> Recipe:
    """Return the checked recipe that these tables describe; every problem is in the one error."""
    from mirrormask.data.pairs import pairings
    from mirrormask.isotropy import transforms
    from mirrormask.methods import methods
    from mirrormask.models.pooling import poolings
    from mirrormask.training.settings import Settings

    problems: list[str] = []
    for name in tables:
        if name not in TABLES:
            problems.append(f"There is no table [{name}].{did_you_mean(name, TABLES)} Known: {', '.join(TABLES)}.")
        elif not isinstance(tables[name], Mapping):
            problems.append(f"[{name}] must be a table.")
    given = {name: dict(tables.get(name, {})) for name in TABLES if isinstance(tables.get(name, {}), Mapping)}
    if isinstance(given.get("data", {}).get("corpus"), str):
        given["data"]["corpus"] = [given["data"]["corpus"]]
    if "seed" in given.get("training", {}):
        seed = given["training"].pop("seed")
        if fitted(seed, int) is WRONG:
            problems.append(f"[training] seed must be a whole number. Got {seed!r}.")
            seed = 0
        given["seeds"] = {**dict.fromkeys(("data", "dropout", "initialization"), seed), **given.get("seeds", {})}
    model = _fill(ModelSpec, given.get("model", {}), "model", problems)
    data = _fill(DataSpec, given.get("data", {}), "data", problems)
    seeds = _fill(Seeds, given.get("seeds", {}), "seeds", problems)
    evaluation = _fill(EvaluationSpec, given.get("evaluation", {}), "evaluation", problems)
    problems += _unknown_tasks(evaluation.tasks)
    training = given.get("training", {})
    _check_training(Settings, training, problems)
    method, pairing, transform = (
        PartSpec(str(table.pop("name", DEFAULT_METHOD if kind == "method" else "")), table)
        for kind, table in ((kind, given.get(kind, {})) for kind in ("method", "pairing", "transform"))
    )
    problems += methods.check(method.name, method.parameters)
    named: list[tuple[Registry[Any], PartSpec]] = [(pairings, pairing), (transforms, transform)]
    for registry, part in named:
        if part.name:
            problems += registry.check(part.name, part.parameters)
        elif part.parameters:
            problems.append(f"[{registry.kind}] needs a name.")
    if model.pooling:
        problems += poolings.check(model.pooling, {})
    if not problems:
        problems += _built(methods, method)
        problems += [problem for registry, part in named if part.name for problem in _built(registry, part)]
    if problems:
        raise MirrormaskError(_listed(of, problems))
    return Recipe(model, data, method, pairing, training, seeds, given.get("expect", {}), evaluation, transform)


def _unknown_tasks(tasks: Sequence[str]) -> list[str]:
    from mirrormask.data.tasks.sts_tasks import STS_TASKS

    return [
        f"[evaluation] has no task {task!r}.{did_you_mean(task, STS_TASKS)} Known: {', '.join(STS_TASKS)}."
        for task in tasks
        if task not in STS_TASKS
    ]


def _listed(of: str, problems: list[str]) -> str:
    if len(problems) == 1:
        return f"{of}: {problems[0]}" if of.endswith(".toml") else problems[0]
    return f"{of} has {len(problems)} problems:\n" + "\n".join(f"  - {problem}" for problem in problems)


def _built(registry: Any, spec: PartSpec) -> list[str]:
    try:
        registry.build(spec.name, **spec.parameters)
    except MirrormaskError as error:
        return [str(error)]
    return []


def _fill(spec: Any, table: dict[str, Any], name: str, problems: list[str]) -> Any:
    hints = typing.get_type_hints(spec)
    good = {}
    for key, value in table.items():
        if key not in hints:
            problems.append(f"[{name}] has no key {key!r}.{did_you_mean(key, hints)} Known: {', '.join(hints)}.")
            continue
        fit = fitted(value, hints[key])
        if fit is WRONG:
            problems.append(f"[{name}] {key} must be {type_name(hints[key])}. Got {value!r}.")
        else:
            good[key] = fit
    return spec(**good)


def _check_training(settings: Any, table: dict[str, Any], problems: list[str]) -> None:
    hints = {k: v for k, v in typing.get_type_hints(settings).items() if k != "seeds"}
    for key, value in list(table.items()):
        if key not in hints:
            near = did_you_mean(key, [*hints, "seed"])
            problems.append(f"[training] has no key {key!r}.{near} Known: {', '.join([*hints, 'seed'])}.")
            continue
        fit = fitted(value, hints[key])
        if fit is WRONG:
            problems.append(f"[training] {key} must be {type_name(hints[key])}. Got {value!r}.")
            continue
        table[key] = fit
        try:
            settings(**{key: fit})
        except MirrormaskError as error:
            problems.append(str(error))


def _apply(tables: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    if not equals or not key:
        raise MirrormaskError(f"An override is 'table.key=value', such as training.steps=100. Got {override!r}.")
    *path, last = key.strip().split(".")
    if not path:
        path = [_table_of(last, tables)]
    target = tables
    for part in path:
        target = target.setdefault(part, {})
        if not isinstance(target, dict):
            raise MirrormaskError(f"The override {override!r} names a table that is a value.")
    target[last] = parse_value(text)


def _table_of(key: str, tables: Mapping[str, Any]) -> str:
    from mirrormask.training.settings import Settings

    if key == "seed" or key in {f.name for f in dataclasses.fields(Settings)}:
        return "training"
    for table, spec in (("data", DataSpec), ("model", ModelSpec), ("evaluation", EvaluationSpec)):
        if key in {f.name for f in dataclasses.fields(spec)}:  # type: ignore[arg-type]
            return table
    return "method"


def parse_value(text: str) -> Any:
    """Return a TOML value, or the text itself where it is none.

    Example:
        >>> parse_value("3e-5"), parse_value("true"), parse_value("cls-mlp")
        (3e-05, True, 'cls-mlp')
    """
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):  # not TOML, or a number of too many digits
        return text
