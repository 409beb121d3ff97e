"""All measured runs behind the page of probing results, each kept as JSON so that a stopped run goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from probing_page import FIGURE, draw_layers, page
from probing_trees import (
    DEPENDENCY,
    best_setting,
    constituency_run,
    dependency_run,
    discourse_run,
    last_layer,
    random_weights,
)
from probing_words import aspect_run, segmentation_run

from mirrormask.core.errors import MirrormaskError
from mirrormask.core.storage import atomic_file, read_json, write_json
from mirrormask.data.tasks.absa import DATASETS, load_absa
from mirrormask.data.tasks.brackets import Tree, read_brackets, without_punctuation
from mirrormask.data.tasks.conll import read_dependencies
from mirrormask.data.tasks.dependencies import DependencySentence
from mirrormask.data.tasks.scidtb import Discourse, read_scidtb
from mirrormask.data.tasks.sighan import read_segmented
from mirrormask.data.text.sources import dataset_roots
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.models.precision import best_precision
from mirrormask.probing.dependency import SHORT, SUBSETS

Say = Callable[[str], None]

CHOICES = ("eisner", "eisner, released softmax", "eisner, no softmax")
"""The settings that may be chosen on the development part: those without the published code's use of the root."""

_DEV_LENGTHS = range(5, 31)


@dataclass(frozen=True)
class Sizes:
    """How much of each set is read; None reads all.

    Args:
        dev: sentences that choose a setting.
        sentences: of PUD and of the WSJ sample, each.
        documents: of SciDTB.
        lines: of SIGHAN PKU.
        judgements: of each aspect set.
        treebank: sentences the supervised parser is trained on.
        seeds: of the aspect runs.
    """

    dev: int | None = 300
    sentences: int | None = None
    documents: int | None = None
    lines: int | None = None
    judgements: int | None = None
    treebank: int | None = None
    seeds: int = 5


ALL = Sizes()


class Runs:
    """Runs by name, kept in a folder; one that is there with the same settings is not repeated.

    Args:
        folder: where the JSON files go.
        settings: what all runs share; a file of other settings is measured again.
        say: is told what is being measured.
    """

    def __init__(self, folder: Path, settings: dict[str, Any], say: Say) -> None:
        self.folder, self.settings, self.say = folder, settings, say
        self.found: dict[str, Any] = {}

    def do(self, name: str, measure: Callable[[], dict[str, Any]], **more: Any) -> dict[str, Any]:
        """Return the run `name`, measured now if it is not there."""
        file = self.folder / f"{name}.json"
        wanted = {**self.settings, **more}
        if file.is_file():
            kept = read_json(file)
            if kept.get("settings") == wanted:
                self.found[name] = kept
                return kept
        self.say(f"measuring {name}")
        found = {**measure(), **more, "precision": self.settings["precision"], "settings": wanted}
        write_json(file, found)
        self.found[name] = read_json(file)
        return self.found[name]


def run_all(
    folder: Path | str,
    *,
    model: str,
    zh_model: str | None = None,
    sizes: Sizes = ALL,
    examples: Sequence[str] = (),
    tasks: Sequence[str] = ("dependency", "constituency", "discourse", "segmentation", "aspect"),
    precision: str = "auto",
    device: str | None = None,
    say: Say | None = None,
) -> dict[str, Any]:
    """Measure everything the page shows and return the runs by name.

    Args:
        folder: where runs are kept as JSON.
        model: the English masked LM.
        zh_model: the Chinese one; without it segmentation is left out.
        sizes: how much of each set to read.
        examples: Chinese lines to show segmented.
        tasks: which to run.
        precision: `auto`, `fp32`, `bf16` or `fp16`.
        device: where models run.
        say: is told what is being measured.

    Raises:
        DatasetMissing, DataError: a set is not under the roots in MIRRORMASK_DATA.
    """
    lm = MaskedLM.load(model, device=device)
    chosen = best_precision(lm.device, precision).name
    runs = Runs(Path(folder), {"model": model, "sizes": vars(sizes), "precision": chosen}, say or (lambda _: None))
    options = {"precision": precision}
    if "dependency" in tasks or "aspect" in tasks:
        dev = runs.do("dependency-dev", lambda: _dependency_dev(lm, sizes, options))
    if "dependency" in tasks:
        for name, load in (("dependency-pud", _pud), ("dependency-wsj10", _wsj10)):
            runs.do(name, lambda load=load: _with_random(lm, load(sizes), dependency_run, "eisner", options, True))  # type: ignore[misc]
    if "constituency" in tasks:
        runs.do("constituency-dev", lambda: _constituency_dev(lm, sizes, options))
        runs.do(
            "constituency-wsj", lambda: _with_random(lm, _wsj_trees(sizes)[1], constituency_run, "mart", options, False)
        )
    if "discourse" in tasks:
        runs.do("discourse-dev", lambda: _discourse_dev(lm, sizes, options))
        runs.do(
            "discourse-test",
            lambda: _with_random(lm, _scidtb("test/gold", sizes.documents), discourse_run, "eisner", options, False),
        )
    if "segmentation" in tasks and zh_model is not None:
        runs.do("segmentation-pku", lambda: _segmentation(zh_model, device, sizes, examples, options), model=zh_model)
    if "aspect" in tasks:
        for name in DATASETS:
            runs.do(f"aspect-{name}", lambda name=name: _aspect(lm, name, dev["chosen"], sizes, options))  # type: ignore[misc]
    return runs.found


def write_page(runs: dict[str, Any], path: Path | str, *, model: str) -> None:
    """Write the page and, beside it, its figure."""
    path = Path(path)
    draw_layers(runs, path.with_name(FIGURE))
    with atomic_file(path) as stream:
        stream.write(page(runs, model=model))


def shared_file(*parts: str) -> Path:
    """Return a file or folder under the first root of MIRRORMASK_DATA that has it."""
    for root in dataset_roots():
        path = root.joinpath(*parts)
        if path.exists():
            return path
    raise MirrormaskError(
        f"{'/'.join(parts)} is under no root in MIRRORMASK_DATA. Set it to a folder that does, or leave out the task."
    )


def _with_random(
    lm: MaskedLM, items: Sequence[Any], measure: Any, parser: str, options: dict[str, Any], probability: bool
) -> dict[str, Any]:
    """Return a run, with what the last layer of an untrained model of the same shape scores."""
    found: dict[str, Any] = measure(lm, items, **options, **({"probability": True} if probability else {}))
    found["random weights"] = last_layer(measure(random_weights(lm), items, **options)["layers"][parser])
    return found


def _first(items: Iterator[Any], count: int | None) -> list[Any]:
    return list(islice(items, count))


def _dependency_dev(lm: MaskedLM, sizes: Sizes, options: dict[str, Any]) -> dict[str, Any]:
    every = read_dependencies(shared_file("treebanks", "en_ewt_dev.conllu.gz"))
    some = _first((sentence for sentence in every if len(sentence) in _DEV_LENGTHS), sizes.dev)
    run = dependency_run(lm, some, **options)
    return {**run, "chosen": best_setting(run, "uuas_percent", subset=SUBSETS[0], among=CHOICES)}


def _pud(sizes: Sizes) -> list[DependencySentence]:
    return _first(read_dependencies(shared_file("treebanks", "en_pud.conllu.gz")), sizes.sentences)


def _wsj10(sizes: Sizes) -> list[DependencySentence]:
    bare = (s.without_punctuation() for s in read_dependencies(shared_file("treebanks", "wsj_sample.conll.gz")))
    return _first((sentence for sentence in bare if 0 < len(sentence) <= SHORT), sizes.sentences)


def _wsj_trees(sizes: Sizes) -> tuple[list[Tree], list[Tree]]:
    """Return the trees that choose a setting, and the others."""
    bare = (without_punctuation(tree) for tree in read_brackets(shared_file("treebanks", "wsj_sample.trees.gz")))
    some = (tree for tree in bare if tree is not None)
    return _first(some, 300 if sizes.dev is None else sizes.dev), _first(some, sizes.sentences)


def _constituency_dev(lm: MaskedLM, sizes: Sizes, options: dict[str, Any]) -> dict[str, Any]:
    run = constituency_run(lm, _wsj_trees(sizes)[0], **options)
    return {**run, "chosen": best_setting(run, "sentence_f1_percent", subset="all", among=("mart", "mart-paper"))}


def _scidtb(split: str, count: int | None) -> list[Discourse]:
    return _first(read_scidtb(shared_file("scidtb", *split.split("/"))), count)


def _discourse_dev(lm: MaskedLM, sizes: Sizes, options: dict[str, Any]) -> dict[str, Any]:
    few = 50 if sizes.documents is None else min(50, sizes.documents)
    run = discourse_run(lm, _scidtb("dev/gold", few), **options)
    return {**run, "chosen": best_setting(run, "uas_percent", subset=None, among=("eisner", "cle"))}


def _segmentation(
    name: str, device: str | None, sizes: Sizes, examples: Sequence[str], options: dict[str, Any]
) -> dict[str, Any]:
    gold = _first(read_segmented(shared_file("zh", "sighan", "sighan2005_pku_test_gold.utf8")), sizes.lines)
    return segmentation_run(MaskedLM.load(name, device=device), gold, examples=examples, **options)


def _aspect(lm: MaskedLM, name: str, chosen: dict[str, Any], sizes: Sizes, options: dict[str, Any]) -> dict[str, Any]:
    treebank = _first(read_dependencies(shared_file("treebanks", "en_ewt_dev.conllu.gz")), sizes.treebank)
    train, test = (load_absa(name, split)[: sizes.judgements] for split in ("train", "test"))
    return aspect_run(
        lm,
        train,
        test,
        treebank,
        parser=DEPENDENCY[chosen["parser"]],
        layer=chosen["layer"],
        seeds=range(1, sizes.seeds + 1),
        **options,
    )
