"""The text that Prometheus reads."""

from __future__ import annotations

import re

from fastapi.testclient import TestClient

from mirrormask.service.meters import Histogram, Meters


def test_buckets_hold_all_below_them() -> None:
    sizes = Histogram((1, 10, 100))
    for value in (1, 2, 10, 11, 1000):
        sizes.add(value)
    assert list(sizes.lines("n", 'a="b"')) == [
        'n_bucket{a="b",le="1"} 1',
        'n_bucket{a="b",le="10"} 3',
        'n_bucket{a="b",le="100"} 4',
        'n_bucket{a="b",le="+Inf"} 5',
        'n_sum{a="b"} 1024.000000',
        'n_count{a="b"} 5',
    ]


def test_every_line_is_one_that_prometheus_reads() -> None:
    meters = Meters()
    meters.answered("GET", "/health", 200, 0.01)
    meters.encoded(3, 40, 0.2)
    text = meters.text({'mirrormask_index_documents{index="a"}': ("gauge", "Documents.", 40)})
    for line in text.splitlines():
        assert re.fullmatch(r'# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [\d.]+', line), (
            line
        )
    told = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(told) == len(set(told)) == 7
    assert 'mirrormask_requests_total{method="GET",path="/health",status="200"} 1' in text


def test_requests_batches_and_indexes_are_counted(client: TestClient) -> None:
    client.post("/api/encode", json={"texts": ["one", "two"]})
    client.get("/page/some-name-of-an-attacker")
    client.get("/nowhere/else")
    text = client.get("/metrics").text
    assert client.get("/metrics").headers["content-type"].startswith("text/plain; version=0.0.4")
    assert re.search(r'requests_total\{method="POST",path="/api/encode",status="200"\} [1-9]', text)
    assert re.search(r"^mirrormask_batch_texts_count [1-9]", text, re.MULTILINE)
    assert 'mirrormask_index_documents{index="notes-index"} 40' in text
    assert "attacker" not in text and "nowhere" not in text  # what others choose names no series
