"""An index in a real database finds what one in a folder finds, and loses nothing."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mirrormask
from mirrormask.core.errors import DataError, MirrormaskError, MissingExtra, ModelError
from mirrormask.search.documents import Reading
from mirrormask.search.index import Index
from mirrormask.search.opening import open_index
from mirrormask.search.postgres import batches, connecting, writing
from mirrormask.search.postgres.address import read_address
from mirrormask.search.postgres.postgres_index import PostgresIndex
from mirrormask.search.storing import Storing
from mirrormask.search.text_encoder import TextEncoder
from mirrormask.search.tuning import weight_by

Rows = list[dict[str, Any]]
Sql = Callable[..., list[Any]]

_QUERIES = ("the broken clock", "two red apples", "a young pilot", "the")


def ids(hits: list[Any]) -> list[str]:
    return [hit.id for hit in hits]


def put(given: Rows, to: str, **options: Any) -> dict[str, Any]:
    return writing.build_tables(given, read_address(to), Reading(), **options)


@pytest.fixture
def own(address: Callable[[], str], rows: Rows, tiny_folder: Path) -> PostgresIndex:
    """A small index to be written to."""
    to = address()
    put(rows[:20], to, model=str(tiny_folder), passage_words=16)
    return PostgresIndex(to)


def url_of(index: PostgresIndex) -> str:
    return f"{index.address.url}&table={index.address.table}"


@pytest.mark.parametrize("mode", ["words", "vectors", "both"])
def test_hits_are_those_of_the_index_on_disk(stored: PostgresIndex, small: Index, mode: str) -> None:
    for query in _QUERIES:
        for where in (None, 'year >= 2010 and lang = "en"', "price > 20 or tags contains 'a'"):
            found, known = (each.search(query, top=25, mode=mode, where=where) for each in (stored, small))
            assert ids(found) == ids(known), (query, where)
            for one, other in zip(found, known, strict=True):
                assert one.score == pytest.approx(other.score, abs=2e-3)
                assert (one.passage, one.place, one.matches) == (other.passage, other.place, other.matches)
                assert one.metadata == other.metadata
                assert one.shares == pytest.approx(other.shares, abs=1e-3)


def test_everything_else_that_an_index_can(stored: PostgresIndex, small: Index, tmp_path: Path) -> None:
    assert ids(stored.like("d9", top=5)) == ids(small.like("d9", top=5))
    assert stored.columns == small.columns and len(stored) == len(small) == 60
    assert stored.record["counts"] == small.record["counts"]
    assert stored.facets() == small.facets()
    mine, theirs = stored.documents(100), small.documents(100)
    assert mine[:2] == theirs[:2]
    np.testing.assert_allclose(mine[2], theirs[2], atol=1e-3)
    assert stored.documents(7)[0] == small.documents(7)[0]
    ranked, known = (index.rank(_QUERIES, top=7, weight=0.5) for index in (stored, small))
    assert [[one for one, _ in answer] for answer in ranked] == [[one for one, _ in answer] for answer in known]
    text = "".join(small.documents(60)[1][3])
    assert stored.id_of("d3") == stored.id_of(text) == small.id_of(text) == "d3" and stored.id_of("?") is None
    dev = tmp_path / "dev.csv"
    dev.write_text("query,document\nthe broken clock,d9\n" + f'two red apples,"{text}"\n')
    assert weight_by(stored, dev).weight == weight_by(small, dev).weight
    with pytest.raises(DataError, match="has no document 'd99'. Did you mean 'd9'"):
        stored.like("d99")
    with pytest.raises(MirrormaskError, match="no column 'yeer'. Did you mean 'year'?"):
        stored.search("x", where="yeer = 1")
    assert stored.search("qqqq zzzz", mode="words") == []


def test_the_graph_finds_what_all_rows_give(
    stored: PostgresIndex, small: Index, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mirrormask.search.postgres.stored.EXACT", 10)
    sql(f"ALTER DATABASE {stored.address.url.split('/')[3].split('?')[0]} SET enable_seqscan = off")
    try:
        index = PostgresIndex(url_of(stored))
        with index.reading() as passages:
            plan = passages._cursor.execute(  # type: ignore[attr-defined]
                f'EXPLAIN SELECT row FROM "{index.address.table}" ORDER BY embedding <#> '
                f'(SELECT embedding FROM "{index.address.table}" LIMIT 1) LIMIT 5'
            ).fetchall()
        assert "embedding" in str(plan) and "Index Scan" in str(plan)
        for where in (None, 'lang = "en"', 'price > 29 and lang = "de"'):
            for mode in ("vectors", "both"):
                found, known = (each.search("the old baker", mode=mode, where=where) for each in (index, small))
                assert ids(found) == ids(known), (mode, where)
    finally:
        sql(f"ALTER DATABASE {stored.address.url.split('/')[3].split('?')[0]} RESET enable_seqscan")


def test_tables_are_plain_sql_for_everyone(own: PostgresIndex, sql: Sql) -> None:
    name = own.address.table
    columns = dict(sql("SELECT column_name, udt_name FROM information_schema.columns WHERE table_name = %s", (name,)))
    assert columns["embedding"] == "halfvec" and columns["words"] == "tsvector" and columns["metadata"] == "jsonb"
    assert "USING hnsw" in str(sql("SELECT indexdef FROM pg_indexes WHERE tablename = %s", (name,)))
    found = sql(f"SELECT DISTINCT id FROM {name} WHERE words @@ 'clock'::tsquery ORDER BY id")
    assert sorted(each for (each,) in found) == sorted(ids(own.search("clock", mode="words", top=20)))
    phrase = sql(f"SELECT text FROM {name} WHERE words @@ 'broken <-> clock'::tsquery")
    assert phrase and all("broken clock" in text.lower() for (text,) in phrase)


def test_adding_replaces_what_changed_and_passes_over_the_rest(own: PostgresIndex, rows: Rows, sql: Sql) -> None:
    changed = {**rows[1], "text": "A purple elephant."}
    told = put([rows[0], changed, {"id": "new", "text": "The xylophone sings."}], url_of(own))
    assert (told["added"], told["replaced"], told["unchanged"]) == (1, 1, 1)
    assert told["counts"]["documents"] == 21
    assert ids(own.search("purple elephant", mode="words")) == ["d1"], "an open index sees what was written"
    assert own.changed() and len(PostgresIndex(url_of(own))) == 21
    assert ids(own.search("xylophone", top=1)) == ["new"]
    before = sql(f"SELECT version FROM {own.address.table}_index")
    assert put([rows[0]], url_of(own))["unchanged"] == 1
    assert sql(f"SELECT version FROM {own.address.table}_index") == before, "nothing new, nothing written"


def test_deleting_takes_out_whole_documents(own: PostgresIndex, sql: Sql) -> None:
    left = own.delete(["d3", "d4"])
    assert len(left) == 18 and not set(ids(left.search("the", top=20, mode="words"))) & {"d3", "d4"}
    assert set(ids(left.search("the old baker", top=20))) == {f"d{number}" for number in range(20)} - {"d3", "d4"}
    with pytest.raises(DataError, match="has no document 'd3', so nothing was deleted"):
        left.delete(["d5", "d3"])
    assert len(PostgresIndex(url_of(own))) == 18
    with pytest.raises(MirrormaskError, match="These are all documents of"):
        left.delete([f"d{number}" for number in range(20) if number not in (3, 4)])
    for number in range(6, 16):
        left = left.delete([f"d{number}"])
    held, there = sql(
        f"SELECT (SELECT sum(passages) FROM {own.address.table}_parts), (SELECT count(*) FROM {own.address.table})"
    )[0]
    assert there == left.record["counts"]["passages"] and held - there == left.record["counts"]["deleted"]
    assert held <= there / 0.8, "where many are gone, the words are counted anew"


def test_many_additions_leave_few_parts_and_the_same_scores(
    own: PostgresIndex, rows: Rows, tiny_folder: Path, address: Callable[[], str], sql: Sql
) -> None:
    for row in rows[20:32]:
        put([row], url_of(own))
    assert sql(f"SELECT count(*) FROM {own.address.table}_parts")[0][0] <= 4
    fresh = PostgresIndex.build(rows[:32], address(), model=str(tiny_folder), passage_words=16)
    for query in _QUERIES:
        mine, theirs = (index.search(query, mode="words", top=30) for index in (own, fresh))
        assert [(hit.id, round(hit.score, 4)) for hit in mine] == [(hit.id, round(hit.score, 4)) for hit in theirs]


def test_texts_that_a_database_cannot_hold_and_other_writing(
    address: Callable[[], str], tiny_folder: Path, tmp_path: Path
) -> None:
    rows: Rows = [
        {"id": "zero", "text": "The lamp\0 is on.", "note": "a\0b", "size": float("nan")},
        {"id": "half", "text": "A lamp \ud800 and a 'quote' \\ here: it's O'Neil's."},
        {"id": "中文", "text": "我们用C++写程序。它很快。", "title": "编程"},
        {"id": "many", "text": "lamp " * 600},
        {"id": "far", "text": "word " * 300 + "beacon beacon beacon"},
    ]
    index = PostgresIndex.build(rows, address(), model=str(tiny_folder), passage_words=1000)
    known = Index.build(rows, tmp_path / "ix", model=str(tiny_folder), passage_words=1000)
    for query in ("lamp", "程序", "o'neil quote", "beacon", "C++"):
        found, other = (each.search(query, mode="words") for each in (index, known))
        assert ids(found) == ids(other) and found, query
        assert [hit.score for hit in found] == pytest.approx([hit.score for hit in other], rel=1e-2)
    hit = index.search("lamp", mode="words", where="note = 'a\ufffdb'")[0]
    assert (hit.id, hit.passage, hit.metadata["size"]) == ("zero", "The lamp\ufffd is on.", None)
    assert put(rows, url_of(index))["unchanged"] == 5


def test_fewer_dimensions(address: Callable[[], str], rows: Rows, tiny_folder: Path, tmp_path: Path) -> None:
    made: dict[str, Any] = {"model": str(tiny_folder), "passage_words": 16, "dimensions": 12}
    index = PostgresIndex.build(rows, address(), **made)
    known = Index.build(rows, tmp_path / "ix", **made)
    assert index.record["vectors"]["width"] == 12
    for query in _QUERIES[:3]:
        assert ids(index.search(query, mode="vectors")) == ids(known.search(query, mode="vectors"))
    assert len(index.add(rows[:3])) == 60


def test_a_stopped_build_goes_on_where_it_was(
    address: Callable[[], str], rows: Rows, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch, stored: PostgresIndex
) -> None:
    to, encode, asked = address(), TextEncoder.documents, []
    made: dict[str, Any] = {"model": str(tiny_folder), "passage_words": 16}
    monkeypatch.setattr(batches, "_PASSAGES", 30)

    def stopped(self: TextEncoder, texts: list[str], progress: Any = None) -> Any:
        asked.extend(texts)
        if len(asked) > 70:
            raise KeyboardInterrupt
        return encode(self, texts, progress)

    monkeypatch.setattr(TextEncoder, "documents", stopped)
    with pytest.raises(KeyboardInterrupt):
        put(rows, to, **made)
    with pytest.raises(DataError, match="is not finished. Repeat the command that made it, and it goes on."):
        PostgresIndex(to)
    monkeypatch.setattr(TextEncoder, "documents", encode)
    told = put(rows[3:], to, **made)
    assert any("had been written by a run that was stopped" in note for note in told["notes"])
    index = PostgresIndex(to)
    assert len(index) == 57, "what the source does not hold any more is gone"
    index = index.add(rows)
    assert {hit.id for hit in index.search("the", top=60)} == {hit.id for hit in stored.search("the", top=60)}


def test_a_killed_writer_leaves_every_document_whole(own: PostgresIndex, rows: Rows, sql: Sql) -> None:
    changed = [{**row, "text": f"Version two of {row['id']} is here."} for row in rows[:20]]
    child = os.fork()
    if child == 0:  # pragma: no cover
        batches._PASSAGES = 5
        TextEncoder.documents = lambda self, texts, progress=None: np.ones((len(texts), 32), np.float32)  # type: ignore
        counted = batches.Batches._settle_counts
        calls: list[int] = []

        def killed(self: Any, documents: int, passages: int) -> None:
            calls.append(1)
            counted(self, documents, passages)
            if len(calls) == 2:  # rows and words are in, and nothing is committed
                os.kill(os.getpid(), signal.SIGKILL)

        batches.Batches._settle_counts = killed  # type: ignore[method-assign]
        try:
            put(changed, url_of(own))
        finally:
            os._exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    texts = dict(sql(f"SELECT id, string_agg(text, ' ' ORDER BY row) FROM {own.address.table} GROUP BY id"))
    new = {one for one, text in texts.items() if text.startswith("Version two")}
    assert len(texts) == 20 and new == {"d0", "d1", "d2", "d3", "d4"}
    assert len(own.search("the old baker", top=20)) == 20, "and it can be searched at once"
    told = put(changed, url_of(own))
    assert (told["replaced"], told["unchanged"]) == (15, 5)
    found = own.search("version two", mode="words", top=30)
    assert len(found) == 20 and all(hit.passage.startswith("Version two") for hit in found)


def test_of_two_writers_the_second_is_refused(own: PostgresIndex, rows: Rows) -> None:
    with writing.writing(own.address):
        with pytest.raises(MirrormaskError, match="is in use: another process is writing there"):
            put(rows[:1], url_of(own))
        assert own.search("clock"), "and whoever searches is not blocked"
    assert put(rows[:1], url_of(own))["unchanged"] == 1


def test_a_new_index_takes_the_place_of_the_old_when_it_is_whole(
    own: PostgresIndex, rows: Rows, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch, sql: Sql
) -> None:
    encode = TextEncoder.documents

    def stopped(self: TextEncoder, texts: list[str], progress: Any = None) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(TextEncoder, "documents", stopped)
    with pytest.raises(KeyboardInterrupt):
        put(rows[:3], url_of(own), model=str(tiny_folder), anew=True)
    assert len(PostgresIndex(url_of(own))) == 20
    monkeypatch.setattr(TextEncoder, "documents", encode)
    put(rows[:3], url_of(own), model=str(tiny_folder), anew=True, passage_words=8)
    assert len(PostgresIndex(url_of(own))) == 3
    left = [
        name for (name,) in sql("SELECT tablename FROM pg_tables WHERE tablename LIKE %s", (f"{own.address.table}%",))
    ]
    assert sorted(left) == sorted(own.address.table + ending for ending in ("", "_words", "_parts", "_index"))


def test_a_connection_that_is_lost_is_said_and_made_again(own: PostgresIndex, rows: Rows, sql: Sql) -> None:
    kill = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE application_name = 'mirrormask' AND datname = current_database()"
    )
    assert own.search("clock")
    sql(kill)
    assert own.search("clock"), "an idle connection that was lost is replaced"
    lost = "The connection to postgresql://.* was lost .*: repeat the command"
    with pytest.raises(DataError, match=lost), own.reading() as passages:
        sql(kill)
        passages.rows_of("d1")
    assert own.search("clock")
    with pytest.raises(DataError, match=lost), writing.writing(own.address) as cursor:
        sql(kill)
        cursor.execute("SELECT 1")
    assert put(rows[:1], url_of(own))["unchanged"] == 1


def test_searches_from_many_threads(stored: PostgresIndex) -> None:
    known = {query: ids(stored.search(query)) for query in _QUERIES}
    wrong: list[str] = []

    def ask(query: str) -> None:
        wrong.extend(query for _ in range(3) if ids(stored.search(query)) != known[query])

    threads = [threading.Thread(target=ask, args=(query,)) for query in _QUERIES * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_databases_that_cannot_hold_an_index(
    postgres_server: Any, execute: Sql, rows: Rows, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        DataError, match=r"postgresql://me@127.0.0.1:1/x cannot be reached .*Start the server"
    ) as caught:
        open_index("postgresql://me:geheim@127.0.0.1:1/x")
    assert "geheim" not in str(caught.value)
    with pytest.raises(DataError, match='database "nowhere" does not exist.*Create it, or name one that is there'):
        open_index(postgres_server.get_uri("nowhere"))
    name = f"bare_{os.getpid()}"
    execute(f"CREATE DATABASE {name}")
    execute(f"CREATE ROLE guest_{os.getpid()} LOGIN")
    bare = postgres_server.get_uri(name)
    with pytest.raises(DataError, match="has no pgvector, so it holds no index"):
        open_index(bare)
    guest = bare.replace("//postgres:", f"//guest_{os.getpid()}:")
    with pytest.raises(DataError, match="this user may not add it. Let its owner run: CREATE EXTENSION vector"):
        put(rows[:2], guest, model=str(tiny_folder))
    put(rows[:2], bare, model=str(tiny_folder))
    with pytest.raises(DataError, match="There is no index .*table=other. Make one with: mirrormask index TEXTS --to"):
        open_index(bare + "&table=other")
    with pytest.raises(DataError, match="does not allow this .*permission denied"):
        open_index(guest)
    monkeypatch.setattr(connecting, "PGVECTOR", (9, 0))
    with pytest.raises(DataError, match=r"has pgvector 0\.\S+, and 0.8 or newer is needed"):
        open_index(bare)


def test_options_of_another_index_are_refused(own: PostgresIndex, rows: Rows, tiny: Any, tmp_path: Path) -> None:
    with pytest.raises(MirrormaskError, match="was made with --passage-words 16, not 40"):
        put(rows[:1], url_of(own), passage_words=40)
    with pytest.raises(MirrormaskError, match="PostgreSQL keeps vectors as fp16, and --vectors int8 was asked for"):
        put(rows[:1], url_of(own), storing=Storing("int8"))
    with pytest.raises(MirrormaskError, match="was made with --dimensions None, not 8"):
        put(rows[:1], url_of(own), storing=Storing("fp16", 8))
    with pytest.raises(ModelError, match="This index was made with another encoder than mini-sentence is now"):
        put(rows[:1], url_of(own), model="mini-sentence")
    with pytest.raises(ModelError, match="This index was made with another encoder"):
        open_index(url_of(own), model="mini-sentence").search("clock")
    assert ids(open_index(url_of(own), model="mini-sentence").search("clock", mode="words"))


def test_a_missing_extra_and_a_newer_format(own: PostgresIndex, monkeypatch: pytest.MonkeyPatch, sql: Sql) -> None:
    sql(f"UPDATE {own.address.table}_index SET record = jsonb_set(record, '{{format}}', '9')")
    with pytest.raises(DataError, match="written by a newer version of mirrormask .format 9; this one reads 1"):
        PostgresIndex(url_of(own))
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(
        MissingExtra, match=r'needs the package \'psycopg\'. Install it with: pip install "mirrormask\[postgres\]"'
    ):
        mirrormask.open_index("postgresql://localhost/x")
