"""Terms of English, of code, of numbers and of writing without spaces, and where they stand."""

from __future__ import annotations

import pytest

from mirrormask.search.analysis import Analyzer
from mirrormask.search.stop_words import STOP_WORDS


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The runners were running", ["the", "runner", "were", "run"]),
        ("parse_json_file", ["pars", "json", "file", "parse_json_fil"]),
        ("getHTTPResponse", ["get", "http", "respons", "gethttprespons"]),
        ("__init__ ___ _x", ["init", "x"]),
        ("utf8 x1 B2B", ["utf8", "x1", "b2b"]),
        ("sha256sum", ["sha", "256", "sum", "sha256sum"]),
        ("C++ and C# on F#m", ["c++", "and", "c#", "on", "f", "m"]),
        ("1,000 km, 3.14 or 10,5", ["1000", "km", "3.14", "or", "10,5"]),
        ("don't", ["don", "t"]),
        ("Café CAFE\u0301", ["cafe", "cafe"]),
        ("图书馆", ["图", "图书", "书", "书馆", "馆"]),
        ("用C++写Python", ["用", "c++", "写", "python"]),
        ("도서관", ["도", "도서", "서", "서관", "관"]),
        ("भारत", ["भारत"]),
        ("Москва", ["москва"]),
        ("tin cans", ["tin", "cans"]),
        ("", []),
        ("?! — …", []),
    ],
)
def test_terms(text: str, terms: list[str]) -> None:
    analyzer = Analyzer()
    assert analyzer.terms(text) == terms
    assert analyzer.terms(text) == terms  # remembered


def test_without_stems_words_stay() -> None:
    assert Analyzer(stem=False).terms("Running dogs") == ["running", "dogs"]


def test_spans_are_the_terms_with_their_places() -> None:
    text = "Use parse_json, 图书馆 or Bücher."
    analyzer = Analyzer()
    spans = list(analyzer.spans(text))
    assert [term for term, _, _ in spans] == analyzer.terms(text)
    found = {term: text[start:end] for term, start, end in spans}
    assert found["pars"] == "parse"
    assert found["parse_json"] == "parse_json"
    assert found["书馆"] == "书馆"
    assert found["bucher"] == "Bücher"


def test_a_query_goes_without_stop_words_while_others_are_left() -> None:
    analyzer = Analyzer()
    assert analyzer.query("What is the capital of it?") == ["capit"]
    assert analyzer.query("What is it?") == ["what", "is", "it"]
    assert {"the", "how", "don"} <= STOP_WORDS


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("The files that were written with this tool are read from the folder below.", True),
        ("def load(path):\n    '''Load the table from a path.'''\n    return read(path)", True),
        ("Le chat dort sur le tapis pendant que la pluie tombe sur les toits de la ville.", False),
        ("Der Fluss, an dem die Stadt liegt, ist im Winter oft gefroren.", False),
        ("这座城市的图书馆在河边。", False),
        ("", True),
    ],
)
def test_stems_are_for_english(text: str, english: bool) -> None:
    assert Analyzer.for_texts([text] * 3).stem is english


def test_a_word_without_end_is_cut() -> None:
    (term,) = Analyzer(stem=False).terms("x" * 100_000)
    assert len(term) == 200
