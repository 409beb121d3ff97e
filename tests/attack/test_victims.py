from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mirrormask.attack.victims import Victim, open_victim
from mirrormask.core.errors import MirrormaskError, ModelError


def returning(value: Any) -> Victim:
    return Victim(lambda texts: value, name="mine")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([[2.0, -1.0]], "mine returns \\[2.0, -1.0\\] for a text, which are no probabilities.*apply a softmax first"),
        ([[0.9, 0.9]], "do not add up to 1"),
        ([0.5], "mine returns an array of shape \\(1,\\) for 1 texts"),
        ([[0.5, 0.5], [0.5, 0.5]], "of shape \\(2, 2\\) for 1 texts"),
        ([[1.0]], "at least two probabilities"),
        ([[float("nan"), 1.0]], "mine returns NaN or infinity"),
        (None, "mine returns"),
        ([["good", "bad"]], "mine returns list and no numbers"),
    ],
)
def test_what_is_no_probabilities_is_refused(value: Any, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        returning(value)(["a text"])


def test_a_classifier_that_raises_is_one_sentence() -> None:
    def broken(texts: list[str]) -> Any:
        raise KeyError("no such word")

    with pytest.raises(ModelError, match=r"mine failed on 1 texts \(KeyError: 'no such word'\). Mend it"):
        Victim(broken, name="mine")(["a text"])


def test_probabilities_of_any_kind_are_taken() -> None:
    for value in ([[0.25, 0.75]], np.array([[0.25, 0.75]], np.float16), torch.tensor([[0.25, 0.75]])):
        assert returning(value)(["a text"]).tolist() == [[0.25, 0.75]]


def test_the_number_of_classes_stays() -> None:
    answers = iter(([[0.5, 0.5]], [[0.2, 0.3, 0.5]]))
    victim = Victim(lambda texts: next(answers), name="mine")
    assert victim.classes == 2
    with pytest.raises(ModelError, match="mine returns 3 classes where it had 2 before"):
        victim(["a text"])


def test_labels_are_names_or_numbers() -> None:
    named = Victim(lambda texts: [[0.5, 0.5]] * len(texts), name="mine", labels=("bad", "good"))
    assert [named.label_of(each) for each in ("good", "bad", "1")] == [1, 0, 1]
    numbered = Victim(lambda texts: [[0.5, 0.5]] * len(texts), name="mine", labels=("1", "2"))
    assert numbered.label_of("2") == 1
    for victim, label in ((named, "fine"), (named, "2"), (numbered, "0"), (returning([[0.5, 0.5]]), "2")):
        with pytest.raises(MirrormaskError, match=f"The label '{label}' is none of mine, which has 2 classes"):
            victim.label_of(label)


def test_a_pipeline_by_its_import_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_pipeline_module.py").write_text(
        "from sklearn.feature_extraction.text import CountVectorizer\n"
        "from sklearn.linear_model import LogisticRegression\n"
        "from sklearn.pipeline import make_pipeline\n"
        "texts, labels = ['a dull film', 'a lovely film'] * 5, ['bad', 'good'] * 5\n"
        "pipeline = make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, labels)\n"
        "number = 3\n"
    )
    monkeypatch.chdir(tmp_path)
    try:
        victim = open_victim("my_pipeline_module:pipeline")
        assert victim.labels == ("bad", "good")
        assert victim(["lovely", "dull"]).argmax(axis=1).tolist() == [1, 0]
        with pytest.raises(ModelError, match="is int and no classifier"):
            open_victim("my_pipeline_module:number")
        with pytest.raises(ModelError, match="my_pipeline_module:nothing could not be imported \\(AttributeError"):
            open_victim("my_pipeline_module:nothing")
    finally:
        sys.modules.pop("my_pipeline_module", None)
    with pytest.raises(ModelError, match="no_such_module:x could not be imported"):
        open_victim("no_such_module:x")


def test_a_pickle_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "model.pkl").write_bytes(b"cos\nsystem\n")
    with pytest.raises(ModelError, match="is a pickle, which can run any code"):
        open_victim(tmp_path / "model.pkl")


def test_a_masked_lm_is_no_classifier(tiny_folder: Path) -> None:
    with pytest.raises(ModelError, match="is no classifier of texts.*mirrormask train-victim"):
        open_victim(tiny_folder)


def test_a_sequence_classifier_answers_as_the_library_does(tiny_folder: Path, tmp_path: Path) -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    torch.manual_seed(0)
    model = AutoModelForSequenceClassification.from_pretrained(tiny_folder, num_labels=3, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(tiny_folder)
    model.save_pretrained(tmp_path / "three")
    tokenizer.save_pretrained(tmp_path / "three")
    texts = ["the old baker finds some bread.", "a boat", "the gray cat " * 60]
    victim = open_victim(tmp_path / "three")
    assert victim.labels == ("0", "1", "2")
    found = victim(texts)
    for text, row in zip(texts, found, strict=True):
        inputs = tokenizer(text, truncation=True, max_length=64, return_tensors="pt")
        with torch.no_grad():
            expected = model.eval()(**inputs).logits.softmax(-1)[0]
        assert row == pytest.approx(expected.numpy(), abs=1e-5)


def test_a_classifier_of_ours_answers_as_it_predicts(tiny_folder: Path, tmp_path: Path) -> None:
    from mirrormask.heads.classifier import Classifier
    from mirrormask.models.encoder import load

    torch.manual_seed(0)
    own = Classifier(load(tiny_folder), ["bad", "good"]).eval()
    own.save(tmp_path / "own")
    victim = open_victim(tmp_path / "own")
    texts = ["the old baker finds some bread.", "a boat"]
    assert victim.labels == ("bad", "good")
    assert victim(texts) == pytest.approx(own.probabilities(texts), abs=1e-5)
    Classifier(load(tiny_folder), ["bad", "good"], several=True).save(tmp_path / "several")
    with pytest.raises(ModelError, match="gives a text several classes"):
        open_victim(tmp_path / "several")
