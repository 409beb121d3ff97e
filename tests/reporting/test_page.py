from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

from mirrormask.reporting.page import Picture, Section, render, save
from mirrormask.reporting.tables import Table

EVIL = '<script>alert("x")</script>'


class Checker(HTMLParser):
    """Collects tags, and complains about ends that do not match."""

    VOID = ("meta", "path", "rect")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture
def page() -> str:
    table = Table(EVIL, ("name", "value", "word"), ((EVIL, "1.0", "x"), ("b", "2.0", "y")), (1,), EVIL, texts=(2,))
    picture = Picture(b'<svg viewBox="0 0 1 1"><path d="M0 0"/></svg>', f'a "quoted" {EVIL}')
    return render(EVIL, [Section(EVIL, (EVIL,), (table,), (picture,))], verdict=[EVIL], subtitle=EVIL)


def test_every_word_from_outside_is_escaped(page: str) -> None:
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 9


def test_the_page_is_well_formed_and_asks_for_nothing(page: str) -> None:
    checker = Checker()
    checker.feed(page)
    assert checker.open == []
    tags = {tag for tag, _ in checker.seen}
    assert not tags & {"link", "script", "img", "iframe"}
    assert "url(" not in page and "@import" not in page
    assert not [attrs for _, attrs in checker.seen if {"src", "href"} & set(attrs)]


def test_figures_are_right_aligned_and_words_are_not(page: str) -> None:
    assert '<td class="number">1.0</td><td>x</td>' in page
    assert '<tr class="strong"><th scope="row">b</th>' in page


def test_light_dark_and_paper_are_styled(page: str) -> None:
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page
    assert 'role="img" aria-label="a &quot;quoted&quot;' in page


def test_a_page_is_written_whole_or_not_at_all(tmp_path: Path, page: str) -> None:
    save(tmp_path / "deep" / "report.html", page)
    assert (tmp_path / "deep" / "report.html").read_text(encoding="utf-8") == page
    assert len(list((tmp_path / "deep").iterdir())) == 1
