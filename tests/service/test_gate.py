"""Keys, names, sizes and time: what every request passes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from mirrormask.service.answering import Service
from mirrormask.service.app import make_app
from mirrormask.service.gate import HEADERS
from mirrormask.service.keys import Keys
from mirrormask.service.limits import Limits
from mirrormask.service.naming import allowed_hosts
from mirrormask.service.served import open_all

KEY = "a-key-of-our-own"


@pytest.fixture
def limited(tiny_folder: Path) -> Iterator[Callable[..., Service]]:
    made: list[Service] = []

    def make(**limits: Any) -> Service:
        made.append(Service(open_all([str(tiny_folder)]), Limits(**limits)))
        return made[-1]

    yield make
    for each in made:
        each.close()


def asked(path: str, parts: list[bytes], *, ends: bool = True, method: str = "POST") -> tuple[dict[str, Any], Any]:
    """Return the scope of a request, and what receives its parts; without an end it waits for more for ever."""
    left = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
    if ends:
        left[-1]["more_body"] = False
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope: dict[str, Any] = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
    }
    scope |= {"headers": headers, "http_version": "1.1", "scheme": "http", "root_path": "", "asgi": {}}

    async def receive() -> dict[str, Any]:
        if left:
            return left.pop(0)
        await asyncio.sleep(3600)
        raise AssertionError

    return scope, receive


async def answered(app: Any, scope: dict[str, Any], receive: Any) -> tuple[int, dict[str, str], Any]:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    await app(dict(scope), receive, send)
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], headers, json.loads(b"".join(each.get("body", b"") for each in sent[1:]))


def test_keys_open_everything_but_the_page(service: Service) -> None:
    client = TestClient(make_app(service, keys=Keys([KEY, "another-of-them"])))
    for path in ("/", "/health", "/docs", "/docs.css", "/openapi.json"):
        assert client.get(path).status_code == 200, path
    for headers, code in (({}, "missing_key"), ({"authorization": f"Bearer {KEY}x"}, "wrong_key")):
        for path in ("/api/about", "/metrics", "/v1/models", "/api/map", "/nothing"):
            found = client.get(path, headers=headers)
            assert (found.status_code, found.json()["error"]["code"]) == (401, code)
            assert found.headers["www-authenticate"] == "Bearer"
    for headers in ({"authorization": f"Bearer {KEY}"}, {"authorization": f"bearer  {KEY}"}, {"x-api-key": KEY}):
        assert client.get("/api/about", headers=headers).status_code == 200
    assert client.get("/api/about", headers={"x-api-key": "another-of-them"}).json()["keys"]
    assert client.get("/api/about", headers=[(b"x-api-key", b"k\xe9y" * 3)]).status_code == 401


def test_every_answer_has_the_headers(client: TestClient) -> None:
    for path in ("/", "/health", "/api/about", "/nothing", "/docs"):
        found = client.get(path)
        assert {name: found.headers[name] for name in HEADERS} == HEADERS
        assert "server" not in found.headers and found.headers["cache-control"] in ("no-store", "no-cache")
    policy = HEADERS["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy


def test_other_origins_may_ask_only_when_named(service: Service, client: TestClient) -> None:
    asking = {"origin": "https://example.org", "access-control-request-method": "POST"}
    asking["access-control-request-headers"] = "authorization,content-type"
    assert client.options("/api/search", headers=asking).status_code == 405
    assert "access-control-allow-origin" not in client.get("/api/about", headers=asking).headers
    named = TestClient(make_app(service, keys=Keys([KEY]), origins=["https://example.org"]))
    before = named.options("/api/search", headers=asking)
    assert before.status_code == 200 and before.headers["access-control-allow-origin"] == "https://example.org"
    other = named.options("/api/search", headers={**asking, "origin": "https://example.com"})
    assert "access-control-allow-origin" not in other.headers
    refused = named.get("/api/about", headers=asking)
    assert refused.status_code == 401 and refused.headers["access-control-allow-origin"] == "https://example.org"


@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost:8000", 200), ("127.0.0.1", 200), ("[::1]:80", 200), ("evil.example", 421), ("", 421)],
)
def test_a_loopback_service_answers_to_its_own_names(service: Service, host: str, status: int) -> None:
    client = TestClient(make_app(service, hosts=allowed_hosts("127.0.0.1", [])))
    assert client.get("/health", headers={"host": host}).status_code == status


def test_what_is_too_large_is_not_read(limited: Callable[..., Service]) -> None:
    app = make_app(limited(megabytes=0.001))
    client = TestClient(app)
    found = client.post("/api/encode", json={"texts": ["x" * 2000]})
    assert found.status_code == 413 and "0.001 MB" in found.json()["error"]["message"]
    assert client.post("/api/encode", json={"texts": ["x" * 200]}).status_code == 200
    status, headers, content = asyncio.run(answered(app, *asked("/api/encode", [b"x" * 600] * 3, ends=False)))
    assert (status, content["error"]["code"], headers["connection"]) == (413, "too_large", "close")


def test_time_is_limited(limited: Callable[..., Service]) -> None:
    slow = make_app(limited(seconds=0.05))
    status, headers, content = asyncio.run(answered(slow, *asked("/api/encode", [b'{"texts"'], ends=False)))
    assert (status, headers["connection"]) == (408, "close") and "after 0.05 s" in content["error"]["message"]
    body = json.dumps({"texts": ["the old baker"] * 2000}).encode()
    status, headers, content = asyncio.run(answered(slow, *asked("/api/encode", [body])))
    assert status == 503 and int(headers["retry-after"]) >= 1
    assert content["error"]["message"] == "The answer was not there after 0.05 s. Ask for less at once."


def test_more_requests_than_may_be_are_told_when_to_come_again(limited: Callable[..., Service]) -> None:
    service = limited(requests=1)
    app = make_app(service)

    async def two() -> tuple[int, dict[str, str], Any]:
        first = asyncio.create_task(answered(app, *asked("/api/encode", [b"{"], ends=False)))
        await asyncio.sleep(0)
        try:
            health, _, _ = await answered(app, *asked("/health", [b""], method="GET"))
            assert health == 200  # who watches the service is answered
            return await answered(app, *asked("/api/encode", [b'{"texts": ["a"]}']))
        finally:
            first.cancel()

    status, headers, content = asyncio.run(two())
    assert (status, content["error"]["code"], headers["retry-after"]) == (429, "too_many_requests", "1")
    assert asyncio.run(answered(app, *asked("/api/encode", [b'{"texts": ["a"]}'])))[0] == 200


def test_what_nobody_waits_for_is_not_encoded(limited: Callable[..., Service]) -> None:
    service = limited()
    app = make_app(service)
    scope, receive = asked("/api/encode", [json.dumps({"texts": ["the old baker finds bread"] * 2048}).encode()])
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def leaves() -> dict[str, Any]:
        message: dict[str, Any] = await receive() if not seen else {"type": "http.disconnect"}
        seen.append(message)
        return message

    seen: list[Any] = []
    asyncio.run(app(scope, leaves, send))
    assert sent == [] and service.batcher.waiting == 0
    assert 'path="/api/encode",status="499"' in service.meters.text({})


def test_an_error_that_should_not_be_tells_nothing(
    service: Service, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> Any:
        raise RuntimeError("a secret of /srv/private/place")

    monkeypatch.setattr(service.served[0], "about", broken)
    found = TestClient(make_app(service)).get("/api/about")
    assert found.status_code == 500 and "secret" not in found.text and found.headers["x-frame-options"] == "DENY"
    assert "a secret of /srv/private/place" in capsys.readouterr().err
