from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mirrormask.core.errors import MirrormaskError
from mirrormask.heads.confusion_figure import check_figure, confusion_figure, save_figure


@pytest.mark.parametrize("classes", [2, 20])
def test_it_is_drawn_in_both_formats(tmp_path: Path, classes: int) -> None:
    matrix = np.arange(classes**2).reshape(classes, classes)
    names = [f"class {number} & <more>" for number in range(classes)]
    figure = confusion_figure(matrix, names, "who is who")
    save_figure(figure, tmp_path / "m.png")
    save_figure(figure, tmp_path / "m.svg")
    assert (tmp_path / "m.png").read_bytes().startswith(b"\x89PNG")
    drawn = (tmp_path / "m.svg").read_text(encoding="utf-8")
    assert "class 1 &amp; &lt;more&gt;" in drawn and "taken for" in drawn
    shown = 100 * matrix[1, 1] / matrix[1].sum()
    assert (f">{shown:.0f}<" in drawn) == (classes == 2), "numbers stand in the cells of few classes"


def test_other_endings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MirrormaskError, match="written as .png or .svg"):
        check_figure(tmp_path / "m.pdf")
    (tmp_path / "file").write_text("")
    with pytest.raises(MirrormaskError, match="a folder is needed"):
        check_figure(tmp_path / "file" / "m.png")
