"""Measured runs of the probes that are not trees: word segmentation, and sentiment weighted by trees."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from probing_trees import layers_of

from mirrormask.data.tasks.absa import AspectExample
from mirrormask.data.tasks.dependencies import DependencySentence
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.probing.aspect import DEFAULT_SETTINGS, WITHOUT_TREES, AspectSet, AspectSettings, probe_aspect
from mirrormask.probing.decoders import Heads
from mirrormask.probing.dependency import DependencyParser
from mirrormask.probing.impact import Impact, impact_matrices
from mirrormask.probing.segmentation import DEFAULT_SEGMENTER, Segmenter, neighbors, score_segmentation
from mirrormask.probing.thresholds import separation
from mirrormask.probing.treebank_parser import TreebankParser, accuracy, train_parser
from mirrormask.probing.typography import clauses
from mirrormask.probing.whole_files import LONGEST_PIECE
from mirrormask.probing.word_states import word_states

RULES = {
    "mean length 1.6": DEFAULT_SEGMENTER,
    "otsu": Segmenter("otsu"),
    "mixture": Segmenter("mixture"),
    "otsu, per line": Segmenter("otsu", per_line=True),
    "mean length 1.6, no typography": Segmenter(typography=False),
}
_HELD_OUT = 10  # every tenth sentence of the treebank measures the parser


def segmentation_run(
    lm: MaskedLM, gold: Sequence[Sequence[str]], *, examples: Sequence[str] = (), precision: str = "auto"
) -> dict[str, Any]:
    """Return the scores of every layer and rule on segmented lines, with the baselines.

    The layer of the main result is the one whose neighbors fall most clearly into two heaps, so it needs no label.

    Args:
        lm: a masked LM that reads characters.
        gold: the words of each line.
        examples: other lines, to show cut.
        precision: as for impact matrices.
    """
    lines = [list(line) for line in gold if line]
    begun = time.monotonic()
    pieces, layers = _neighbors(lm, ["".join(line) for line in lines], precision)
    heaps = {k: separation(np.concatenate([each for line in own for each in line])) for k, own in layers.items()}
    chosen = max(heaps, key=lambda layer: heaps[layer])
    results: dict[str, dict[int, dict[str, Any]]] = {name: {} for name in RULES}
    for layer, own in layers.items():
        for name, segmenter in RULES.items():
            threshold, words = _cut(segmenter, pieces, own)
            results[name][layer] = score_segmentation(lines, words, segmenter, threshold).as_json()
    scores = {
        name: {str(layer): each["scores"]["induced"] for layer, each in of_rule.items()}
        for name, of_rule in results.items()
    }
    baselines = {k: v for k, v in results["otsu"][chosen]["scores"].items() if k != "induced"}
    found = {"items": len(lines), "baselines": baselines, "layers": scores, "separation": heaps, "chosen": chosen}
    threshold = float(results["mean length 1.6"][chosen]["threshold"])
    if examples:
        shown, shown_layers = _neighbors(lm, list(examples), precision)
        cut = _cut(DEFAULT_SEGMENTER, shown, shown_layers[chosen], threshold)[1]
        found["examples"] = [{"text": text, "words": words} for text, words in zip(examples, cut, strict=True)]
    return {**found, "seconds": time.monotonic() - begun}


def _neighbors(
    lm: MaskedLM, texts: Sequence[str], precision: str
) -> tuple[list[list[str]], dict[int, list[list[Any]]]]:
    """Return the clauses of each text, and layer → text → clause → correlations of neighbors."""
    pieces = [clauses(text, LONGEST_PIECE) for text in texts]
    every = layers_of(lm)
    units = [list(piece) for line in pieces for piece in line]
    stacks = impact_matrices(lm, units, Impact(layer=every, separator="", reach=1), precision=precision, label="Clause")
    layers: dict[int, list[list[Any]]] = {layer: [[] for _ in pieces] for layer in every}
    owners = [number for number, line in enumerate(pieces) for _ in line]
    for owner, stack in zip(owners, stacks, strict=True):
        for of_layer, matrix in zip(layers.values(), stack, strict=True):
            of_layer[owner].append(neighbors(matrix))
    return pieces, layers


def _cut(
    segmenter: Segmenter,
    pieces: Sequence[Sequence[str]],
    values: Sequence[Sequence[Any]],
    threshold: float | None = None,
) -> tuple[float, list[list[str]]]:
    flat = [each for line in values for each in line]
    texts = [piece for line in pieces for piece in line]
    found = segmenter.threshold(flat, texts) if threshold is None else threshold
    words = [
        [word for piece, own in zip(line, of_line, strict=True) for word in segmenter.cut(piece, own, found)]
        for line, of_line in zip(pieces, values, strict=True)
    ]
    return found, words


def parser_on(
    lm: MaskedLM, treebank: Sequence[DependencySentence], layer: int, *, epochs: float = 8.0
) -> tuple[TreebankParser, float]:
    """Return a parser trained on nine tenths of a treebank, and its accuracy on the tenth kept apart."""
    states = word_states(lm, [sentence.forms for sentence in treebank], layer=layer)
    heads = [sentence.heads for sentence in treebank]
    apart = [number for number in range(len(treebank)) if number % _HELD_OUT == 0]
    rest = [number for number in range(len(treebank)) if number % _HELD_OUT]
    parser = train_parser([states[i] for i in rest], [heads[i] for i in rest], epochs=epochs)
    return parser, accuracy(parser, [states[i] for i in apart], [heads[i] for i in apart])


def aspect_run(
    lm: MaskedLM,
    train: Sequence[AspectExample],
    test: Sequence[AspectExample],
    treebank: Sequence[DependencySentence],
    *,
    parser: DependencyParser,
    layer: int,
    seeds: Sequence[int] = (1, 2, 3, 4, 5),
    settings: AspectSettings = DEFAULT_SETTINGS,
    precision: str = "auto",
) -> dict[str, Any]:
    """Return accuracy and macro-F1 by kind of proximity.

    Args:
        lm: the masked LM; its states stay frozen.
        train, test: the judgements.
        treebank: what the supervised parser is trained on, which stands for a parser's trees.
        parser: how the induced trees are read; no gold root is given.
        layer: of the impact matrices.
        seeds: one run each.
        settings: how the classifier is trained.
        precision: as for impact matrices.
    """
    begun = time.monotonic()
    states_layer = lm.layers - 1  # one below the last, which is turned towards guessing words
    supervised, right = parser_on(lm, treebank, states_layer)
    induce = replace(parser, root="found", faithful=False)
    known, unknown = (
        _aspect_set(lm, examples, supervised, induce, layer, states_layer, precision) for examples in (train, test)
    )
    result = probe_aspect(known, unknown, (*WITHOUT_TREES, "parser", "induced"), seeds=seeds, settings=settings)
    return {**result.as_json(), "parser_uas_percent": right, "seconds": time.monotonic() - begun}


def _aspect_set(
    lm: MaskedLM,
    examples: Sequence[AspectExample],
    supervised: TreebankParser,
    induce: DependencyParser,
    layer: int,
    states_layer: int,
    precision: str,
) -> AspectSet:
    texts = [each.words for each in examples]
    states = word_states(lm, texts, layer=states_layer)
    unique = list(dict.fromkeys(texts))
    matrices = impact_matrices(lm, unique, Impact(layer=layer), precision=precision)
    induced: dict[tuple[str, ...], Heads] = {}
    for text, matrix in zip(unique, matrices, strict=True):
        induced[text] = induce.parse(matrix)
    parsed = {text: supervised.parse(own) for text, own in dict(zip(texts, states, strict=True)).items()}
    trees = {"parser": [parsed[text] for text in texts], "induced": [induced[text] for text in texts]}
    return AspectSet(examples, states, trees)
