"""Every answer is that of the library's own call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from fastapi.testclient import TestClient

from mirrormask.models.bulk import encode_texts
from mirrormask.models.encoder import load
from mirrormask.search.index import Index


def test_a_search_is_the_index_own(client: TestClient, notes_index: Path) -> None:
    index = Index.open(notes_index)
    for mode in ("both", "words", "vectors"):
        body: dict[str, Any] = {"query": "the old baker finds bread", "mode": mode, "top": 4, "where": "lang = 'en'"}
        found = client.post("/api/search", json=body).json()
        options = {key: value for key, value in body.items() if key != "query"}
        own = [hit.to_dict() for hit in index.search(body["query"], **options)]
        assert [hit["id"] for hit in found["hits"]] == [hit["id"] for hit in own] and len(own) == 4
        for hit, expected in zip(found["hits"], own, strict=True):
            assert abs(hit.pop("score") - expected.pop("score")) < 1e-4
            hit.pop("shares"), expected.pop("shares")
            assert hit == {**expected, "matches": [list(each) for each in expected["matches"]]}


def test_texts_are_encoded_as_the_library_does(client: TestClient, tiny_folder: Path, sentences: list[str]) -> None:
    found = client.post("/api/encode", json={"texts": sentences[:5]}).json()
    assert np.abs(np.array(found["vectors"]) - encode_texts(load(tiny_folder), sentences[:5])).max() < 1e-5
    assert found["dimension"] == 32 and found["tokens"] > 5
