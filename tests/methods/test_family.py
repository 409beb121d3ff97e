"""The whole methods of the family: what a step costs, and that a run goes on to the bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.methods.whole_step import ROWS, batch_of, built, counted
from torch import Tensor

from mirrormask.core.batch import Batch
from mirrormask.methods import methods
from mirrormask.training.checkpoint import weights_of
from mirrormask.training.loop import Reporter, fit
from mirrormask.training.settings import Settings

COSTS = {
    "simcse-unsup": (2, 0),
    "sentence-bert-classification": (2, 0),
    "sentence-bert-regression": (2, 0),
    "sentence-bert-triplet": (3, 0),
    "declutr": (3, 0),  # an anchor and its two positives; the anchor's hidden words are guessed in its own pass
    "rankcse": (2, 1),  # the teacher reads each sentence once
    "is-bert": (1, 0),
    "cline": (3, 0),
    "cert": (1, 1),
    "back-translation": (2, 0),
    "esimcse": (2, 1),  # the slow encoder reads each sentence once
    "consert": (2, 0),
    "ct": (2, 0),
    "tsdae": (2, 0),  # what is left of a text, and the decoder over the whole
    "sg-opt": (1, 1),  # the frozen copy gives all layers in one pass
    "mocose": (1, 1),
    "dclr": (2, 1),  # the second model
    "simcse-hardest-noise": (2, 0),
    "diffcse": (3, 1),  # the discriminator learns, the generator reads
    "sncse": (3, 0),
}
"""Passes that a sentence needs in one step, those that are trained and those that are only read."""

LENGTHS = {"promptbert": 2, "promptbert-continuous": 2}
"""Templates that are read alone besides, once for each length of a sentence."""

EVERY = pytest.mark.parametrize("name", [*COSTS, *LENGTHS])


def columns_of(name: str) -> int:
    three = ("negation", "columns", "declutr-spans", "replaced-words")
    two = name in ("cert", "back-translation") or (name.startswith("sentence-bert") and "triplet" not in name)
    return 2 if two else 3 if methods.build(name).pairing[0] in three else 1


@EVERY
def test_a_step_costs_the_passes_it_needs(name: str, tiny: Callable[..., Any], sentences: list[str]) -> None:
    method = built(tiny, name, exact=False)
    trained, read = COSTS.get(name, (2, 0))
    batch = batch_of(method.encoder, sentences, columns=columns_of(name))
    templates = LENGTHS.get(name, 0) * len(set(batch.columns[0].lengths.tolist()))
    with counted() as rows:
        method(batch, 0).backward()
        method.observe()
    assert trained * ROWS + templates <= rows["trained"] <= 1.1 * (trained * ROWS + templates)
    assert read * ROWS <= rows["read"] <= 1.1 * read * ROWS


class Given:
    """Batches from a list, over and over."""

    def __init__(self, batches: list[Batch]) -> None:
        self.batches = batches

    def __len__(self) -> int:
        return len(self.batches)

    def stream(self, start: int, stop: int, rank: int, world: int) -> Iterator[Batch]:
        for number in range(start, stop):
            yield self.batches[number % len(self.batches)]


class Killed(Exception):
    pass


class Killer(Reporter):
    def step(self, step: int, metrics: dict[str, float]) -> None:
        if step == 4:
            raise Killed


@EVERY
def test_a_run_goes_on_to_the_bit(name: str, tiny: Callable[..., Any], sentences: list[str], tmp_path: Path) -> None:
    settings = Settings(steps=5, checkpoint_every=2, batch_size=ROWS, learning_rate=1e-3, precision="fp32")

    def run(folder: str, **options: Any) -> dict[str, Tensor]:
        method = built(tiny, name, exact=False)
        places = range(0, 4 * ROWS, ROWS)
        source = Given([batch_of(method.encoder, sentences, at, columns_of(name)) for at in places])
        before = {key: value.clone() for key, value in weights_of(method.encoder).items()}
        fit(method, source, settings, tmp_path / folder, **options)
        after = weights_of(method.encoder)
        assert sum(not torch.equal(before[key], after[key]) for key in before) > 20, "the encoder learned"
        return {key: value.clone() for key, value in weights_of(method).items()}

    whole = run("whole")
    with pytest.raises(Killed):
        run("stopped", reporter=Killer())
    resumed = run("stopped", resume=True)
    assert whole.keys() == resumed.keys()
    assert all(torch.equal(whole[key], resumed[key]) for key in whole)
