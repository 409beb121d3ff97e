"""An index in a database behind the service: the same answers, what is written is seen, no address in any of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from mirrormask.search.index import Index
from mirrormask.search.postgres.postgres_index import PostgresIndex
from mirrormask.service.answering import Service
from mirrormask.service.app import make_app
from mirrormask.service.served import open_all


@pytest.fixture(scope="module")
def place(database: str, notes: list[dict[str, Any]], tiny_folder: Path) -> str:
    to = database.replace("//postgres:@", "//postgres:Geheim@") + "&table=served"
    PostgresIndex.build(notes, to, model=str(tiny_folder))
    return to


@pytest.fixture(scope="module")
def service(place: str) -> Iterator[Service]:
    made = Service(open_all([place]))
    yield made
    made.close()


@pytest.fixture(scope="module")
def client(service: Service) -> Iterator[TestClient]:
    with TestClient(make_app(service)) as made:
        yield made


def test_it_answers_as_a_folder_does(client: TestClient, service: Service, notes_index: Path) -> None:
    known = Index.open(notes_index)
    for mode in ("both", "words", "vectors"):
        found = client.post("/api/search", json={"query": "the broken clock", "mode": mode, "where": "year >= 2001"})
        assert found.status_code == 200, found.text
        wanted = known.search("the broken clock", mode=mode, where="year >= 2001")
        assert [hit["id"] for hit in found.json()["hits"]] == [hit.id for hit in wanted]
    assert service.served[0].name == "served" and service.served[0].generation is not None
    assert service.served[0].generation.facets == known.facets()


def test_no_answer_names_the_address(client: TestClient, place: str, database: str) -> None:
    import psycopg

    for answer in (
        client.get("/api/about"),
        client.post("/api/search", json={"query": "x", "where": "nothing = 1"}),
        client.post("/api/similar", json={"id": "d999"}),
    ):
        assert not any(secret in answer.text for secret in ("Geheim", "postgresql:", "/pg", "test_main"))
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("ALTER TABLE served_index RENAME TO gone")
        try:
            lost = client.post("/api/search", json={"query": "x", "mode": "words"})
        finally:
            connection.execute("ALTER TABLE gone RENAME TO served_index")
    assert lost.status_code >= 400 and "served" in lost.text and "postgresql:" not in lost.text


def test_what_is_written_is_seen(client: TestClient, service: Service, place: str) -> None:
    PostgresIndex(place).add([{"id": "zebra", "text": "A zebra crosses the road.", "year": 2050}])
    found = client.post("/api/search", json={"query": "zebra", "top": 1}).json()["hits"]
    assert [hit["id"] for hit in found] == ["zebra"]
    served = service.served[0]
    served.refresh()
    assert served.reloads == 1 and served.about()["documents"] == 41
    served.refresh()
    assert served.reloads == 1
