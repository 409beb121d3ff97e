"""Indexing and searching from the command line, on a tiny encoder."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory, sentences: list[str]) -> Path:
    path = tmp_path_factory.mktemp("table") / "notes.csv"
    rows = [f'n{number},{2000 + number},"{text}"' for number, text in enumerate(sentences[:40])]
    path.write_text("\n".join(["id,year,text", *rows]), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def made(cli: Cli, table: Path, tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("made") / "my-index"
    ran = cli("index", table, "--out", out, "--model", tiny_folder)
    assert ran.code == 0, ran.err
    assert f"40 documents in 40 passages in {out} (40 added)." in ran.out
    assert f"Next: mirrormask search {out} \"what you look for\" --where 'year = …'" in ran.out
    assert "Encoding 40 passages." in ran.err
    return out


def test_a_query_is_answered(cli: Cli, made: Path, sentences: list[str]) -> None:
    ran = cli("search", made, sentences[3], "--top", "3")
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert lines[0].split()[:2] == ["1", "n3"] and "words" in lines[0] and "vectors" in lines[0]
    assert lines[1].strip() == sentences[3]
    assert f"mirrormask search {made} --like n3" in ran.err
    found = cli("search", made, sentences[3], "--top", "3", "--json").json
    hit = found["hits"][0]
    assert hit["id"] == "n3" and len(found["hits"]) == 3
    assert hit["metadata"] == {"year": "2003"} and hit["passage"] == sentences[3]
    assert all(hit["passage"][a:b].strip() for a, b in hit["matches"]) and len(hit["matches"]) >= 4


def test_conditions_and_likes(cli: Cli, made: Path) -> None:
    found = cli("search", made, "the old baker", "--where", "year >= 2037 or year in (2000, 2001)", "--json").json
    assert {hit["id"] for hit in found["hits"]} == {"n0", "n1", "n37", "n38", "n39"}
    like = cli("search", made, "--like", "n3", "--json", "--mode", "vectors").json
    assert "n3" not in {hit["id"] for hit in like["hits"]} and len(like["hits"]) == 10
    nothing = cli("search", made, "qqq", "--mode", "words")
    assert nothing.code == 0 and "Nothing was found." in nothing.out


@pytest.mark.parametrize("name", ["run.trec", "hits.jsonl"])
def test_queries_from_a_file(cli: Cli, made: Path, sentences: list[str], tmp_path: Path, name: str) -> None:
    queries = tmp_path / "queries.jsonl"
    queries.write_text(
        "".join(json.dumps({"id": f"q{n}", "query": sentences[n]}) + "\n" for n in (5, 6)), encoding="utf-8"
    )
    out = tmp_path / name
    ran = cli("search", made, "--queries", queries, "--out", out, "--top", "4")
    assert ran.code == 0, ran.err
    assert ran.out == f"2 queries: 8 hits in {out}\n"
    lines = out.read_text(encoding="utf-8").splitlines()
    if name == "run.trec":
        cells = [line.split() for line in lines]
        assert cells[0][:4] == ["q5", "Q0", "n5", "1"] and cells[4][:4] == ["q6", "Q0", "n6", "1"]
        assert all(len(each) == 6 and each[5] == "mirrormask" for each in cells)
        assert [float(each[4]) for each in cells[:4]] == sorted((float(each[4]) for each in cells[:4]), reverse=True)
    else:
        rows = [json.loads(line) for line in lines]
        assert rows[0]["query_id"] == "q5" and rows[0]["id"] == "n5" and rows[0]["passage"] == sentences[5]


def test_labeled_queries_choose_the_weight(cli: Cli, made: Path, sentences: list[str], tmp_path: Path) -> None:
    dev = tmp_path / "dev.csv"
    rows = [
        f'"{" ".join(reversed(sentences[n].split()))}",{"n" + str(n) if n % 2 else sentences[n]}' for n in range(12)
    ]
    dev.write_text("\n".join(["query,document", *rows]), encoding="utf-8")
    ran = cli("search", made, "the clock", "--dev", dev)
    assert ran.code == 0, ran.err
    assert "nDCG@10" in ran.err and "12 queries" in ran.err
    dev.write_text("query,document\nthe clock,nobody\n", encoding="utf-8")
    assert "No document of" in cli("search", made, "the clock", "--dev", dev).err


def test_the_index_is_added_to_and_taken_from(cli: Cli, made: Path, table: Path, tmp_path: Path) -> None:
    import shutil

    own = shutil.copytree(made, tmp_path / "own")
    text = table.read_text(encoding="utf-8")
    changed = tmp_path / "notes.csv"
    changed.write_text(text.replace("n0,2000", "n0,1990") + "\nnew,2050,a wooden boat\n", encoding="utf-8")
    told = cli("index", changed, "--out", own, "--json").json
    assert (told["added"], told["replaced"], told["unchanged"]) == (1, 1, 39)
    gone = cli("index", "--out", own, "--delete", "n1", "--delete", "n2")
    assert "39 documents" in gone.out and "(2 deleted)" in gone.out
    found = cli("search", own, "the old baker", "--top", "50", "--json").json
    assert {hit["id"] for hit in found["hits"]} == {"new", "n0", *(f"n{number}" for number in range(3, 40))}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("search", "nowhere", "x"), "There is no index nowhere. Make one with: mirrormask index TEXTS --out nowhere"),
        (("search", "INDEX"), "Give one of: a query in quotes, --like ID, or --queries FILE."),
        (("search", "INDEX", " "), "The query is empty."),
        (("search", "INDEX", "x", "--like", "n1"), "Give one of"),
        (("search", "INDEX", "x", "--where", "yaer = 1"), "have no column 'yaer'. Did you mean 'year'?"),
        (("search", "INDEX", "x", "--where", "year ="), "cannot be read at its end"),
        (("search", "INDEX", "--like", "n99"), "has no document 'n99'."),
        (("search", "INDEX", "x", "--mode", "wrods"), "Did you mean 'words'?"),
        (("search", "INDEX", "x", "--weight", "-1"), "The 'weight' of a search must be at least 0. Got -1"),
        (("search", "INDEX", "--queries", "none.txt", "--out", "x"), "There is no file none.txt."),
        (("search", "INDEX", "--queries", "none.txt"), "Say where the answers to --queries go"),
        (("index", "--out", "x"), "Name files or folders to index"),
        (("index", "empty", "--out", "x"), "The folder empty holds no text"),
        (("index", "none.txt", "--out", "x"), "There is no file none.txt."),
        (("index", "--out", "INDEX", "--delete", "n99"), "has no document 'n99', so nothing was deleted."),
        (("index", "some.txt", "--out", "x", "--vectors", "int4"), "must be one of fp32, fp16, int8, binary"),
        (("index", "some.txt", "--out", "x", "--each", "page"), "must be one of auto, line, file"),
        (("index", "some.txt", "--out", "x", "--passage-words", "2"), "must be at least 8. Got 2."),
        (("index", "some.txt", "--out", "some.txt"), "some.txt"),
    ],
)
def test_bad_input_is_one_sentence(
    cli: Cli, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "some.txt").write_text("a text\n", encoding="utf-8")
    ran = cli(*(str(made) if each == "INDEX" else each for each in arguments))
    assert ran.code in (2, 3) and says in ran.err and ran.err.count("Error: ") == 1
    assert not (tmp_path / "x").exists()


def test_a_long_query_is_cut_and_said(cli: Cli, made: Path) -> None:
    ran = cli("search", made, "the clock " * 10_000, "--top", "1")
    assert ran.code == 0 and "A query of 100,000 characters is more than can be asked" in ran.err
