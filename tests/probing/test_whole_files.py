"""Files segmented as the page of results does: the model that fits, no spaces, lines of any length."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirrormask.models.masked_lm import MaskedLM
from mirrormask.probing.impact import Impact, impact_matrices
from mirrormask.probing.segmentation import Segmenter, segment, threshold_of_dev
from mirrormask.probing.typography import clauses, words_of_clauses
from mirrormask.probing.whole_files import LONGEST_PIECE, FileProbe, probe_file

WORDS = "今天  下雨  ，  我们  在  家  里  看  了  2024  年  的  电影  ，  "
LONG = (WORDS * 28).strip()


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.filterwarnings("ignore::mirrormask.core.unknown.UnknownTokens")
def test_segment_takes_the_chinese_model_and_no_spaces(tmp_path: Path) -> None:
    text = "他在OpenAI公司工作，今天下雨了。"
    file = write(tmp_path / "text.txt", text + "\n")
    found = probe_file("segment", file, FileProbe(precision="fp32"))
    how = Impact(separator="", reach=1)
    matrices = impact_matrices(MaskedLM.load("mini-zh"), [list(text)], how, precision="fp32")
    words, threshold = segment([text], matrices)
    assert (found["model"], found["words"]) == ("mini-zh", words)
    assert found["threshold"] == pytest.approx(threshold, rel=1e-5)
    assert "warning" not in found
    named = probe_file("segment", file, FileProbe(model="mini", precision="fp32"))
    assert named["model"] == "mini" and named["threshold"] != found["threshold"]


def test_a_long_dev_line_is_cut_as_a_line_of_text_is(tmp_path: Path) -> None:
    dev = write(tmp_path / "dev.txt", f"{LONG}\n\n下雨  了\n")
    text = write(tmp_path / "text.txt", "今天下雨\n")
    found = probe_file("segment", text, FileProbe(dev=dev, precision="fp32", layer=0))
    pieces = [piece for line in (LONG, "下雨  了") for piece in words_of_clauses(line.split(), LONGEST_PIECE)]
    assert len(pieces) == 6
    how = Impact(layer=0, separator="", reach=1)
    units = [list("".join(words)) for words in pieces]
    matrices = impact_matrices(MaskedLM.load("mini-zh"), units, how, precision="fp32")
    assert found["threshold"] == pytest.approx(threshold_of_dev(pieces, matrices, Segmenter()), rel=1e-5)


def test_words_across_a_cut_keep_their_inner_boundaries() -> None:
    words = ["ab", "cdef", "g"]
    assert words_of_clauses(words, 3) == [["ab", "c"], ["def"], ["g"]]
    assert words_of_clauses(words, 2) == [["ab"], ["cd"], ["ef"], ["g"]]
    assert words_of_clauses([], 3) == []
    line = LONG.split()
    for most in (5, 17, 126):
        pieces = words_of_clauses(line, most)
        assert ["".join(piece) for piece in pieces] == clauses("".join(line), most)


@pytest.mark.filterwarnings("ignore::mirrormask.core.unknown.UnknownTokens")
def test_dropped_spaces_of_english_are_said(tmp_path: Path) -> None:
    file = write(tmp_path / "text.txt", "今天 下雨\nthe old boat\n我 love you\n猫 5 只\n")
    found = probe_file("segment", file, FileProbe(precision="fp32"))
    assert found["warning"].startswith("2 lines have spaces between Latin words. They are dropped")
    found = probe_file("segment", file, FileProbe(precision="fp32", limit=2))
    assert found["warning"].startswith("1 line has spaces")
