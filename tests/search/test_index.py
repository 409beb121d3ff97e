from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mirrormask
from mirrormask.core.errors import DataError, MirrormaskError, MirrormaskWarning, ModelError, TrainingError
from mirrormask.core.locking import locked
from mirrormask.search import encoded, indexing, querying
from mirrormask.search.generations import MANIFEST, read_manifest
from mirrormask.search.index import Index
from mirrormask.search.text_encoder import TextEncoder

Rows = list[dict[str, Any]]


@pytest.fixture
def own(small: Index, tmp_path: Path) -> Index:
    """A copy of the small index, to be written to."""
    return Index.open(shutil.copytree(small.folder, tmp_path / "own"))


def ids(hits: list[Any]) -> list[str]:
    return [hit.id for hit in hits]


def test_the_public_name_is_this_class(small: Index) -> None:
    assert mirrormask.Index is Index
    assert len(mirrormask.Index.open(small.folder)) == 60


def test_a_document_is_found_by_its_own_text(small: Index, rows: Rows) -> None:
    for mode in ("both", "words", "vectors"):
        first = [small.search(row["text"], top=1, mode=mode)[0].id for row in rows[::5]]
        assert first == [row["id"] for row in rows[::5]], mode


def test_hits_say_where_and_why(small: Index, rows: Rows) -> None:
    hit = small.search("the broken clock", top=1)[0]
    text = next(row["text"] for row in rows if row["id"] == hit.id)
    assert text[hit.place[0] : hit.place[1]] == hit.passage
    marked = {hit.passage[a:b].lower() for a, b in hit.matches}
    assert marked <= {"broken", "clock"} and marked
    assert sum(hit.shares.values()) == pytest.approx(1)
    assert small.search("clock", top=1, mode="words")[0].shares == {"words": 1.0, "vectors": 0.0}
    assert small.search("clock", top=1, mode="vectors")[0].shares == {"words": 0.0, "vectors": 1.0}
    assert hit.metadata.keys() == {"year", "lang", "tags", "price"}
    assert json.loads(json.dumps(hit.to_dict()))["id"] == hit.id


def test_passages_are_joined_into_documents(small: Index) -> None:
    assert small.record["counts"]["passages"] > len(small)
    found = ids(small.search("the old baker", top=60))
    assert len(found) == len(set(found)) == 60


def test_one_long_document_is_found_by_its_first_passages(
    sentences: list[str], tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = {"id": "book", "text": " ".join(f"{each.capitalize()}." for each in sentences), "kind": "long"}
    note = {"id": "note", "text": "A short note.", "kind": "short"}
    index = Index.build([book, note], tmp_path / "ix", model=str(tiny_folder), passage_words=8)
    depths: list[int] = []
    best = querying.best_passages

    def watched(question: Any, dense: Any, words: Any, depth: int) -> Any:
        depths.append(depth)
        return best(question, dense, words, depth)

    monkeypatch.setattr(querying, "best_passages", watched)
    assert ids(index.search("the clock", where="kind = 'long'")) == ["book"]
    assert depths == [100] and index.record["counts"]["passages"] > 200


def test_vector_scores_are_those_of_the_encoder(rows: Rows, tiny_folder: Path, tmp_path: Path) -> None:
    index = Index.build(rows[:20], tmp_path / "equal", model=str(tiny_folder), tokens="equal")
    hit = index.search("a young pilot", top=1, mode="vectors")[0]
    one, other = mirrormask.load(tiny_folder).encode(["a young pilot", hit.passage], normalize_embeddings=True)
    assert hit.score == pytest.approx(float(one @ other), abs=2e-3)


def test_conditions_are_met_inside_the_search(small: Index, rows: Rows) -> None:
    allowed = {row["id"] for row in rows if int(row["year"]) >= 2017 and row["lang"] == "en"}
    for mode in ("both", "vectors"):
        assert (
            set(ids(small.search("the old baker", top=40, mode=mode, where='year >= 2017 and lang = "en"'))) == allowed
        )
    assert set(ids(small.search("the", top=40, mode="words", where="price > 29"))) <= {"d59"}
    with pytest.raises(MirrormaskError, match="no column 'yeer'. Did you mean 'year'?"):
        small.search("x", where="yeer = 1")


def test_documents_like_one(small: Index) -> None:
    found = ids(small.like("d9", top=5))
    assert "d9" not in found and len(found) == 5
    with pytest.raises(DataError, match="has no document 'd99'. Did you mean 'd9'"):
        small.like("d99")


def test_a_batch_ranks_as_single_searches_do(small: Index) -> None:
    queries = ["the broken clock", "two red apples"]
    ranked = small.rank(queries, top=7)
    assert [[one for one, _ in answer] for answer in ranked] == [ids(small.search(query, top=7)) for query in queries]
    assert all(a[1] >= b[1] for answer in ranked for a, b in itertools.pairwise(answer))


def test_queries_that_cannot_be_asked(small: Index) -> None:
    with pytest.raises(MirrormaskError, match="The query is empty"):
        small.search("  ")
    with pytest.warns(MirrormaskWarning, match="A query of 100,000 characters is more than can be asked"):
        assert len(small.search("the clock " * 10_000, top=3)) == 3
    with pytest.raises(MirrormaskError, match="The 'mode' of a search must be one of both, words, vectors"):
        small.search("x", mode="bm25")
    with pytest.raises(MirrormaskError, match="The 'top' of a search must be at least 1"):
        small.search("x", top=0)
    assert small.search("qqqq zzzz", mode="words") == []


def test_adding_replaces_what_changed_and_passes_over_the_rest(own: Index, rows: Rows) -> None:
    vectors = own._dense.vectors(np.arange(len(own._dense)))
    changed = {**rows[1], "text": "A purple elephant."}
    told = indexing.build_index(
        [rows[0], changed, {"id": "new", "text": "The xylophone sings."}],
        own.folder,
        indexing.Reading(),
    )
    assert (told["added"], told["replaced"], told["unchanged"]) == (1, 1, 1)
    now = Index.open(own.folder)
    assert len(now) == 61 and now.record["counts"]["deleted"] == 1
    assert ids(now.search("purple elephant", mode="words")) == ["d1"]
    assert ids(now.search("xylophone", top=1)) == ["new"]
    assert np.array_equal(now._dense.vectors(np.arange(len(vectors))), vectors)
    assert ids(own.search("purple elephant", mode="words")) == [], "who has it open sees it as it was"


def test_many_additions_are_merged(own: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "_PARTS", 2)
    parts = []
    for number in range(4):
        own = own.add([{"id": f"n{number}", "text": f"The zebra{'abcd'[number]} runs."}])
        parts.append(len(own._opened.postings))
    assert parts == [2, 1, 2, 1]
    assert [ids(own.search(f"zebra{letter}", mode="words")) for letter in "abcd"] == [[f"n{n}"] for n in range(4)]


def test_deleted_documents_are_marked_then_gone(own: Index, rows: Rows) -> None:
    before = own.rank(["the broken clock"], top=60)[0]
    now = own.delete(["d3", "d4"])
    assert now.record["counts"] == {"documents": 58, "passages": now.record["counts"]["passages"], "deleted": 2}
    assert (now._opened.generation / "library" / "texts.values.npy").is_file()
    assert [one for one, _ in now.rank(["the broken clock"], top=60)[0]] == [
        one for one, _ in before if one not in ("d3", "d4")
    ]
    gone = [f"d{number}" for number in range(5, 30)]
    anew = now.delete(gone)
    assert anew.record["counts"]["deleted"] == 0 and len(anew) == 33
    assert not {one for one, _ in anew.rank(["the broken clock"], top=60)[0]} & {*gone, "d3", "d4"}
    fresh = [row for row in rows if row["id"] not in {*gone, "d3", "d4"}]
    assert [hit.passage for hit in anew.search("two red apples", top=5, mode="words")] == [
        hit.passage
        for hit in Index.build(
            fresh, own.folder.parent / "fresh", model=str(own.record["encoder"]["name"]), passage_words=16
        ).search("two red apples", top=5, mode="words")
    ]
    with pytest.raises(DataError, match="has no document 'd3', so nothing was deleted"):
        anew.delete(["d40", "d3"])
    assert len(Index.open(own.folder)) == 33
    with pytest.raises(MirrormaskError, match="These are all documents"):
        anew.delete([one for one, _ in anew.rank(["a"], top=60)[0]])


def test_ids_and_texts_name_documents(small: Index, rows: Rows) -> None:
    assert small.id_of("d7") == "d7"
    assert small.id_of(rows[7]["text"]) == "d7"
    assert small.id_of("nobody") is None


def test_another_encoder_is_refused(own: Index, tiny_folder: Path, tmp_path: Path) -> None:
    moved = shutil.copytree(tiny_folder, tmp_path / "moved")
    assert len(Index.open(own.folder, model=str(moved)).search("the clock", top=3)) == 3, "a copy is the same encoder"
    config = json.loads((moved / "config.json").read_text())
    (moved / "config.json").write_text(json.dumps({**config, "layer_norm_eps": 0.5}))
    with pytest.raises(ModelError, match="was made with another encoder"):
        Index.open(own.folder, model=str(moved)).search("the clock")
    assert Index.open(own.folder, model=str(moved)).search("the clock", mode="words")
    with pytest.raises(ModelError, match="is not there any more .* Say where it is with --model"):
        Index.open(own.folder, model=str(tmp_path / "nowhere")).search("the clock")


def test_an_index_is_added_to_as_it_was_made(own: Index, tiny_folder: Path, tmp_path: Path) -> None:
    def add(**options: Any) -> None:
        indexing.build_index([{"id": "n", "text": "A text."}], own.folder, indexing.Reading(), **options)

    with pytest.raises(MirrormaskError, match="was made with --vectors 'fp16', not 'int8'. Leave it out"):
        add(storing=indexing.Storing("int8"))
    with pytest.raises(MirrormaskError, match="was made with --passage-words 16, not 40"):
        add(passage_words=40)
    with pytest.raises(MirrormaskError, match="was made with --query-prompt '', not 'find: '"):
        add(query_prompt="find: ")
    with pytest.raises(ModelError, match="was made with another encoder than mini"):
        add(model="mini")
    add(model=str(tiny_folder), passage_words=16, storing=indexing.Storing())
    assert len(Index.open(own.folder)) == 61


def test_only_whole_indexes_of_this_version_open(own: Index, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="There is no index"):
        Index.open(tmp_path / "nothing")
    with pytest.raises(DataError, match="is no index: it has no index.json"):
        Index.open(tmp_path)
    manifest = own.folder / MANIFEST
    record = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**record, "format": 99}))
    with pytest.raises(DataError, match="newer version of mirrormask .format 99; this one reads 2"):
        Index.open(own.folder)
    manifest.write_text("{")
    with pytest.raises(DataError, match="is damaged"):
        Index.open(own.folder)
    manifest.write_text(json.dumps(record))
    part = own.folder / record["generation"] / "dense" / "0000.faiss"
    whole = part.read_bytes()
    part.write_bytes(whole[:-10])
    with pytest.raises(DataError, match="was copied only in part: g000001/dense/0000.faiss has"):
        Index.open(own.folder)
    part.unlink()
    with pytest.raises(DataError, match="g000001/dense/0000.faiss is missing. Copy it again."):
        Index.open(own.folder)


def test_one_writer_at_a_time(own: Index) -> None:
    program = "import sys; from mirrormask.core.locking import locked\n"
    program += "with locked(sys.argv[1]):\n print(1, flush=True)\n input()"
    holder = subprocess.Popen(
        [sys.executable, "-c", program, str(own.folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ
    )
    assert holder.stdout is not None and holder.stdout.readline()
    with pytest.raises(MirrormaskError, match="is in use"):
        own.delete(["d1"])
    assert len(own.search("the clock", top=3)) == 3, "readers are not blocked"
    holder.communicate(b"\n")
    assert len(own.delete(["d1"])) == 59
    with locked(own.folder):
        pass


def test_a_full_disk_leaves_the_old_index(own: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {path.name for path in own.folder.iterdir()}

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(TrainingError, match="The disk is full: .* what was there before is untouched"):
        own.add([{"id": "new", "text": "A text."}])
    monkeypatch.undo()
    assert {path.name for path in own.folder.iterdir()} == before
    assert len(Index.open(own.folder)) == 60


def test_what_a_killed_writer_left_is_removed_and_strangers_are_not(own: Index, tmp_path: Path) -> None:
    (own.folder / "g000009").mkdir()
    (own.folder / ".g000002.0a1b.partial").mkdir()
    own.delete(["d1"])
    assert {path.name for path in own.folder.iterdir()} == {MANIFEST, "g000002"}
    assert read_manifest(own.folder)["generation"] == "g000002"
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    (stranger / "thesis.txt").write_text("precious")
    with pytest.raises(DataError, match="holds something else than an index"):
        Index.build(["a text"], stranger)
    assert (stranger / "thesis.txt").read_text() == "precious"


def test_a_stopped_build_goes_on_where_it_was(
    rows: Rows, tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, encode, asked = tmp_path / "ix", TextEncoder.documents, []
    monkeypatch.setattr(encoded, "STEP", 16)

    def stopped(self: TextEncoder, texts: list[str], progress: Any = None) -> Any:
        asked.extend(texts)
        if len(asked) > 40:
            raise KeyboardInterrupt
        return encode(self, texts, progress)

    def build(given: Rows, **options: Any) -> dict[str, Any]:
        reading = indexing.Reading()
        return indexing.build_index(given, out, reading, model=str(tiny_folder), passage_words=16, **options)

    monkeypatch.setattr(TextEncoder, "documents", stopped)
    with pytest.raises(KeyboardInterrupt):
        build(rows)
    with pytest.raises(DataError, match="is not finished. Repeat the command that made it, and it goes on."):
        Index.open(out)
    monkeypatch.setattr(TextEncoder, "documents", encode)
    before = shutil.copytree(out, tmp_path / "before")
    assert "32 passages had been encoded by a run that was stopped" in build(rows)["notes"]
    assert {path.name for path in out.iterdir()} == {MANIFEST, "g000001"}
    straight = Index.build(rows, tmp_path / "straight", model=str(tiny_folder), passage_words=16)
    every = np.arange(len(straight._dense))
    np.testing.assert_array_equal(Index.open(out)._dense.vectors(every), straight._dense.vectors(every))
    for given, options in ((rows[30:], {}), (rows, {"tokens": "equal"})):  # other weights of tokens: other vectors
        shutil.rmtree(out)
        shutil.copytree(before, out)
        assert build(given, **options)["notes"] == []


def test_nothing_to_index_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no text to index"):
        Index.build([" ", ""], tmp_path / "ix")
    assert not (tmp_path / "ix").exists()
