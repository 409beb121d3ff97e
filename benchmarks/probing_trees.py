"""Measured runs of the tree probes: every layer and decoder in one pass, the setting chosen on a development part."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from transformers import AutoModelForMaskedLM

from mirrormask.core.seeding import derive
from mirrormask.data.tasks.brackets import Tree
from mirrormask.data.tasks.dependencies import DependencySentence
from mirrormask.data.tasks.scidtb import Discourse
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.probing.constituency import ConstituencyParser, ConstituencyTally
from mirrormask.probing.dependency import DependencyParser, DependencyTally
from mirrormask.probing.discourse import DiscourseTally
from mirrormask.probing.impact import Impact, impact_matrices

DEPENDENCY = {
    "eisner": DependencyParser(),
    "eisner, released softmax": DependencyParser(normalization="released"),
    "eisner, no softmax": DependencyParser(normalization="none"),
    "eisner, faithful": DependencyParser(faithful=True),
    "cle": DependencyParser("cle", normalization="none"),
    "cle, faithful": DependencyParser("cle", faithful=True),
}
CONSTITUENCY = {name: ConstituencyParser(name) for name in ("mart", "mart-paper", "mart-released")}
DISCOURSE = {
    "eisner": DependencyParser(normalization="none"),
    "cle": DependencyParser("cle", normalization="none"),
    "eisner, faithful": DependencyParser(faithful=True),
}

Tally = DependencyTally | ConstituencyTally | DiscourseTally


def layers_of(lm: MaskedLM) -> tuple[int, ...]:
    """Return the layers that are probed: all but the embeddings, where a mask at one place moves no other.

    Their matrix is zero, and the tree read from it is only how a decoder settles ties, which can score well.
    """
    return tuple(range(1, lm.layers + 1))


def random_weights(lm: MaskedLM, *, seed: int = 42) -> MaskedLM:
    """Return a model of the same shape whose weights were never trained."""
    torch.manual_seed(derive(seed, "random weights") % 2**63)
    fresh = AutoModelForMaskedLM.from_config(lm.model.config).float()
    return MaskedLM(fresh, lm.tokenizer).to(lm.device).eval()


def dependency_run(
    lm: MaskedLM, sentences: Sequence[DependencySentence], *, probability: bool = False, precision: str = "auto"
) -> dict[str, Any]:
    """Return the scores of every layer and parser on a treebank, with the baselines.

    Args:
        lm: the masked LM.
        sentences: the gold trees.
        probability: read the change of probability too, which costs a second pass.
        precision: as for impact matrices.
    """
    forms = [sentence.forms for sentence in sentences]
    every = layers_of(lm)
    begun = time.monotonic()
    found = _by_layer(
        sentences,
        impact_matrices(lm, forms, Impact(layer=every, root="kept"), precision=precision),
        {name: {k: DependencyTally(parser, baselines=False) for k in every} for name, parser in DEPENDENCY.items()},
        DependencyTally(),
    )
    if probability:
        tallies = {name: DependencyTally(DEPENDENCY[name], baselines=False) for name in ("eisner", "eisner, faithful")}
        matrices = impact_matrices(lm, forms, Impact(measure="probability", root="kept"), precision=precision)
        for sentence, matrix in zip(sentences, matrices, strict=True):
            for tally in tallies.values():
                tally.add(sentence, matrix)
        found["probability"] = {name: tally.result().scores["induced"] for name, tally in tallies.items()}
    return {**found, "seconds": time.monotonic() - begun}


def constituency_run(lm: MaskedLM, trees: Sequence[Tree], *, precision: str = "auto") -> dict[str, Any]:
    """Return the scores of every layer and form of MART on a treebank, with the baselines."""
    every = layers_of(lm)
    begun = time.monotonic()
    found = _by_layer(
        trees,
        impact_matrices(lm, [tree.words() for tree in trees], Impact(layer=every), precision=precision),
        {name: {k: ConstituencyTally(parser, baselines=False) for k in every} for name, parser in CONSTITUENCY.items()},
        ConstituencyTally(),
    )
    return {**found, "seconds": time.monotonic() - begun}


def discourse_run(lm: MaskedLM, documents: Sequence[Discourse], *, precision: str = "auto") -> dict[str, Any]:
    """Return the scores of every layer and decoder over the units of documents, with the baselines."""
    every = layers_of(lm)
    begun = time.monotonic()
    how = Impact(layer=every, rows="state", root="masked")
    found = _by_layer(
        documents,
        impact_matrices(lm, [document.units for document in documents], how, precision=precision, label="Document"),
        {name: {k: DiscourseTally(parser, baselines=False) for k in every} for name, parser in DISCOURSE.items()},
        DiscourseTally(),
    )
    return {**found, "seconds": time.monotonic() - begun}


def _by_layer(
    items: Sequence[Any], stacks: Iterable[Any], tallies: Mapping[str, Mapping[int, Tally]], baselines: Tally
) -> dict[str, Any]:
    """Return parser → layer → scores, from matrices (layers, n, n) that are held one at a time."""
    for item, stack in zip(items, stacks, strict=True):
        baselines.add(item, stack[-1])
        for layers in tallies.values():
            for tally, matrix in zip(layers.values(), stack, strict=True):
                tally.add(item, matrix)
    others = {name: scores for name, scores in baselines.result().scores.items() if name != "induced"}
    scores = {
        name: {str(layer): tally.result().scores["induced"] for layer, tally in layers.items()}
        for name, layers in tallies.items()
    }
    return {"items": len(items), "baselines": others, "layers": scores}


def best_setting(run: dict[str, Any], score: str, *, subset: str | None, among: Iterable[str]) -> dict[str, Any]:
    """Return the parser and layer with the highest score: how a setting is chosen on a development part.

    Args:
        run: what one of the runs here returned.
        score: such as `uuas_percent`.
        subset: the subset of arcs or sentences it is read from, where the scores have subsets.
        among: the parsers that may be chosen.
    """
    found = [
        ((scores[subset] if subset is not None else scores)[score], name, int(layer))
        for name in among
        for layer, scores in run["layers"][name].items()
    ]
    value, name, layer = max(found, key=lambda each: (each[0], each[2]))
    return {"parser": name, "layer": layer, score: value}


def last_layer(scores: Mapping[str, Any]) -> Any:
    """Return what belongs to the last of the layers."""
    return scores[max(scores, key=int)]
