"""The dependency and discourse probes, on trees whose matrices are known."""

from __future__ import annotations

import json
import weakref
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from mirrormask.core.errors import MirrormaskError
from mirrormask.data.tasks.conll import read_dependencies
from mirrormask.data.tasks.dependencies import ROOT, DependencySentence, Word
from mirrormask.data.tasks.scidtb import UNANNOTATED, Discourse, read_scidtb
from mirrormask.probing.decoders import eisner, random_projective_tree
from mirrormask.probing.dependency import SUBSETS, DependencyParser, probe_dependency
from mirrormask.probing.discourse import NOWHERE, parse_discourse, probe_discourse


def sentence(heads: NDArray[np.int64], marks: int = 0) -> DependencySentence:
    tags = ["X"] * (len(heads) - marks) + ["PUNCT"] * marks
    return DependencySentence(
        tuple(Word(f"w{i}", int(h), upos=t) for i, (h, t) in enumerate(zip(heads, tags, strict=True)))
    )


def impacts(heads: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float32]:
    """Impacts in which each word feels its head most."""
    matrix = rng.random((len(heads), len(heads)))
    for word, head in enumerate(heads.tolist()):
        if head >= 0:
            matrix[word, head] += 9
    return matrix.astype(np.float32)


@pytest.mark.parametrize("decoder", ["eisner", "cle"])
@pytest.mark.parametrize("root", ["gold", "found"])
def test_what_is_in_the_matrix_is_found(decoder: str, root: str) -> None:
    rng = np.random.default_rng(0)
    golds = [random_projective_tree(n, rng) for n in (1, 2, 5, 8, 14)]
    kept: list[DependencySentence] = []
    result = probe_dependency(
        [sentence(gold) for gold in golds],
        (impacts(gold, rng) for gold in golds),
        DependencyParser(decoder, root=root),
        keep=kept.append,
    )
    assert result.sentences == 5 and set(result.scores) == {
        "induced",
        "right-chain",
        "left-chain",
        "both chains",
        "all on the root",
        "random",
    }
    assert all((found.heads == gold).all() for found, gold in zip(kept, golds, strict=True))
    for subset in SUBSETS:
        assert result.scores["induced"][subset]["uas_percent"] == 100.0
        assert result.scores["right-chain"][subset]["uas_percent"] < 100.0
    assert result.scores["induced"]["all"]["arcs"] == 30
    assert result.scores["induced"][SUBSETS[2]]["arcs"] == 16
    assert json.loads(json.dumps(result.as_json()))["parser"]["decoder"] == decoder


def test_punctuation_is_left_out_of_two_subsets() -> None:
    gold = np.array([1, ROOT, 1, 0, 0])
    result = probe_dependency([sentence(gold, marks=2)], [np.ones((5, 5))])
    arcs = {subset: each["arcs"] for subset, each in result.scores["induced"].items()}
    assert arcs == {SUBSETS[0]: 5, SUBSETS[1]: 3, SUBSETS[2]: 3}


def test_the_published_way_by_hand() -> None:
    rng = np.random.default_rng(2)
    wide = rng.random((6, 6)) * 5
    parser = DependencyParser(faithful=True)
    heads = parser.parse(wide, root=3, n=5)
    copy = wide.copy()
    copy[4] = 0
    copy[4, 0] = 1
    copy[0, 0] = 0
    shares = np.exp(copy - copy.max())
    scores = np.array([[shares[i, j] / shares[j].sum() for j in range(6)] for i in range(6)])
    assert (heads == eisner(scores[1:, 1:], root_scores=scores[1:, 0], single_root=False)).all()
    assert (parser.parse(wide[1:, 1:], root=3, n=5) >= ROOT).all()  # without a root's row, zeros stand for it
    product = DependencyParser("cle", faithful=True).parse(wide, root=3, n=5)
    assert product[3] == ROOT
    plain = DependencyParser(normalization="none")
    assert (plain.parse(wide, root=3, n=5) == plain.parse(wide[1:, 1:], root=3)).all()


def test_matrices_that_do_not_fit() -> None:
    gold = np.array([1, ROOT, 1])
    with pytest.raises(MirrormaskError, match="of a sentence of 3 words must be 3 × 3, or one more with the root. Got"):
        probe_dependency([sentence(gold)], [np.ones((5, 5))])
    with pytest.raises(ValueError, match="shorter"):
        probe_dependency([sentence(gold)], iter([]))
    with pytest.raises(MirrormaskError, match="The 'root' of a dependency probe must be one of gold, found"):
        DependencyParser(root="golden")


def test_one_matrix_at_a_time() -> None:
    seen: list[weakref.ref[NDArray[np.float64]]] = []
    alive = []

    def stream() -> Iterator[NDArray[np.float64]]:
        for _ in range(50):
            matrix = np.ones((3, 3))
            seen.append(weakref.ref(matrix))
            alive.append(sum(each() is not None for each in seen))
            yield matrix

    probe_dependency([sentence(np.array([1, ROOT, 1]))] * 50, stream())
    assert len(seen) == 50 and max(alive) <= 3


def document(heads: list[int]) -> Discourse:
    return Discourse("d", tuple(f"unit {i}" for i in range(len(heads))), np.array(heads), ("",) * len(heads))


def test_discourse_scores() -> None:
    rng = np.random.default_rng(3)
    docs = [document([ROOT, 0, 0, 2, UNANNOTATED]), document([1, 2, ROOT, 2])]
    seen: list[list[int]] = []
    result = probe_discourse(
        docs, (impacts(doc.heads, rng) for doc in docs), keep=lambda _, heads: seen.append(heads.tolist())
    )
    assert (result.documents, result.unannotated) == (2, 1)
    assert seen[0][:4] == [ROOT, 0, 0, 2]
    found = result.scores["induced"]
    assert found["arcs"] == 8 and found["uas_percent"] == pytest.approx(100.0)
    assert found["accuracy_by_distance_percent"] == {"0": 100.0, "1": 100.0, "2": None, "5": None}
    assert result.scores["left-chain"]["accuracy_by_distance_percent"]["0"] == 60.0
    assert result.scores["right-chain"]["accuracy_by_distance_percent"]["0"] == 40.0
    assert json.dumps(result.as_json())


def test_the_published_discourse_loses_its_last_unit() -> None:
    rng = np.random.default_rng(4)
    wide = rng.random((5, 5))
    heads = parse_discourse(wide, 1, 4, DependencyParser(faithful=True))
    assert heads[-1] == NOWHERE and len(heads) == 4
    scores = probe_discourse([document([1, ROOT, 1, 1])], [wide], DependencyParser(faithful=True)).scores
    assert scores["induced"]["uas_percent"] <= 75.0


@pytest.mark.shared
def test_chains_on_real_treebanks(shared_data: Path) -> None:
    sentences = list(read_dependencies(shared_data / "treebanks" / "en_pud.conllu.gz"))[:300]
    zeros = (np.zeros((len(s), len(s))) for s in sentences)
    scores = probe_dependency(sentences, zeros).scores
    assert 30 < scores["right-chain"]["all"]["uas_percent"] < 40
    assert 5 < scores["left-chain"]["all"]["uas_percent"] < 15
    docs = list(read_scidtb(shared_data / "scidtb" / "test" / "gold"))
    found = probe_discourse(docs, (np.zeros((len(d), len(d))) for d in docs)).scores
    near = [found[chain]["accuracy_by_distance_percent"]["0"] for chain in ("right-chain", "left-chain")]
    assert near == pytest.approx([20.5, 79.5], abs=2)
