"""Impact matrices: how much masking one unit of a sentence moves what a model makes of another.

    F(i, j) = d( H(x without i)_i , H(x without i and j)_i )

Row i is the unit that is looked at, column j the one whose loss it feels. This is the only caller of the model in
this package; trees, segments and pictures are made of the matrices alone.

Paper: Wu et al. 2020, "Perturbed Masking: Parameter-free Probing for Analyzing and Interpreting BERT"
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mirrormask.core.errors import MirrormaskError, ModelError, at_least, one_of
from mirrormask.models.bulk import token_budget as budget_of
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.models.precision import best_precision
from mirrormask.models.state_reader import MaskedCopies, reader_of
from mirrormask.probing.masked_pairs import NONE, MaskedInputs, masked_inputs
from mirrormask.probing.measures import MEASURES, probability
from mirrormask.probing.reduction import REDUCTIONS, reduced
from mirrormask.probing.units import Units, UnitTokenizer

Matrix = NDArray[np.float32]

ROOTS = ("none", "kept", "masked")
STATE = "state"

_BATCHES_AT_ONCE = 64  # sentences of so many batches are cut into batches together, so that equal lengths meet
_SENTENCES_AT_ONCE = 2_048


@dataclass(frozen=True)
class Impact:
    """What is read from a model, and how it becomes one number for each two units.

    Args:
        layer: 0 is the embedding output, -1 the last layer; several layers share one forward.
        measure: `euclidean` or `cosine` distance, `probability` (the change of the chance of the masked tokens), or
            `cosine-similarity`, the released code's 'cos', which falls where the others rise.
        rows: how the sub-words of the unit that is looked at become one: `mean`, `first`, `max` or `sum` of their
            distances, or `state`: the distance of their mean states, as for spans.
        columns: how the sub-words of the masked unit become one; it matters only without `whole_units`.
        whole_units: mask all sub-words of a unit together. Otherwise each is masked alone.
        root: `none`; `kept`: the first special token is unit 0, read but never masked, as the released dependency
            probe has it, so its column is that of a state and itself; `masked`: it is a unit like any other, as in
            the released discourse probe.
        reach: how far apart two units may be that are masked together; farther ones get the number of a state and
            itself. By default all pairs are run; neighbors alone (1) are enough to cut words apart.
        separator: what stands between two units.

    Example:
        >>> Impact(layer=3, measure="cosine").rows
        'mean'
    """

    layer: int | tuple[int, ...] = -1
    measure: str = "euclidean"
    rows: str = "mean"
    columns: str = "first"
    whole_units: bool = True
    root: str = "none"
    reach: int | None = None
    separator: str = " "

    def __post_init__(self) -> None:
        one_of("measure", self.measure, MEASURES, of="impact")
        one_of("rows", self.rows, (*REDUCTIONS, STATE), of="impact")
        one_of("columns", self.columns, REDUCTIONS, of="impact")
        one_of("root", self.root, ROOTS, of="impact")
        if self.reach is not None:
            at_least("reach", self.reach, 1, of="impact")
        if self.rows == STATE and not self.whole_units:
            raise MirrormaskError(
                f"The 'rows' of impact cannot be {STATE!r} when sub-words are masked alone. "
                f"Set whole_units=True, or rows to one of {', '.join(REDUCTIONS)}."
            )


DEFAULT = Impact()
"""Euclidean distances at the last layer, words masked whole."""


def impact_matrices(
    model: Any,
    sentences: Iterable[Sequence[str]],
    impact: Impact = DEFAULT,
    *,
    precision: str = "auto",
    token_budget: int | None = None,
    label: str = "Sentence",
    first: int = 1,
) -> Iterator[Matrix]:
    """Yield the impact matrix (n, n) of each sentence, in order; with several layers (layers, n, n).

    With a root the matrix has one row and column more, at 0. Memory holds the sentences of a few batches.

    Args:
        model: a `MaskedLM`; for distances a sentence encoder will do as well.
        sentences: the units of each: words, spans, or characters where a language writes no spaces.
        impact: what to read and how.
        precision: `auto` (what the device is fast at), `fp32`, `bf16` or `fp16`.
        token_budget: most tokens of a batch; by default what fits a CPU's cache, or fills a GPU.
        label: what a sentence is called in errors, such as "Line".
        first: the number of the first sentence, for errors.

    Raises:
        DataError: a sentence is empty, or longer than the model reads.
        MirrormaskError: the model has no such layer.

    Example:
        >>> lm = MaskedLM.load("mini")  # doctest: +SKIP
        >>> next(impact_matrices(lm, [["the", "old", "boat"]])).shape  # doctest: +SKIP
        (3, 3)
    """
    prober = _Prober(model, impact, precision, token_budget, label)
    return prober.stream(sentences, first)


class _Prober:
    """Holds the model as it is read, and runs blocks of sentences through it."""

    def __init__(self, model: Any, impact: Impact, precision: str, token_budget: int | None, label: str) -> None:
        lm = model if isinstance(model, MaskedLM) else None
        self.base = lm.model.base_model if lm is not None else model[0].model
        self.head = None if lm is None else lm.head
        tokenizer = model.tokenizer
        if tokenizer.mask_token_id is None:
            raise ModelError(
                "This tokenizer has no mask token, so nothing can be masked. Name a masked language model."
            )
        self.impact = impact
        self.measure = MEASURES[impact.measure]
        self.layers = _layers(impact, int(self.base.config.num_hidden_layers))
        if self.measure.of_probability and self.head is None:
            raise ModelError("The 'probability' of impact needs an LM head. Give a masked LM, or another measure.")
        self.device = next(self.base.parameters()).device
        chosen = best_precision(self.device, precision)
        if token_budget is None:  # twice as wide numbers fill a cache twice as soon
            token_budget = budget_of(self.device) // (1 if chosen.low or self.device.type != "cpu" else 2)
        self.budget = at_least("token_budget", token_budget, 1, of="impact")
        self.tokenize = UnitTokenizer(tokenizer, _limit(self.base, tokenizer), separator=impact.separator, label=label)
        self.read = reader_of(self.base, tokenizer.mask_token_id, chosen).read

    def stream(self, sentences: Iterable[Sequence[str]], number: int) -> Iterator[Matrix]:
        """Yield the matrices, block after block."""
        block: list[Units] = []
        tokens = 0
        source = iter(sentences)
        while some := list(itertools.islice(source, 32)):
            for units in self.tokenize(some, number):
                block.append(units)
                count = len(units) if self.impact.whole_units else int(units.sizes.sum())
                tokens += count * (1 + min(count, self.impact.reach or count)) * len(units.ids) // 2
                if tokens >= _BATCHES_AT_ONCE * self.budget or len(block) == _SENTENCES_AT_ONCE:
                    yield from self.block(block)
                    block, tokens = [], 0
            number += len(some)
        yield from self.block(block)

    @torch.inference_mode()
    def block(self, sentences: Sequence[Units]) -> list[Matrix]:
        """Return the matrices of some sentences; those of equal length go through the model together."""
        groups: dict[int, list[int]] = {}
        for place, units in enumerate(sentences):
            groups.setdefault(len(units.ids), []).append(place)
        found: dict[int, Matrix] = {}
        was_training = self.base.training
        self.base.eval()
        try:
            for places in groups.values():
                found.update(zip(places, self._equal([sentences[place] for place in places]), strict=True))
        finally:
            self.base.train(was_training)
        return [found[place] for place in range(len(sentences))]

    def _equal(self, sentences: Sequence[Units]) -> list[Matrix]:
        words = [units.with_root() if self.impact.root != "none" else units for units in sentences]
        masked = words if self.impact.whole_units else [units.of_tokens() for units in words]
        inputs = masked_inputs(masked, kept_root=self.impact.root == "kept", reach=self.impact.reach)
        values = self._values(masked, inputs)
        return [self._matrix(values[place], units, len(masked[place])) for place, units in enumerate(words)]

    def _values(self, sentences: Sequence[Units], inputs: MaskedInputs) -> Matrix:
        """Return the comparison at every position for every masked unit (s, layers, length, units)."""
        texts = torch.from_numpy(np.stack([units.ids for units in sentences])).to(self.device)
        unit_of = self._to_device(np.stack([_unit_of(units) for units in sentences]))
        source, first, second = (self._to_device(part) for part in (inputs.source, inputs.first, inputs.second))
        count, length = texts.shape
        shape = (count, len(self.layers), length, max(map(len, sentences)))
        values = torch.full(shape, self.measure.same, device=self.device)
        kept: Tensor | None = None
        rows = max(1, self.budget // length)
        for start in range(0, len(inputs), rows):
            stop = min(start + rows, len(inputs))
            some = slice(start, stop)
            owner = unit_of[source[some]]
            hidden = (owner == first[some, None]) | (owner == second[some, None])
            asked = slice(*np.searchsorted(inputs.row, [start, stop]).tolist())
            row, place = inputs.row[asked], inputs.place[asked]
            at = [self._to_device(part) for part in (row - start, place)]
            copies = MaskedCopies(texts, source[some], hidden)
            states = torch.stack(self.read(copies, at[0], at[1], self.layers), dim=1)  # (q, layers, d)
            if self.head is not None and self.measure.of_probability:
                tokens = texts[source[start:stop][at[0]], at[1]]
                states = probability(self.head, states[:, 0], tokens)[:, None]
            column = inputs.column[asked]
            if self.impact.rows == STATE:
                states, begins = _means(states, row, inputs.unit[asked], column)
                row, place, column = row[begins], place[begins], column[begins]
            kept = torch.zeros((count, length, *states.shape[1:]), device=self.device) if kept is None else kept
            sentence = inputs.source[row]
            new, old = np.flatnonzero(column == NONE), np.flatnonzero(column != NONE)
            owner_at, place_at = self._to_device(sentence), self._to_device(place)
            fresh, compared = self._to_device(new), self._to_device(old)
            kept[owner_at[fresh], place_at[fresh]] = states[fresh]
            where = owner_at[compared], place_at[compared]
            values[where[0], :, where[1], self._to_device(column[old])] = self.measure.compare(
                kept[where], states[compared]
            )
        return values.cpu().numpy()

    def _matrix(self, values: Matrix, words: Units, units: int) -> Matrix:
        """Return the matrix of the words out of the values (layers, length, units) of one sentence."""
        sizes, how = words.sizes, self.impact
        by_token = values[:, words.places if how.rows != STATE else words.starts, :units]
        found = by_token if how.rows == STATE else reduced(by_token, sizes, how.rows, axis=1)
        if how.whole_units:
            found = np.repeat(found, sizes, axis=2)
        found = np.ascontiguousarray(reduced(found, sizes, how.columns, axis=2), dtype=np.float32)
        matrix: Matrix = found if isinstance(how.layer, tuple) else found[0]
        return matrix

    def _to_device(self, values: NDArray[np.int64]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(values)).to(self.device, non_blocking=True)


def _means(states: Tensor, *keys: NDArray[np.int64]) -> tuple[Tensor, NDArray[np.int64]]:
    """Return the mean of neighboring states (q, ...) whose keys are equal, and where each begins."""
    change = np.any([np.diff(key) != 0 for key in keys], axis=0)
    begins = np.concatenate([[0], np.flatnonzero(change) + 1])
    sizes = np.diff(np.append(begins, len(keys[0])))
    group = torch.from_numpy(np.repeat(np.arange(len(begins)), sizes)).to(states.device)
    total = states.new_zeros((len(begins), *states.shape[1:])).index_add_(0, group, states)
    share = torch.from_numpy(sizes).to(states)
    return total / share.view(-1, *[1] * (states.dim() - 1)), begins


def _unit_of(units: Units) -> NDArray[np.int64]:
    """Return the unit of each position, or -2, which is never masked."""
    owner = np.full(len(units.ids), -2, dtype=np.int64)
    owner[units.places] = np.repeat(np.arange(len(units)), units.sizes)
    return owner


def _layers(impact: Impact, last: int) -> list[int]:
    """Return the layers asked for as numbers from 0, ascending."""
    asked = impact.layer if isinstance(impact.layer, tuple) else (impact.layer,)
    found = [layer if layer >= 0 else last + 1 + layer for layer in asked]
    for layer, number in zip(asked, found, strict=True):
        if not 0 <= number <= last:
            raise MirrormaskError(
                f"The 'layer' of impact must be from 0 (embeddings) to {last}, or from -1 (the last) to {-last - 1}. "
                f"Got {layer}."
            )
    if not found or sorted(set(found)) != found:
        raise MirrormaskError(f"The layers of impact must ascend, each once. Got {impact.layer}.")
    if impact.measure == "probability" and found != [last]:
        raise MirrormaskError(f"The 'probability' of impact is read from the last layer. Got layer {impact.layer}.")
    return found


def _limit(base: Any, tokenizer: Any) -> int:
    """Return how many tokens a model reads."""
    most = int(getattr(base.config, "max_position_embeddings", None) or 1 << 30)
    padding = getattr(getattr(base, "embeddings", None), "padding_idx", None)  # RoBERTa counts positions from behind it
    return min(most - (0 if padding is None else padding + 1), int(tokenizer.model_max_length))
