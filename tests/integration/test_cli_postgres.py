"""An index in PostgreSQL from the command line, on a tiny encoder and a real server."""

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
def made(cli: Cli, table: Path, tiny_folder: Path, database: str) -> str:
    to = database.replace("//postgres:@", "//postgres:Geheim@") + "&table=notes"
    ran = cli("index", table, "--to", to, "--model", tiny_folder)
    assert ran.code == 0, ran.err
    assert "40 documents in 40 passages in postgresql://postgres@/" in ran.out and "(40 added)." in ran.out
    assert "Next: mirrormask search 'postgresql://postgres@/" in ran.out and "Geheim" not in ran.out + ran.err
    return to


def test_it_is_searched_as_a_folder_is(
    cli: Cli, made: str, table: Path, tiny_folder: Path, sentences: list[str], tmp_path: Path
) -> None:
    assert cli("index", table, "--out", tmp_path / "ix", "--model", tiny_folder).code == 0
    for options in (
        (sentences[3], "--top", "5"),
        (sentences[3], "--mode", "words", "--where", "year >= 2010"),
        ("--like", "n3", "--mode", "vectors"),
        ("the old baker", "--weight", "0.3", "--where", "year >= 2037 or year in (2000, 2001)"),
    ):
        ran = cli("search", made, *options, "--json")
        known = cli("search", tmp_path / "ix", *options, "--json").json["hits"]
        assert [hit["id"] for hit in ran.json["hits"]] == [hit["id"] for hit in known], options
        assert "Geheim" not in ran.out + ran.err and ran.json["index"].endswith("&table=notes")
    queries = tmp_path / "queries.jsonl"
    queries.write_text("\n".join(json.dumps({"id": f"q{n}", "query": sentences[n]}) for n in range(4)))
    for place, name in ((made, "one.trec"), (tmp_path / "ix", "other.trec")):
        assert cli("search", place, "--queries", queries, "--out", tmp_path / name, "--top", "5").code == 0
    one, other = ((tmp_path / name).read_text().splitlines() for name in ("one.trec", "other.trec"))
    assert [line.split()[:4] for line in one] == [line.split()[:4] for line in other]


def test_documents_are_added_and_taken_out(cli: Cli, made: str, tmp_path: Path) -> None:
    more = tmp_path / "more.jsonl"
    more.write_text(json.dumps({"id": "zebra", "text": "A zebra crosses the road.", "year": 2050}) + "\n")
    ran = cli("index", more, "--to", made, "--json")
    assert ran.json["added"] == 1 and ran.json["counts"]["documents"] == 41 and "Geheim" not in ran.out
    assert cli("search", made, "zebra", "--json", "--top", "1").json["hits"][0]["id"] == "zebra"
    assert "1 deleted" in cli("index", "--to", made, "--delete", "zebra").out
    assert cli("search", made, "zebra", "--mode", "words", "--json").json["hits"] == []


def test_evaluate_asks_it(cli: Cli, database: str, tiny_folder: Path, sentences: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "collection"
    folder.mkdir()
    docs = [json.dumps({"id": f"n{n}", "text": text}) for n, text in enumerate(sentences[:20])]
    (folder / "docs.jsonl").write_text("\n".join(docs))
    asked = [json.dumps({"id": f"q{n}", "text": " ".join(sentences[n].split()[:4])}) for n in range(12)]
    (folder / "queries.jsonl").write_text("\n".join(asked))
    (folder / "qrels.tsv").write_text("\n".join(f"q{n}\tn{n}\t1" for n in range(12)))
    to = database.replace("//postgres:@", "//postgres:Geheim@") + "&table=judged"
    assert cli("index", folder / "docs.jsonl", "--to", to, "--model", tiny_folder).code == 0
    ran = cli("evaluate", to, "--data", folder, "--json")
    assert ran.code == 0, ran.err
    assert "table=judged" in ran.out and "Geheim" not in ran.out + ran.err


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        (["search", "postgresql://me:Geheim@127.0.0.1:1/x", "q"], "me@127.0.0.1:1/x cannot be reached", 3),
        (["index", "TABLE", "--to", "postgresql://me:Geheim@127.0.0.1:1/x"], "cannot be reached", 3),
        (["index", "TABLE", "--to", "postgresql://me:Ge@heim@h/x"], "must have these written as %40", 2),
        (["index", "TABLE", "--to", "notes"], "An address begins with postgresql://", 2),
        (["index", "TABLE", "--to", "postgresql://h/x?table=a b"], "must be a word of at most 40 letters", 2),
        (["index", "TABLE", "--to", "postgresql://h/x", "--out", "y"], "Say where the index goes", 2),
        (["index", "TABLE"], "Say where the index goes: --out FOLDER, or --to postgresql://", 2),
        (["index", "TABLE", "--out", "postgresql://h/x"], "--out takes a folder. Give a database with --to", 2),
    ],
)
def test_bad_places(cli: Cli, table: Path, arguments: list[str], said: str, code: int) -> None:
    ran = cli(*[str(table) if each == "TABLE" else each for each in arguments])
    assert ran.code == code and said in " ".join(ran.err.split()), ran.err
    assert "Geheim" not in ran.out + ran.err and "Traceback" not in ran.err and "heim@" not in ran.err
