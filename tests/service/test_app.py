"""Every answer is that of the library's own call, and every error one sentence."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from mirrormask.core.similarity import paired_cosine
from mirrormask.models.bulk import encode_texts
from mirrormask.models.encoder import load
from mirrormask.probing.sentence import probe_sentence
from mirrormask.search.index import Index
from mirrormask.service.answering import Service
from mirrormask.service.app import make_app
from mirrormask.service.served import open_all

QUERY = "the old baker finds bread"


def same_hits(found: list[dict[str, Any]], own: list[Any]) -> None:
    assert [hit["id"] for hit in found] == [hit.id for hit in own] and own
    for hit, expected in zip(found, own, strict=True):
        assert abs(hit["score"] - expected.score) < 1e-4
        assert hit["passage"] == expected.passage and hit["metadata"] == expected.metadata
        assert hit["matches"] == [list(each) for each in expected.matches] and hit["place"] == list(expected.place)
        assert hit["shares"] == pytest.approx(expected.shares, abs=1e-3)


@pytest.mark.parametrize("mode", ["both", "words", "vectors"])
def test_a_search_is_the_index_own(client: TestClient, notes_index: Path, mode: str) -> None:
    options: dict[str, Any] = {"mode": mode, "top": 4, "where": "lang = 'en'"}
    found = client.post("/api/search", json={"query": QUERY, **options})
    assert found.status_code == 200
    assert {key: found.json()[key] for key in ("index", "query", "where")} == {
        "index": "notes-index",
        "query": QUERY,
        "where": "lang = 'en'",
    }
    same_hits(found.json()["hits"], Index.open(notes_index).search(QUERY, **options))


def test_documents_like_one_and_two_indexes_side_by_side(
    client: TestClient, notes_index: Path, half_index: Path
) -> None:
    found = client.post("/api/similar", json={"id": "d3", "top": 3}).json()
    same_hits(found["hits"], Index.open(notes_index).like("d3", top=3))
    both = client.post("/api/compare", json={"query": QUERY, "top": 3}).json()["answers"]
    assert [each["index"] for each in both] == ["notes-index", "half-index"]
    for each, folder in zip(both, (notes_index, half_index), strict=True):
        same_hits(each["hits"], Index.open(folder).search(QUERY, top=3))


def test_texts_are_encoded_as_the_library_does(client: TestClient, tiny_folder: Path, sentences: list[str]) -> None:
    own = encode_texts(load(tiny_folder), sentences[:5])
    for model in (None, "half-index", "tiny"):
        found = client.post("/api/encode", json={"texts": sentences[:5], "model": model}).json()
        assert np.abs(np.array(found["vectors"]) - own).max() < 1e-5
        assert found["dimension"] == 32 and found["tokens"] > 5
    unit = client.post("/api/encode", json={"texts": sentences[:5], "normalize": True}).json()["vectors"]
    assert np.linalg.norm(unit, axis=1) == pytest.approx(np.ones(5))
    cosine = client.post("/api/similarity", json={"a": sentences[0], "b": sentences[1]}).json()["cosine"]
    pairs = client.post("/api/similarity", json={"pairs": [sentences[:2], sentences[2:4]]}).json()["cosines"]
    assert [cosine, *pairs] == pytest.approx(paired_cosine(own[[0, 0, 2]], own[[1, 1, 3]]).tolist(), abs=1e-5)


def test_a_sentence_is_probed_by_the_model_that_is_served(client: TestClient, tiny_folder: Path) -> None:
    found = client.post("/api/probe", json={"sentence": "the old baker finds bread"}).json()
    own = probe_sentence("the old baker finds bread", model=tiny_folder).to_dict()
    assert found["words"] == own["words"] and found["heads"] == own["heads"] and found["model"] == "tiny"
    assert np.array(found["impact"]) == pytest.approx(np.array(own["impact"]), abs=1e-3)
    long = client.post("/api/probe", json={"sentence": "word " * 100})
    assert long.status_code == 400 and "64 words" in long.json()["error"]["message"]


def eventually(client: TestClient, path: str) -> Any:
    for _ in range(200):
        found = client.get(path)
        if found.status_code != 202:
            return found.json()
        assert found.json() == {"status": "computing"} and found.headers["retry-after"]
        time.sleep(0.1)
    raise AssertionError(f"{path} is never there")


def test_the_map_and_what_repeats(client: TestClient, notes: list[dict[str, Any]]) -> None:
    found = eventually(client, "/api/map?index=half-index")
    assert found["texts"] == 20 and found["left_out"] == 0
    assert {point["id"]: point["text"] for point in found["points"]} == {row["id"]: row["text"] for row in notes[:20]}
    assert all(0 <= point[side] <= 1 for point in found["points"] for side in "xy")
    assert sum(group["texts"] for group in found["groups"]) == 20
    assert {point["group"] for point in found["points"]} == set(range(len(found["groups"])))
    repeated = eventually(client, "/api/duplicates")
    assert repeated["texts"] == 40 and repeated["repeated"] >= 0 and "threshold" in repeated


def test_what_is_served_is_told_with_conditions_that_work(client: TestClient) -> None:
    about = client.get("/api/about").json()
    assert [each["name"] for each in about["served"]] == ["notes-index", "half-index", "tiny"]
    assert [each["kind"] for each in about["served"]] == ["index", "index", "model"]
    assert about["compare"] and about["probe"] and not about["keys"]
    index = about["served"][0]
    assert index["documents"] == 40 and index["map"] and index["modes"] == ["both", "words", "vectors"]
    columns = {column["name"]: column for column in index["columns"]}
    assert set(columns) == {"year", "lang", "tags"} and (columns["year"]["low"], columns["year"]["high"]) == (
        2000,
        2003,
    )
    asked = 0
    for column in columns.values():
        for value in column["values"]:
            body = {"query": "the", "mode": "vectors", "top": 100, "where": value["where"]}
            assert len(client.post("/api/search", json=body).json()["hits"]) == value["count"], value
            asked += 1
    assert asked == 8  # four years, two languages, two tags, one of them with quotes and a backslash


@pytest.mark.parametrize(
    ("path", "body", "status", "says"),
    [
        (
            "/api/search",
            {"query": "x", "index": "other"},
            404,
            "no index 'other' here. Name one of: notes-index",
        ),
        ("/api/search", {"query": "x", "index": "tiny"}, 404, "There is no index 'tiny' here."),
        ("/api/search", {"query": "  "}, 400, "The query is empty. Say what to look for."),
        ("/api/search", {"query": "x" * 10_001}, 422, "query: String should have at most 10000 characters."),
        ("/api/search", {"query": "x", "top": 0}, 422, "top: Input should be greater than or equal to 1."),
        ("/api/search", {"query": "x", "mode": "magic"}, 422, "mode: Input should be 'both', 'words' or 'vectors'."),
        ("/api/search", {"query": "x", "tpo": 3}, 422, "tpo: Extra inputs are not permitted."),
        ("/api/search", {"query": "x", "where": "yeer = 3"}, 400, "Did you mean 'year'?"),
        ("/api/search", {"query": "x", "where": "year = "}, 400, "cannot be read at its end"),
        ("/api/search", [], 422, "The body: "),
        ("/api/similar", {"id": "d99"}, 404, "has no document 'd99'. Did you mean 'd9'? Check the id."),
        ("/api/encode", {"texts": []}, 422, "texts: List should have at least 1 item"),
        ("/api/encode", {"texts": ["x"] * 2049}, 422, "texts: List should have at most 2048 items"),
        ("/api/encode", {"texts": ["a"], "model": "x"}, 404, "Name one of: notes-index, half-index, tiny."),
        ("/api/similarity", {"a": "x"}, 400, 'Give either "a" and "b", or "pairs".'),
        ("/api/similarity", {"a": "x", "b": "y", "pairs": [["x", "y"]]}, 400, 'Give either "a" and "b", or "pairs".'),
        ("/api/probe", {"sentence": "  "}, 400, "The sentence is empty"),
        ("/api/nothing", {}, 404, "There is nothing under this path. /docs lists what there is."),
        ("/health", {}, 405, "Not with this method."),
    ],
)
def test_what_cannot_be_is_one_sentence(
    client: TestClient, path: str, body: Any, status: int, says: str, tmp_path: Path
) -> None:
    found = client.post(path, json=body)
    message = found.json()["error"]["message"]
    assert (found.status_code, says in message) == (status, True), found.text
    assert str(tmp_path.parents[2]) not in found.text and message.endswith((".", "?"))
    assert set(found.json()["error"]) == {"message", "type", "param", "code"}


def test_bodies_that_are_no_json(client: TestClient) -> None:
    kind = {"content-type": "application/json"}
    for content in (b"{", b"\xff\xfe", b"[" * 100_000, b'{"query": 1e999999}', b"", b"NaN", b'{"query": "\\ud800"}'):
        found = client.post("/api/search", content=content, headers=kind)
        assert found.status_code in (400, 422), (content[:20], found.text)
        assert found.json()["error"]["message"]
    found = client.post("/api/search", content=b'{"query": "x"}', headers={"content-type": "text/plain"})
    assert found.status_code == 422  # what another page's form could send without asking


def test_the_pages_need_nothing_from_elsewhere(client: TestClient) -> None:
    for path in ("/", "/docs"):
        page = client.get(path)
        assert page.status_code == 200 and page.headers["content-type"] == "text/html; charset=utf-8"
        assert not re.findall(r"(?:src|href)\s*=\s*[\"'](?:https?:)?//", page.text) and "<script>" not in page.text
        assert "onclick" not in page.text and " style=" not in page.text
    assert "POST /api/search" in client.get("/docs").text
    assert client.get("/docs.css").headers["content-type"].startswith("text/css")
    for name in ("nothing.js", "..%2fapp.py", "..%2f..%2fsearch%2findex.py", "app.py"):
        assert client.get(f"/page/{name}").status_code == 404


def test_the_examples_of_the_documentation_work(client: TestClient) -> None:
    schema = client.get("/openapi.json").json()
    tried = 0
    for path, methods in schema["paths"].items():
        body = methods.get("post", {}).get("requestBody")
        if body is None:
            continue
        name = body["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        for example in schema["components"]["schemas"][name]["examples"]:
            found = client.post(path, json={**example, **({"model": "tiny"} if "model" in example else {})})
            assert found.status_code == 200, (path, found.text)
            shown = methods["post"]["responses"]["200"]["content"]["application/json"]["example"]
            assert set(found.json()) == set(shown) or path == "/api/similarity", path
            tried += 1
    assert tried == 8


def test_columns_with_numbers_and_signs_that_json_has_not(tmp_path: Path, tiny_folder: Path) -> None:
    rows = [
        {
            "id": "a",
            "text": "the old baker",
            "price": float("nan"),
            "name": "half \ud800",
            "more": {"x": [float("inf")]},
        },
        {"id": "b", "text": "a young pilot", "price": 2.5, "name": "whole", "more": None},
    ]
    service = Service(open_all([str(Index.build(rows, tmp_path / "odd", model=str(tiny_folder)).folder)]))
    client = TestClient(make_app(service))
    hits = client.post("/api/search", json={"query": "the old baker", "top": 2}).json()["hits"]
    assert {hit["id"]: hit["metadata"]["price"] for hit in hits} == {"a": None, "b": 2.5}
    about = client.get("/api/about").json()["served"][0]["columns"]
    service.close()
    price = next(column for column in about if column["name"] == "price")
    assert [value["value"] for value in price["values"]] == [2.5]
