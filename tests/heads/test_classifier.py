from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from mirrormask.core.errors import MirrormaskError, ModelError
from mirrormask.heads.classifier import Classifier

Tiny = Callable[..., Any]


@pytest.mark.parametrize("head", ["linear", "mlp"])
def test_it_opens_again_as_it_was_and_is_a_sentence_encoder(
    tiny: Tiny, sentences: list[str], tmp_path: Path, head: str
) -> None:
    torch.manual_seed(1)
    made = Classifier(tiny(), ["calm", "glad", "sad"], head=head, unit=True, temperature=1.7).eval()
    made.save(tmp_path / "model", facts={"method": "classify"})
    opened = Classifier.load(tmp_path / "model", device="cpu")
    assert opened.labels == ("calm", "glad", "sad") and opened.temperature == 1.7
    texts = sentences[:9]
    found = opened.probabilities(texts)
    assert np.allclose(found, made.probabilities(texts), atol=1e-6) and np.allclose(found.sum(axis=1), 1)
    plain = SentenceTransformer(str(tmp_path / "model"), device="cpu").encode(texts)
    assert np.allclose(plain, made.encoder.encode(texts), atol=1e-5)
    prediction = opened.predict(texts[:1])[0]
    assert prediction.labels == (opened.labels[found[0].argmax()],)
    assert prediction.probability == pytest.approx(found[0].max())


def test_several_labels(tiny: Tiny, sentences: list[str]) -> None:
    made = Classifier(tiny(), ["calm", "glad", "sad"], several=True, threshold=0.5)
    chances = np.array([[0.6, 0.9, 0.1], [0.1, 0.2, 0.3]])
    assert made.chosen(chances).tolist() == [[1, 1, 0], [0, 0, 1]], "the likeliest in any case"
    made.always = False
    assert made.chosen(chances).tolist() == [[1, 1, 0], [0, 0, 0]]
    made.calibrated = lambda logits: chances  # type: ignore[method-assign]
    assert [each.labels for each in made.predict(sentences[:2])] == [("glad", "calm"), ()]


def test_what_is_no_classifier_is_named(tiny_folder: Path, tiny: Tiny, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is no classifier: it has no classifier.json"):
        Classifier.load(tiny_folder)
    Classifier(tiny(), ["a", "b"]).save(tmp_path / "model")
    facts = tmp_path / "model" / "classifier.json"
    facts.write_text(json.dumps({**json.loads(facts.read_text()), "labels": ["a", "b", "c"]}))
    with pytest.raises(ModelError, match="is damaged"):
        Classifier.load(tmp_path / "model")
    with pytest.raises(MirrormaskError, match="'head' of classification must be one of linear, mlp"):
        Classifier(tiny(), ["a", "b"], head="deep")
