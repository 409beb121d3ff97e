from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from mirrormask.attack.labeled_texts import LabeledTexts, read_labeled
from mirrormask.attack.victim_training import VICTIMS, normalized, train_victim
from mirrormask.attack.victims import open_victim
from mirrormask.attack.word_classifiers import WORD_KINDS, WordClassifier
from mirrormask.core.errors import DataError, MirrormaskError, ModelError


@pytest.mark.parametrize("kind", WORD_KINDS)
def test_a_text_is_answered_the_same_in_any_company(kind: str) -> None:
    torch.manual_seed(0)
    model = WordClassifier(kind, ["good", "film", "a"], ["x", "y"], width=8).eval()
    texts = ["a good film", "good", "", "a film " * 30, "unknown words only", "a good film!"]
    together = model.probabilities(texts)
    alone = np.concatenate([model.probabilities([text]) for text in texts])
    assert together == pytest.approx(alone, abs=1e-5)


@pytest.mark.parametrize("kind", WORD_KINDS)
def test_a_saved_classifier_answers_as_before(kind: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = WordClassifier(kind, ["good", "film"], ["x", "y", "z"], width=8).eval()
    model.save(tmp_path)
    victim = open_victim(tmp_path)
    assert victim.labels == ("x", "y", "z")
    assert victim(["a good film"]) == pytest.approx(model.probabilities(["a good film"]), abs=1e-6)
    (tmp_path / "word_classifier.safetensors").write_bytes(b"nothing")
    with pytest.raises(ModelError, match="could not be read as a model"):
        open_victim(tmp_path)


@pytest.mark.parametrize("kind", VICTIMS)
def test_a_victim_learns(kind: str, reviews: LabeledTexts, tiny_folder: Path, tmp_path: Path) -> None:
    found = train_victim(reviews, tmp_path / kind, kind=kind, model=tiny_folder, epochs=1, batch_size=8)
    assert found.texts == 54 and found.left_out == 0
    assert found.victim.labels == ("bad", "good")
    answers = open_victim(tmp_path / kind)(reviews.texts)
    assert answers == pytest.approx(found.victim(reviews.texts), abs=1e-6)
    assert sorted(path.name for path in tmp_path.iterdir()) == [kind]


def test_words_are_learned(reviews: LabeledTexts, tiny_folder: Path, tmp_path: Path) -> None:
    found = train_victim(reviews, tmp_path / "v", model=tiny_folder, epochs=8, batch_size=8, learning_rate=0.01)
    wanted = [found.victim.label_of(label) for label in reviews.labels]
    assert (found.victim(reviews.texts).argmax(axis=1) == wanted).mean() > 0.9
    again = train_victim(reviews, tmp_path / "w", model=tiny_folder, epochs=8, batch_size=8, learning_rate=0.01)
    assert np.array_equal(found.victim(reviews.texts), again.victim(reviews.texts)), "the seed decides"


def test_what_is_attacked_is_not_learned(reviews: LabeledTexts, tiny_folder: Path, tmp_path: Path) -> None:
    copies = [f"{text.replace(' ', '  ').upper()} !" for text in reviews.texts[:20]]
    found = train_victim(reviews, tmp_path / "v", model=tiny_folder, epochs=1, apart_from=copies)
    assert (found.left_out, found.texts) == (20, 36)
    with pytest.raises(DataError, match="has 0 texts to learn from, and at least 10 of two classes are needed"):
        train_victim(reviews, tmp_path / "none", model=tiny_folder, apart_from=reviews.texts)
    assert not (tmp_path / "none").exists()


def test_copies_are_known_however_they_are_written() -> None:
    assert normalized("It 's <br /><br />good , isn't it ?") == normalized("It's good, isn't it?")
    assert normalized("good") != normalized("bad")


def test_wrong_values_are_refused(reviews: LabeledTexts, tmp_path: Path) -> None:
    for wrong, said in (({"kind": "svm"}, "'kind'"), ({"epochs": -1.0}, "'epochs'"), ({"batch_size": 0}, "batch_size")):
        with pytest.raises(MirrormaskError, match=said):
            train_victim(reviews, tmp_path / "v", **wrong)  # type: ignore[arg-type]


def test_labeled_files(tmp_path: Path, review_file: Path) -> None:
    found = read_labeled(review_file)
    assert len(found) == 60 and found.names == ["bad", "good"]
    assert LabeledTexts("", ["a"] * 3, ["10", "9", "x"]).names == ["9", "10", "x"]
    some = found.sample(10, 1)
    assert len(some) == 10 and some.texts == found.sample(10, 1).texts != found.sample(10, 2).texts
    assert found.sample(100, 1) is found

    def written(text: str) -> Path:
        path = tmp_path / "t.csv"
        path.write_text(text, encoding="utf-8")
        return path

    for text, said in (
        ("text,label\n,x\n", "row 1: 'text' must be a text that is not empty"),
        ("text,label\na,\n", "row 1: 'label' must be a label that is not empty"),
        ("words,label\na,x\n", "none of them is plainly the text. Name it with --text-column"),
    ):
        with pytest.raises(DataError, match=said):
            read_labeled(written(text))
    assert read_labeled(written("words,y\na,1\n"), text="words", label="y").labels == ["1"]
    (tmp_path / "t.jsonl").write_text('{"text": "a", "label": ["x", "y"]}\n')
    with pytest.raises(DataError, match="row 1, has 2 labels"):
        read_labeled(tmp_path / "t.jsonl")


def test_reading_is_any_format(tmp_path: Path, write: Callable[[Path, str], int] = Path.write_text) -> None:
    write(tmp_path / "t.jsonl", '{"sentence": "a", "class": 1}\n{"sentence": "b", "class": 2.0}\n')
    assert read_labeled(tmp_path / "t.jsonl").labels == ["1", "2"]
