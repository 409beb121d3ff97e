from __future__ import annotations

import gzip
import sys
from pathlib import Path

import pytest

from mirrormask.core.errors import DataError, MissingExtra
from mirrormask.data.text.pages import html_text, page_text


def test_html_is_read_as_it_is_seen() -> None:
    page = """<!doctype html><html><head><title> Tea
    time </title><style>p { x }</style></head><body><h1>Tea</h1><p>Boil the <b>water</b>, then<br>wait.</p>
    <ul><li>one<li>two</ul><script>if (a < b) { "<p>no</p>" }</script>&lt;end&gt; caf&eacute;</body>"""
    text, title = html_text(page)
    assert title == "Tea time"
    assert text == "Tea\n\nBoil the water, then\nwait.\n\none\n\ntwo\n\n<end> café"


@pytest.mark.parametrize("markup", ["<p>open", "a < b & c", "<<>>", "<!-- ", "</p></p>x", "<title>t"])
def test_broken_html_is_read_too(markup: str) -> None:
    text, _ = html_text(markup)
    assert isinstance(text, str)


def test_markdown_says_its_title_and_files_may_be_compressed(tmp_path: Path) -> None:
    path = tmp_path / "a.md.gz"
    path.write_bytes(gzip.compress(b"Before.\n\n## A title ##\n\nText.\n"))
    assert page_text(path) == ("Before.\n\n## A title ##\n\nText.\n", "A title")
    (tmp_path / "b.txt").write_text("# no title\n", encoding="utf-8")
    assert page_text(tmp_path / "b.txt") == ("# no title\n", "")


def test_word_files_are_read_with_their_tables(tmp_path: Path) -> None:
    docx = pytest.importorskip("docx")
    file = docx.Document()
    file.core_properties.title = "Minutes"
    file.add_paragraph("The first paragraph.")
    table = file.add_table(rows=1, cols=2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "left", "right"
    file.save(tmp_path / "a.docx")
    assert page_text(tmp_path / "a.docx") == ("The first paragraph.\n\nleft\tright", "Minutes")
    (tmp_path / "b.docx").write_bytes(b"no word file")
    with pytest.raises(DataError, match="is not a DOCX file that can be read"):
        page_text(tmp_path / "b.docx")


def test_pdf_files_are_read(tmp_path: Path) -> None:
    pytest.importorskip("pypdf")
    stream = b"BT /F1 12 Tf 20 100 Td (A boat on the river.) Tj ET"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 4 0 R "
        b"/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
    ]
    body, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    rows = b"".join(b"%010d 00000 n \n" % place for place in places)
    tail = b"trailer << /Size 5 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % len(body)
    (tmp_path / "a.pdf").write_bytes(body + b"xref\n0 5\n0000000000 65535 f \n" + rows + tail)
    assert page_text(tmp_path / "a.pdf") == ("A boat on the river.", "")
    (tmp_path / "b.pdf").write_bytes(b"%PDF-1.4 and nothing more")
    with pytest.raises(DataError, match="is not a PDF file that can be read"):
        page_text(tmp_path / "b.pdf")


@pytest.mark.parametrize(("name", "package"), [("a.pdf", "pypdf"), ("a.docx", "docx")])
def test_a_missing_extra_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, package: str) -> None:
    (tmp_path / name).write_bytes(b"x")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=r'needs the package .* pip install "mirrormask\[documents\]"'):
        page_text(tmp_path / name)
