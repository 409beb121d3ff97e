from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.probing.impact import DEFAULT, impact_matrices
from mirrormask.probing.pictures import _leaves, _levels, check_picture, page, picture
from mirrormask.probing.probed import Probed
from mirrormask.probing.sentence import probe_sentence, split


def probed(words: str, heads: list[int], spans: list[tuple[int, int]]) -> Probed:
    units = tuple(words.split())
    matrix = np.random.default_rng(0).random((len(units), len(units))).astype(np.float32)
    np.fill_diagonal(matrix, 0)
    return Probed("mini", units, DEFAULT, matrix, np.array(heads), spans)


@pytest.mark.parametrize(
    ("text", "how", "units"),
    [
        ("The U.S. won 3.5 well-known (prizes)!", "words", "The U.S . won 3.5 well-known ( prizes ) !"),
        ("it's 5 o’clock", "words", "it's 5 o’clock"),
        ("我在2024年去了Paris。", "words", "我 在 2024 年 去 了 Paris 。"),
        ("naïve café", "words", "naïve café"),
        ("a  b.", "spaces", "a b."),
        ("雨 a1", "characters", "雨 a 1"),
    ],
)
def test_texts_are_cut_into_units(text: str, how: str, units: str) -> None:
    assert split(text, how) == units.split()


def test_brackets() -> None:
    tree = probed("the old cat ( sleeps", [1, 2, 4, 4, -1], [(0, 5), (0, 3), (1, 3), (3, 5)])
    assert tree.brackets == "((the (old cat)) (( sleeps))"
    assert probed("rain", [-1], []).brackets == "rain"


def test_a_tree_over_others_stands_higher() -> None:
    assert _levels([1, 4, 3, 1, -1]) == [1, 3, 1, 2, 1]
    assert _levels([-1]) == [1]


def test_arcs_of_one_head_do_not_begin_at_one_point() -> None:
    leaves = _leaves([2, 2, -1, 2, 2])
    assert leaves[0] > leaves[1]  # to the left: the long one begins nearer to the head
    assert 0 < leaves[4] < leaves[3]
    assert leaves[2] == 0


def test_pictures_hold_the_words_escaped() -> None:
    tree = probed("a <b> & $c$", [1, -1, 1, 2], [(0, 4), (1, 4), (2, 4)])
    html = page(tree)
    assert "a &lt;b&gt; &amp; $c$" in html and "<b>" not in html
    assert html.count("<svg") == 3
    assert picture(tree, ".png").startswith(b"\x89PNG")
    assert picture(tree, ".svg").startswith(b"<svg")


def test_bad_paths_and_sentences(tmp_path: Path) -> None:
    with pytest.raises(MirrormaskError, match=r"written as .png, .svg, .html"):
        check_picture(tmp_path / "a.pdf")
    with pytest.raises(MirrormaskError, match="lies under, a file"):
        check_picture(Path(__file__) / "a.png")
    with pytest.raises(DataError, match="The sentence is empty"):
        probe_sentence(" \n")


def test_a_sentence_is_probed_as_its_words(tiny_folder: Path) -> None:
    from mirrormask.models.masked_lm import MaskedLM

    found = probe_sentence("the old baker paints boats.", model=tiny_folder, precision="fp32")
    given = probe_sentence(["the", "old", "baker", "paints", "boats", "."], model=tiny_folder, precision="fp32")
    lm = MaskedLM.load(tiny_folder)
    expected = next(impact_matrices(lm, [found.words], precision="fp32"))
    np.testing.assert_array_equal(found.matrix, given.matrix)
    np.testing.assert_allclose(found.matrix, expected, atol=1e-6)
    assert (found.heads == -1).sum() == 1
