"""Whole files probed: trees or words read from a model's masks, written out and scored beside the baselines."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mirrormask.core.errors import MirrormaskError, at_least, one_of
from mirrormask.core.overwriting import spare_inputs
from mirrormask.core.storage import atomic_file, check_writable
from mirrormask.data.text.compression import check_file
from mirrormask.models.names import CHINESE_MODEL, DEFAULT_MODEL
from mirrormask.probing.impact import Impact, Matrix, impact_matrices
from mirrormask.probing.segmentation import DEFAULT_SEGMENTER, Segmenter

LONGEST_PIECE = 126
"""Characters of a line that are read together when it is cut into words: with two special tokens, what small models
are trained on."""

_SPACES_DROPPED = (
    "{:,} {} spaces between Latin words. They are dropped, so such words run together: segment is for text that is "
    "written without spaces."
)

Progress = Callable[[int, int], None]
"""Called with the number of sentences just done, and how many there are."""


@dataclass(frozen=True)
class FileProbe:
    """How a file is probed.

    Args:
        model: a masked language model, by name or folder; by default `mini`, and `mini-zh` for segment.
        layer: 0 is the embedding output, -1 the last layer.
        measure: as for `Impact`.
        decoder: of trees; by default `eisner`, for constituency `mart`.
        normalization: of the matrix before it is decoded; by default that of the task.
        root: `gold`, or `found` by the decoder.
        faithful: do what the released code does, faults included.
        segmenter: how characters become words.
        dev: a segmented file whose words choose the threshold of the segmenter.
        gold: the segmented text of the file, to score against.
        limit: only the first so many sentences.
        out: where the trees or words go.
        store: a folder that keeps the matrices; a run that was killed goes on from it.
        precision: as for impact matrices.
        seed: of random baselines.
    """

    model: str = ""
    layer: int = -1
    measure: str = "euclidean"
    decoder: str | None = None
    normalization: str | None = None
    root: str = "gold"
    faithful: bool = False
    segmenter: Segmenter = DEFAULT_SEGMENTER
    dev: Path | None = None
    gold: Path | None = None
    limit: int | None = None
    out: Path | None = None
    store: Path | None = None
    precision: str = "auto"
    seed: int = 42


def probe_file(task: str, file: Path | str, probe: FileProbe, *, progress: Progress | None = None) -> dict[str, Any]:
    """Probe a file and return the scores of what was read, beside all baselines.

    Args:
        task: `dependency` (CoNLL-U or CoNLL), `constituency` (bracketed trees), `discourse` (SciDTB) or `segment`
            (plain text, a sentence a line).
        file: what to read; for discourse it may be a folder.
        probe: how.
        progress: told how far it is.

    Raises:
        DataError: the file is not what the task reads; the message names the line.
    """
    one_of("task", task, TASKS, of="a probe")
    if probe.limit is not None:
        at_least("limit", probe.limit, 1, of="a probe")
    if probe.out is not None:
        check_writable(probe.out.parent)
    if task != "discourse" or not os.path.isdir(file):  # noqa: PTH112, as it never fails
        check_file(file)
    read = (file, probe.gold, probe.dev, probe.model)
    if probe.out is not None:
        spare_inputs([*read, probe.store], replaced=[probe.out])
    if probe.store is not None:
        spare_inputs(read, into=probe.store, option="--store")
    if task != "segment" and (probe.gold or probe.dev):
        raise MirrormaskError("--gold and --dev belong to segment: files of trees are scored against themselves.")
    probe = replace(probe, model=probe.model or (CHINESE_MODEL if task == "segment" else DEFAULT_MODEL))
    found = TASKS[task](Path(file), probe, progress)
    told = {"model": probe.model, "layer": probe.layer, "measure": probe.measure, "file": str(file)}
    return {**told, **found, "out": None if probe.out is None else str(probe.out)}


def _dependency(file: Path, probe: FileProbe, progress: Progress | None) -> dict[str, Any]:
    from mirrormask.data.tasks.conll import read_dependencies
    from mirrormask.data.tasks.conllu import format_conllu
    from mirrormask.probing.dependency import DependencyParser, probe_dependency

    parser = DependencyParser(
        probe.decoder or "eisner", probe.normalization or "softmax", root=probe.root, faithful=probe.faithful
    )
    how = Impact(layer=probe.layer, measure=probe.measure, root="kept" if probe.faithful else "none")
    sentences = list(itertools.islice(read_dependencies(file), probe.limit))
    matrices = _matrices(probe, [sentence.forms for sentence in sentences], how, progress)
    with _writer(probe.out) as write:
        result = probe_dependency(
            sentences, matrices, parser, keep=lambda tree: write(format_conllu(tree)), seed=probe.seed
        )
    return result.as_json()


def _constituency(file: Path, probe: FileProbe, progress: Progress | None) -> dict[str, Any]:
    from mirrormask.data.tasks.brackets import read_brackets, without_punctuation
    from mirrormask.probing.constituency import ConstituencyParser, probe_constituency

    decoder = probe.decoder or ("mart-released" if probe.faithful else "mart")
    parser = ConstituencyParser(decoder, probe.normalization or "none")
    plain = (without_punctuation(tree) for tree in read_brackets(file))
    trees = list(itertools.islice((tree for tree in plain if tree is not None), probe.limit))
    how = Impact(layer=probe.layer, measure=probe.measure)
    matrices = _matrices(probe, [tree.words() for tree in trees], how, progress)
    with _writer(probe.out) as write:
        result = probe_constituency(trees, matrices, parser, keep=lambda tree: write(f"{tree}\n"), seed=probe.seed)
    return result.as_json()


def _discourse(file: Path, probe: FileProbe, progress: Progress | None) -> dict[str, Any]:
    from mirrormask.data.tasks.scidtb import read_scidtb
    from mirrormask.probing.dependency import DependencyParser
    from mirrormask.probing.discourse import probe_discourse

    parser = DependencyParser(
        probe.decoder or "eisner", probe.normalization or "none", root=probe.root, faithful=probe.faithful
    )
    root = "masked" if probe.faithful else "none"
    how = Impact(layer=probe.layer, measure=probe.measure, rows="state", root=root)
    documents = list(itertools.islice(read_scidtb(file), probe.limit))
    matrices = _matrices(probe, [list(document.units) for document in documents], how, progress, label="Document")
    with _writer(probe.out) as write:

        def keep(document: Any, heads: Any) -> None:
            row = {"name": document.name, "units": list(document.units), "heads": heads.tolist()}
            write(json.dumps(row, ensure_ascii=False) + "\n")

        result = probe_discourse(documents, matrices, parser, keep=keep, seed=probe.seed)
    return result.as_json()


def _segment(file: Path, probe: FileProbe, progress: Progress | None) -> dict[str, Any]:
    from mirrormask.data.tasks.sighan import (
        check_same_text,
        count_spaced_lines,
        format_segmented,
        read_segmented,
        read_unsegmented,
    )
    from mirrormask.probing.segmentation import score_segmentation, segment, threshold_of_dev
    from mirrormask.probing.typography import clauses, words_of_clauses

    if probe.gold is not None:
        check_same_text(probe.gold, file)
    how = Impact(layer=probe.layer, measure=probe.measure, separator="", reach=1)
    threshold = None
    if probe.dev is not None:
        dev = [piece for words in read_segmented(probe.dev) for piece in words_of_clauses(words, LONGEST_PIECE)]
        units = [list("".join(words)) for words in dev]
        threshold = threshold_of_dev(dev, _matrices(probe, units, how, None, keep=False), probe.segmenter)
    lines = list(itertools.islice(read_unsegmented(file), probe.limit))
    pieces = [clauses(line, LONGEST_PIECE) for line in lines]
    flat = [piece for line in pieces for piece in line]
    matrices = _matrices(probe, [list(piece) for piece in flat], how, progress, label="Piece")
    cut, threshold = segment(flat, matrices, probe.segmenter, threshold=threshold)
    rest = iter(cut)
    words = [[word for _ in line for word in next(rest)] for line in pieces]
    with _writer(probe.out) as write:
        for line in words:
            write(format_segmented(line) + "\n")
    spaced = count_spaced_lines(file, probe.limit)
    warned = {"warning": _SPACES_DROPPED.format(spaced, "line has" if spaced == 1 else "lines have")} if spaced else {}
    if probe.gold is None:
        return {"task": "segmentation", "lines": len(lines), "threshold": threshold, "words": words[:20], **warned}
    gold = list(itertools.islice(read_segmented(probe.gold), probe.limit))
    return {**score_segmentation(gold, words, probe.segmenter, threshold, seed=probe.seed).as_json(), **warned}


TASKS: dict[str, Callable[[Path, FileProbe, Progress | None], dict[str, Any]]] = {
    "dependency": _dependency,
    "constituency": _constituency,
    "discourse": _discourse,
    "segment": _segment,
}
"""The tasks by name."""


def _matrices(
    probe: FileProbe,
    sentences: Sequence[Sequence[str]],
    how: Impact,
    progress: Progress | None,
    *,
    label: str = "Sentence",
    keep: bool = True,
) -> Iterator[Matrix]:
    """Yield the matrices of the sentences, one at a time; with a store, from there."""
    from mirrormask.models.masked_lm import MaskedLM
    from mirrormask.probing.impact_store import write_impacts

    lm = MaskedLM.load(probe.model)

    def told(done: int) -> None:
        if progress is not None:
            progress(done, len(sentences))

    if probe.store is None or not keep:
        found: Iterable[Matrix] = impact_matrices(lm, sentences, how, precision=probe.precision, label=label)
        return _counted(found, told)
    store = write_impacts(probe.store, lm, sentences, how, precision=probe.precision, label=label, progress=told)
    return iter(store)


def _counted(matrices: Iterable[Matrix], told: Callable[[int], None]) -> Iterator[Matrix]:
    for matrix in matrices:
        yield matrix
        told(1)


@contextlib.contextmanager
def _writer(out: Path | None) -> Iterator[Callable[[str], Any]]:
    """Give a function that writes to a file which appears once it is whole, or to nowhere."""
    if out is None:
        yield lambda _: None
        return
    with atomic_file(out) as stream:
        yield stream.write
