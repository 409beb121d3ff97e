"""What OpenAI's clients send and expect."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from mirrormask.core.similarity import unit_rows
from mirrormask.models.bulk import encode_texts
from mirrormask.models.encoder import load
from mirrormask.service.answering import Service
from mirrormask.service.app import make_app


def test_vectors_are_the_library_own_scaled_to_length_1(
    client: TestClient, tiny_folder: Path, sentences: list[str]
) -> None:
    own = unit_rows(encode_texts(load(tiny_folder), sentences[:3]))
    body = {"input": sentences[:3], "model": "tiny", "user": "someone"}
    found = client.post("/v1/embeddings", json=body).json()
    assert found["object"] == "list" and found["model"] == "tiny"
    assert [each["index"] for each in found["data"]] == [0, 1, 2]
    assert np.abs(np.array([each["embedding"] for each in found["data"]]) - own).max() < 1e-5
    assert found["usage"]["prompt_tokens"] == found["usage"]["total_tokens"] > 6
    packed = client.post("/v1/embeddings", json={**body, "input": sentences[0], "encoding_format": "base64"}).json()
    assert np.abs(np.frombuffer(base64.b64decode(packed["data"][0]["embedding"]), "<f4") - own[0]).max() < 1e-5


def test_one_model_answers_to_any_name(service: Service) -> None:
    before = service.served
    service.served = before[2:]
    try:
        alone = TestClient(make_app(service))
        found = alone.post("/v1/embeddings", json={"input": "tea", "model": "text-embedding-3-small"}).json()
    finally:
        service.served = before
    assert found["model"] == "tiny"


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({"input": "x", "model": "other"}, 404, "There is no model 'other' here."),
        ({"input": [1, 2, 3], "model": "tiny"}, 400, "'input' holds token numbers"),
        ({"input": [[1, 2], [3]], "model": "tiny"}, 400, "'input' holds token numbers"),
        ({"input": [], "model": "tiny"}, 400, "'input' may hold 1 to 2,048 texts. Got 0."),
        ({"input": ["x"] * 2049, "model": "tiny"}, 400, "Got 2,049."),
        ({"input": "x", "model": "tiny", "dimensions": 7}, 400, "have 32 numbers. Leave out 'dimensions'."),
        ({"input": "x", "model": "tiny", "encoding_format": "int8"}, 400, "encoding_format: "),
        ({"model": "tiny"}, 400, "input: Field required."),
    ],
)
def test_errors_have_openai_shape(client: TestClient, body: dict[str, Any], status: int, says: str) -> None:
    found = client.post("/v1/embeddings", json=body)
    assert found.status_code == status and says in found.json()["error"]["message"], found.text
    assert found.json()["error"]["type"] == "invalid_request_error"


def test_models_are_listed(client: TestClient) -> None:
    assert [each["id"] for each in client.get("/v1/models").json()["data"]] == ["notes-index", "half-index", "tiny"]
