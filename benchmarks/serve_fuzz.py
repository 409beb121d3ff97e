"""Requests that nobody would send by reason, against every path of the service: none may be answered with a 500.

Bodies are drawn by hypothesis: right ones, right ones with a field of another kind or size, and any JSON at all; paths,
methods, headers and bytes that are no JSON too. Every answer must be JSON (or a page), with one sentence where it is an
error, and no path of this machine in it.

    pip install hypothesis
    python benchmarks/serve_fuzz.py --requests 2000
"""

from __future__ import annotations

import argparse
import json
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


def mostly(usual: Any, *rare: Any) -> Any:
    """Return what is usual, and one time in five something rare."""
    return st.integers(0, 9).flatmap(lambda number: usual if number < 8 else st.one_of(*rare))


TEXTS = mostly(
    st.text(min_size=1, max_size=60),
    st.sampled_from(
        ["the old baker", "", " ", "\x00", "[MASK] [CLS]", "a" * 3000, "猫在厨房", "\u202ex", "'\"`\\", "d1"]
    ),
    st.text(alphabet="ab[]()=<>'\"`,. and or not in", max_size=40),
)
ANYTHING = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=4)),
    max_leaves=8,
)
CONDITIONS = mostly(
    st.none(),
    TEXTS,
    st.sampled_from(['lang = "en"', "year >= 2001", "tags contains 'red'", "year in (1, 2", "not " * 60, "year > 'x'"]),
)
TOP = mostly(st.integers(1, 20), st.integers(-1, 1001))
MODES = mostly(st.sampled_from(["both", "words", "vectors"]), st.sampled_from(["none", ""]))
NAMES = mostly(st.none(), st.sampled_from(["notes", "other", "/etc/passwd"]), st.text(max_size=10))


def quoted(text: str) -> str:
    """Return any text as a part of an address, slashes and dots as they are."""
    return quote(text, safe="/.", errors="replace")


def like(needed: dict[str, Any], **optional: Any) -> Any:
    """Return bodies with the fields of a right one, now and then with one of another kind, or one too many."""
    right = st.fixed_dictionaries(needed, optional=optional)
    fields = [*needed, *optional, "more"]
    bent = st.tuples(right, st.sampled_from(fields), ANYTHING).map(lambda drawn: {**drawn[0], drawn[1]: drawn[2]})
    return mostly(right, bent, ANYTHING)


ASKED = {"mode": MODES, "top": TOP, "where": CONDITIONS}
BODIES: dict[str, Any] = {
    "/api/search": like({"query": TEXTS}, index=NAMES, **ASKED),
    "/api/similar": like({"id": TEXTS}, index=NAMES, **ASKED),
    "/api/compare": like({"query": TEXTS}, **ASKED),
    "/api/probe": like({"sentence": TEXTS}),
    "/api/encode": like({"texts": st.lists(TEXTS, min_size=1, max_size=5)}, normalize=st.booleans(), model=NAMES),
    "/api/similarity": like({}, a=TEXTS, b=TEXTS, pairs=st.lists(st.tuples(TEXTS, TEXTS), max_size=3), model=NAMES),
    "/v1/embeddings": like(
        {"input": st.one_of(TEXTS, st.lists(TEXTS, max_size=4), st.lists(st.integers(), max_size=4))},
        model=TEXTS,
        encoding_format=st.sampled_from(["float", "base64", "int"]),
        dimensions=st.one_of(st.none(), st.integers()),
    ),
}
PATHS = [
    "/",
    "/health",
    "/metrics",
    "/docs",
    "/openapi.json",
    "/api/about",
    "/api/map",
    "/api/duplicates",
    "/v1/models",
]
POSTED = st.sampled_from(sorted(BODIES)).flatmap(
    lambda path: st.tuples(st.just("POST"), st.just(path), BODIES[path].map(lambda body: json.dumps(body).encode()))
)
OTHERS = st.tuples(
    st.sampled_from(["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"]),
    st.one_of(
        st.sampled_from([*PATHS, *BODIES]),
        st.text(max_size=20).map(lambda text: f"/page/{quoted(text)}"),
        st.text(max_size=20).map(lambda text: f"/x{quoted(text)}"),
        NAMES.map(lambda name: f"/api/map?index={quoted(str(name))}"),
    ),
    st.one_of(st.just(b""), st.binary(max_size=60)),
)
HEADERS = st.fixed_dictionaries(
    {"content-type": mostly(st.just("application/json"), st.sampled_from(["text/plain", "", "a/xml", "a/b; c=;"]))},
    optional={"authorization": st.sampled_from(["Bearer", "Bearer x", "Basic \x7f"]), "accept": st.just("text/html")},
)


def fuzz(client: Any, requests: int, hidden: str) -> Counter[int]:
    """Send requests and return how often each status came.

    Args:
        client: of the application: `request(method, path, content=…, headers=…)`.
        requests: how many.
        hidden: what no answer may hold.
    """
    seen: Counter[int] = Counter()

    @settings(
        max_examples=requests, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @given(asked=mostly(POSTED, OTHERS), headers=HEADERS)
    def send(asked: tuple[str, str, bytes], headers: dict[str, str]) -> None:
        method, path, content = asked
        found = client.request(method, path, content=content, headers=headers)
        seen[found.status_code] += 1
        assert found.status_code < 500, (asked, found.text[:500])
        assert hidden not in found.text, (asked, found.text[:500])
        if found.status_code >= 400 and method != "HEAD":
            assert found.json()["error"]["message"], asked

    send()
    return seen


def main() -> None:
    """Fuzz the service on a small index and print what came; the last line is one JSON object."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--requests", type=int, default=2_000)
    options.add_argument("--model", default="mini-sentence")
    chosen = options.parse_args()
    warnings.simplefilter("ignore")
    import serve_load
    from fastapi.testclient import TestClient

    from mirrormask.search.index import Index
    from mirrormask.service.answering import Service
    from mirrormask.service.app import make_app
    from mirrormask.service.served import open_all

    with tempfile.TemporaryDirectory() as folder:
        rows = [{**row, "tags": ["red"] if row["year"] % 2 else []} for row in serve_load.documents(60, 1)]
        for name in ("notes", "other"):
            Index.build(rows, Path(folder) / name, model=chosen.model)
        service = Service(open_all([f"{folder}/notes", f"{folder}/other"]))
        with TestClient(make_app(service), raise_server_exceptions=False) as client:
            seen = fuzz(client, chosen.requests, folder)
        service.close()
    statuses = {str(status): count for status, count in sorted(seen.items())}
    print(json.dumps({"name": "serve_fuzz", "requests": seen.total(), "statuses": statuses, "server_errors": 0}))


if __name__ == "__main__":
    main()
