from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirrormask.core.errors import ModelError
from mirrormask.models.encoder import save_encoder
from mirrormask.search.hits import Hit, Reranker
from mirrormask.search.index import Index
from mirrormask.search.text_encoder import TextEncoder, prompts_of


@pytest.fixture
def prompted(tiny: Callable[..., Any], tmp_path: Path) -> Path:
    """A saved encoder that wants words before queries and passages."""
    encoder = tiny()
    encoder.prompts = {"query": "find: ", "document": "text: "}
    save_encoder(encoder, tmp_path / "prompted")
    return tmp_path / "prompted"


def test_prompts_come_from_the_files_then_the_family(prompted: Path, tmp_path: Path) -> None:
    assert prompts_of(prompted, "x/e5-base") == ("find: ", "text: ")
    assert prompts_of(tmp_path, "intfloat/e5-base-v2") == ("query: ", "passage: ")
    assert prompts_of(tmp_path, "BAAI/bge-small-en-v1.5")[0].startswith("Represent this sentence")
    assert prompts_of(tmp_path, "sentence-transformers/all-MiniLM-L6-v2") == ("", "")


def test_queries_and_passages_are_encoded_as_the_library_does(prompted: Path) -> None:
    own = TextEncoder.load(str(prompted))
    texts = ["the old baker", "some bread near the river"]
    library = own.model
    kind: dict[str, Any] = {"normalize_embeddings": True, "show_progress_bar": False}
    assert np.allclose(own.queries(texts), library.encode_query(texts, **kind), atol=1e-5)
    assert np.allclose(own.documents(texts), library.encode_document(texts, **kind), atol=1e-5)
    known = TextEncoder.known(own.to_dict())
    assert np.allclose(known.queries(texts), own.queries(texts), atol=1e-4)
    assert "model" not in known.__dict__, "a few queries need no library"
    given = TextEncoder.load(str(prompted), query_prompt="")
    assert given.facts.query_prompt == "" and given.facts.document_prompt == "text: "


def test_a_search_by_a_model_of_our_own_imports_no_torch(prompted: Path, tmp_path: Path) -> None:
    Index.build(["the old baker", "a young pilot"], tmp_path / "ix", model=str(prompted))
    program = (
        "import sys, mirrormask; hits = mirrormask.Index.open(sys.argv[1]).search('a pilot'); "
        "print([hit.id for hit in hits], sorted({'torch', 'transformers', 'scipy', 'sklearn'} & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "ix")], capture_output=True, text=True, check=True
    )
    found, slow = json.loads(f"[{ran.stdout.replace('] [', '],[')}]".replace("'", '"'))
    assert sorted(found) == ["0", "1"] and slow == []


def test_a_cross_encoder_orders_hits_anew(tiny_folder: Path, tmp_path: Path) -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    for labels in (1, 3):
        model = AutoModelForSequenceClassification.from_pretrained(tiny_folder, num_labels=labels, dtype="float32")
        model.save_pretrained(tmp_path / f"cross{labels}")
        AutoTokenizer.from_pretrained(tiny_folder).save_pretrained(tmp_path / f"cross{labels}")
    hits = [Hit(str(n), 1.0 - n, text, (0, 1)) for n, text in enumerate(["the old baker", "some bread", "a gray cat"])]
    cross = Reranker(str(tmp_path / "cross1"))
    ordered = cross.reordered("bread", hits)
    scores = cross.model.predict([("bread", hit.passage) for hit in hits])
    assert [hit.id for hit in ordered] == [str(n) for n in np.argsort(-scores)]
    assert [hit.score for hit in ordered] == sorted(scores.tolist(), reverse=True)
    assert cross.reordered("bread", []) == []
    with pytest.raises(ModelError, match="gives 3 numbers for a query and a passage"):
        Reranker(str(tmp_path / "cross3")).reordered("bread", hits)


def test_many_passages_are_encoded_by_the_quickest_backend(
    tiny_folder: Path, sentences: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from mirrormask.exporting import quickest

    there = quickest.importlib.util.find_spec
    monkeypatch.setattr(quickest.importlib.util, "find_spec", lambda name: None if name == "openvino" else there(name))
    monkeypatch.setattr(quickest, "FASTER", 0.0)
    encoder = TextEncoder.load(str(tiny_folder)).fitted(sentences[:100])
    before = encoder.documents(sentences[:20])
    assert encoder.quickened(sentences.__getitem__, range(50)).startswith("torch, ")
    monkeypatch.setattr(quickest, "ENOUGH", 50)
    assert encoder.quickened(sentences.__getitem__, range(50)).startswith("onnx, ")
    assert encoder.pooled is not encoder.model
    np.testing.assert_allclose(encoder.documents(sentences[:20]), before, atol=1e-4)
