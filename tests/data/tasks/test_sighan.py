"""Segmented text, and whether two files are of one text."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirrormask.core.errors import DataError
from mirrormask.data.tasks.sighan import check_same_text, read_segmented, read_unsegmented, write_segmented

GOLD = "今天  下雨  了  。\n\n猫  睡觉  \n"


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_words_and_text(tmp_path: Path) -> None:
    gold = write(tmp_path / "gold", GOLD)
    assert list(read_segmented(gold)) == [["今天", "下雨", "了", "。"], [], ["猫", "睡觉"]]
    assert list(read_unsegmented(gold)) == ["今天下雨了。", "", "猫睡觉"]
    write_segmented(tmp_path / "out", read_segmented(gold))
    assert (tmp_path / "out").read_text(encoding="utf-8") == "今天  下雨  了  。\n\n猫  睡觉\n"


def test_two_files_of_one_text(tmp_path: Path) -> None:
    gold = write(tmp_path / "gold", GOLD)
    check_same_text(gold, write(tmp_path / "same", "今天下雨了。\n\n猫睡觉\n"))
    with pytest.raises(DataError, match="gold, line 3: the words are not those of .*other"):
        check_same_text(gold, write(tmp_path / "other", "今天下雨了。\n\n狗睡觉\n"))
    with pytest.raises(DataError, match="line 3: the words are not"):
        check_same_text(gold, write(tmp_path / "short", "今天下雨了。\n\n"))
    with pytest.raises(DataError, match="gold ends after line 3, and .*long goes on"):
        check_same_text(gold, write(tmp_path / "long", "今天下雨了。\n\n猫睡觉\n又\n"))


def test_nothing_in_it(tmp_path: Path) -> None:
    blank = write(tmp_path / "blank", "\n \n")
    with pytest.raises(DataError, match="blank has no word. Give text with white space between words."):
        list(read_segmented(blank))
    with pytest.raises(DataError, match="blank has no text"):
        list(read_unsegmented(blank))


@pytest.mark.shared
def test_the_real_files(shared_data: Path) -> None:
    folder = shared_data / "zh" / "sighan"
    gold = folder / "sighan2005_pku_test_gold.utf8"
    check_same_text(gold, folder / "sighan2005_pku_test.utf8")
    lines = list(read_segmented(gold))
    assert (len(lines), sum(map(len, lines))) == (1944, 104372)
