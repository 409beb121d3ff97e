from __future__ import annotations

import matplotlib
from matplotlib.figure import Figure

from mirrormask.reporting.drawing import INK, SERIES, blank, color, png, short, style, svg


def drawn(title: str = "a < b & c") -> Figure:
    with style():
        figure: Figure = blank(3, 2)
        panel = figure.subplots()
        panel.plot([0, 1], [0, 1], color=INK)
        panel.set_title(title)
    return figure


def test_an_svg_follows_the_page_it_stands_in() -> None:
    text = svg(drawn()).decode("utf-8")
    assert text.startswith("<svg")
    assert "currentColor" in text
    assert INK not in text
    assert "DejaVu" not in text
    assert 'style="width: 100%; max-width: 288px"' in text.split(">")[0]
    assert "a &lt; b &amp; c" in text
    assert "http://" not in text.replace("http://www.w3.org", "").replace("http://purl.org", "")


def test_the_same_figure_is_the_same_file() -> None:
    assert svg(drawn()) == svg(drawn())


def test_a_png_is_a_png() -> None:
    assert png(drawn()).startswith(b"\x89PNG")


def test_the_users_own_settings_come_back() -> None:
    before = matplotlib.rcParams["font.size"], matplotlib.rcParams["svg.fonttype"]
    drawn()
    assert (matplotlib.rcParams["font.size"], matplotlib.rcParams["svg.fonttype"]) == before


def test_long_names_are_cut_in_the_middle() -> None:
    assert short("short") == "short"
    assert len(short("x" * 100)) == 28


def test_colors_go_round() -> None:
    assert color(0) == color(len(SERIES))


def test_names_in_any_script_and_with_any_sign_are_drawn_as_they_are() -> None:
    text = svg(drawn("模型 $5 and $6 %_^")).decode("utf-8")
    assert "模型 $5 and $6 %_^" in text
    assert png(drawn("模型"))
