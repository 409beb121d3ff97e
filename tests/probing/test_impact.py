from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from mirrormask.core.errors import DataError, MirrormaskError, ModelError
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.models.state_reader import BertReader
from mirrormask.probing.impact import Impact, impact_matrices
from mirrormask.probing.units import UnitTokenizer

SENTENCES = [
    ["the", "old", "baker", "paints", "boats", "."],  # 'boats' has two sub-words
    ["some", "bread"],
    ["a", "zany", "pilot", "finds", "two", "clocks", "in", "the", "garden"],
    ["bread"],
    ["the", "gray cat", "watches", "an empty street"],  # spans
    ["my", "neighbor", "carries", "red", "apples", "."],
]


@pytest.fixture(scope="module")
def lm(tiny_folder: Path) -> MaskedLM:
    return MaskedLM.load(tiny_folder, device="cpu")


@torch.no_grad()
def reference(lm: MaskedLM, words: list[str], how: Impact) -> NDArray[np.float64]:
    """The straightforward computation: for each sub-word, one input for each other sub-word."""
    units = UnitTokenizer(lm.tokenizer, 64)([words])[0]
    groups = [list(range(s, s + k)) for s, k in zip(units.starts, units.sizes, strict=True)]
    maskable = [list(group) for group in groups]
    if how.root != "none":
        groups.insert(0, [0])
        maskable.insert(0, [0] if how.root == "masked" else [])
    owner = {place: number for number, group in enumerate(groups) for place in group}
    places = [place for group in groups for place in group]

    def hidden(place: int) -> list[int]:
        if how.whole_units:
            return maskable[owner[place]]
        return [place] if place in maskable[owner[place]] else []

    def look(masked: list[int], place: int) -> torch.Tensor:
        ids = units.ids.copy()
        ids[masked] = lm.tokenizer.mask_token_id
        run = lm.model(torch.from_numpy(ids)[None], output_hidden_states=True)
        if how.measure == "probability":
            return run.logits[0, place].softmax(-1)[int(units.ids[place])][None]
        return run.hidden_states[how.layer][0, place]

    def compare(one: torch.Tensor, other: torch.Tensor) -> float:
        if how.measure in ("euclidean", "probability"):
            return float((one - other).norm())
        similarity = float(one @ other / one.norm() / other.norm())
        return similarity if how.measure == "cosine-similarity" else 1 - similarity

    if how.rows == "state":
        found = np.zeros((len(groups), len(groups)))
        for i, j in np.ndindex(found.shape):
            before = torch.stack([look(maskable[i], p) for p in groups[i]]).mean(0)
            after = torch.stack([look(maskable[i] + maskable[j], p) for p in groups[i]]).mean(0)
            found[i, j] = compare(before, after)
        return found
    fine = np.array([[compare(look(hidden(a), a), look(hidden(a) + hidden(b), a)) for b in places] for a in places])
    reduce: dict[str, Callable[..., Any]] = {
        "mean": np.mean,
        "max": np.max,
        "sum": np.sum,
        "first": lambda values, axis: np.take(values, 0, axis),
    }
    index = [[places.index(place) for place in group] for group in groups]
    rows = np.stack([reduce[how.rows](fine[group], axis=0) for group in index])
    return np.stack([reduce[how.columns](rows[:, group], axis=1) for group in index], axis=1)


@pytest.mark.parametrize(
    "how",
    [
        Impact(),
        Impact(layer=1, measure="cosine"),
        Impact(layer=2, rows="first", columns="sum"),
        Impact(layer=0, rows="max"),
        Impact(measure="probability", rows="sum"),
        Impact(measure="cosine-similarity", root="kept"),
        Impact(root="kept"),
        Impact(root="masked", rows="state"),
        Impact(rows="state", measure="probability"),
        Impact(whole_units=False, columns="mean"),
        Impact(whole_units=False, rows="max", columns="max", root="kept", layer=2),
    ],
)
def test_matrices_are_those_of_the_straightforward_computation(lm: MaskedLM, how: Impact) -> None:
    ours = list(impact_matrices(lm, SENTENCES, how, precision="fp32", token_budget=100))
    assert [len(matrix) for matrix in ours] == [len(words) + (how.root != "none") for words in SENTENCES]
    for words, matrix in list(zip(SENTENCES, ours, strict=True))[: 3 if how == Impact() else 1]:
        assert matrix.dtype == np.float32
        np.testing.assert_allclose(matrix, reference(lm, words, how), atol=2e-5)


@pytest.mark.parametrize("kind", ["roberta", "distilbert", "modernbert"])
def test_other_architectures(kind: str, tiny_of_kind: Callable[[str], Path]) -> None:
    model = MaskedLM.load(tiny_of_kind(kind), device="cpu")
    for how in (Impact(), Impact(layer=1)):
        ours = next(impact_matrices(model, SENTENCES[:1], how, precision="fp32"))
        np.testing.assert_allclose(ours, reference(model, SENTENCES[0], how), atol=2e-5)


def test_a_batch_does_not_change_its_sentences(lm: MaskedLM) -> None:
    together = list(impact_matrices(lm, SENTENCES, precision="fp32"))
    alone = [next(impact_matrices(lm, [words], precision="fp32", token_budget=1)) for words in SENTENCES]
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-5)


def test_several_layers_share_one_forward(lm: MaskedLM) -> None:
    every = list(impact_matrices(lm, SENTENCES, Impact(layer=(0, 1, 2, 3)), precision="fp32"))
    for layer in range(4):
        single = list(impact_matrices(lm, SENTENCES, Impact(layer=layer), precision="fp32"))
        for one, other in zip(every, single, strict=True):
            np.testing.assert_allclose(one[layer], other, atol=2e-5)
    assert every[0].shape == (4, 6, 6)


def test_reach_leaves_out_distant_pairs(lm: MaskedLM) -> None:
    whole = list(impact_matrices(lm, SENTENCES, precision="fp32"))
    near = list(impact_matrices(lm, SENTENCES, Impact(reach=2), precision="fp32"))
    for one, other in zip(whole, near, strict=True):
        apart = np.abs(np.subtract.outer(np.arange(len(one)), np.arange(len(one))))
        np.testing.assert_allclose(np.where(apart <= 2, one, 0), other, atol=2e-5)


def test_an_encoder_will_do_for_distances(lm: MaskedLM, tiny: Callable[..., Any]) -> None:
    ours = next(impact_matrices(tiny(), SENTENCES[:1], precision="fp32"))
    np.testing.assert_allclose(ours, next(impact_matrices(lm, SENTENCES[:1], precision="fp32")), atol=2e-5)
    with pytest.raises(ModelError, match="needs an LM head"):
        impact_matrices(tiny(), SENTENCES, Impact(measure="probability"))


@pytest.mark.parametrize("kept", [False, True])
def test_only_unordered_pairs_are_run(lm: MaskedLM, kept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[int] = []
    read = BertReader.read

    def counted(self: BertReader, copies: Any, *rest: Any) -> Any:
        rows.append(len(copies.source))
        return read(self, copies, *rest)

    monkeypatch.setattr(BertReader, "read", counted)
    list(impact_matrices(lm, SENTENCES, Impact(root="kept" if kept else "none"), precision="fp32"))
    assert sum(rows) == sum(len(words) * (len(words) + 1) // 2 + kept for words in SENTENCES)


def test_low_precision_stays_near(lm: MaskedLM) -> None:
    for one, other in zip(
        impact_matrices(lm, SENTENCES, precision="bf16"), impact_matrices(lm, SENTENCES, precision="fp32"), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=0.2)


def test_sentences_are_taken_as_they_are_needed(lm: MaskedLM) -> None:
    taken = 0

    def endless() -> Iterator[list[str]]:
        nonlocal taken
        while True:
            taken += 1
            yield SENTENCES[0]

    matrices = impact_matrices(lm, endless(), precision="fp32", token_budget=64)
    for _ in range(50):
        next(matrices)
    assert taken < 200


def test_training_mode_is_put_back_and_dropout_is_off(lm: MaskedLM, tiny_of_kind: Callable[[str], Path]) -> None:
    for model in (lm, MaskedLM.load(tiny_of_kind("distilbert"), device="cpu")):
        before = next(impact_matrices(model, SENTENCES[:1], precision="fp32"))
        model.train()
        try:
            np.testing.assert_allclose(next(impact_matrices(model, SENTENCES[:1], precision="fp32")), before, atol=1e-5)
            assert model.training and model.model.base_model.training
        finally:
            model.eval()


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        ([["a", "boat"], []], r"Line 2 is empty, and at least one word is needed\. Remove it\."),
        ([["a", " "]], r"Unit 2 of line 1 is blank"),
        ([["a"] * 70], r"Line 1 has 72 tokens in 70 units, and the model reads at most 64\. Split or shorten it"),
        (["a boat"], r"Line 1 is a text, and a list of its words is needed"),
    ],
)
def test_bad_sentences_are_named(lm: MaskedLM, sentences: list[Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        list(impact_matrices(lm, sentences, label="Line"))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"layer": 4}, r"'layer' of impact must be from 0 \(embeddings\) to 3, or from -1 \(the last\) to -4\. Got 4"),
        ({"layer": (2, 1)}, "must ascend"),
        ({"layer": ()}, "must ascend"),
        ({"layer": 1, "measure": "probability"}, "read from the last layer"),
        ({"measure": "euclid"}, "Did you mean 'euclidean'"),
        ({"rows": "median"}, "'rows' of impact must be one of mean, first, max, sum, state"),
        ({"columns": "state"}, "'columns' of impact"),
        ({"root": "gold"}, "'root' of impact"),
        ({"reach": 0}, "'reach' of impact must be at least 1"),
        ({"rows": "state", "whole_units": False}, "Set whole_units=True"),
    ],
)
def test_bad_settings_are_refused_before_any_work(lm: MaskedLM, how: dict[str, Any], message: str) -> None:
    with pytest.raises(MirrormaskError, match=message):
        impact_matrices(lm, SENTENCES, dataclasses.replace(Impact(), **how))


def test_budget_and_precision_are_checked(lm: MaskedLM) -> None:
    with pytest.raises(MirrormaskError, match="'token_budget' of impact must be at least 1"):
        impact_matrices(lm, SENTENCES, token_budget=0)
    with pytest.raises(MirrormaskError, match="'precision'"):
        impact_matrices(lm, SENTENCES, precision="int8")


def test_nothing_gives_nothing(lm: MaskedLM) -> None:
    assert list(impact_matrices(lm, [])) == []
