from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file

from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.data.tasks.classified import Classified
from mirrormask.heads.classifier import Classifier
from mirrormask.runs.classify import Classification, classify
from mirrormask.training.loop import Reporter

WORDS = {"boat": "water", "clock": "time", "apples": "food"}


@pytest.fixture(scope="session")
def labelled(sentences: list[str]) -> Classified:
    """Sentences of three classes, told by one word."""
    rows = [(text, label) for text in sentences for word, label in WORDS.items() if word in text]
    return Classified("the test", tuple(text for text, _ in rows), tuple((label,) for _, label in rows))


class Notes(Reporter):
    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)


def run(data: Any, out: Path, model: Path, *, training: dict[str, Any] | None = None, **options: Any) -> Any:
    how = Classification(model=str(model), **options.pop("how", {}))
    settings = {"steps": 12, "batch_size": 16, "learning_rate": 3e-3, "precision": "fp32", **(training or {})}
    return classify(data, out=out, how=how, training=settings, **options)


@pytest.mark.parametrize("objective", ["cross-entropy", "sup-con", "lcl", "contrast"])
def test_every_objective_learns_what_a_word_tells(
    labelled: Classified, tiny_folder: Path, tmp_path: Path, objective: str
) -> None:
    how = {"objective": objective, "held_out": 0.3, "head_rate": 3.0, "contrast": None}
    if objective == "sup-con":
        how["contrast"] = 0.3
    done = run(labelled, tmp_path / "run", tiny_folder, how=how, training={"steps": 40})
    record = done.record
    assert record["classify"]["labels"] == ["food", "time", "water"]
    assert record["result"]["best_score"] > 75
    assert record["calibration"]["calibration_error"] < 0.35
    opened = Classifier.load(tmp_path / "run", device="cpu")
    right = [each.labels == label for each, label in zip(opened.predict(labelled.texts), labelled.labels, strict=True)]
    assert np.mean(right) > 0.75
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"model", "run.json", "metrics.jsonl"}
    assert json.loads((done.model / "classifier.json").read_text())["temperature"] == opened.temperature
    assert Classifier.load(tmp_path / "run").encoder.get_embedding_dimension() == 32


def test_a_stopped_run_goes_on_to_the_same_weights(labelled: Classified, tiny_folder: Path, tmp_path: Path) -> None:
    class Killed(Exception):
        pass

    class Killer(Reporter):
        def step(self, step: int, metrics: dict[str, float]) -> None:
            if step == 7:
                raise Killed

    how = {"objective": "lcl", "augment": "synonyms"}
    training = {"checkpoint_every": 3, "evaluate_every": 3}
    run(labelled, tmp_path / "whole", tiny_folder, how=how, training=training)
    with pytest.raises(Killed):
        run(labelled, tmp_path / "cut", tiny_folder, how=how, training=training, reporter=Killer())
    with pytest.raises(MirrormaskError, match="holds an unfinished run"):
        run(labelled, tmp_path / "cut", tiny_folder, how=how, training=training)
    run(labelled, tmp_path / "cut", tiny_folder, how=how, training=training, resume=True)
    for name in ("classifier.safetensors", "model.safetensors"):
        one, two = (load_file(tmp_path / each / "model" / name) for each in ("whole", "cut"))
        assert all(np.array_equal(one[key], two[key]) for key in one), name


def test_another_data_does_not_resume(labelled: Classified, tiny_folder: Path, tmp_path: Path) -> None:
    class Stop(Reporter):
        def step(self, step: int, metrics: dict[str, float]) -> None:
            if step == 7:
                raise KeyboardInterrupt

    training = {"checkpoint_every": 3}
    with pytest.raises(KeyboardInterrupt):
        run(labelled, tmp_path / "run", tiny_folder, training=training, reporter=Stop())
    other = labelled.take(range(len(labelled) - 1))
    with pytest.raises(MirrormaskError, match="checkpoint"):
        run(other, tmp_path / "run", tiny_folder, training=training, resume=True)


def test_few_labels_take_contrast_and_are_told_so(labelled: Classified, tiny_folder: Path, tmp_path: Path) -> None:
    notes = Notes()
    done = run(labelled.take(range(24)), tmp_path / "run", tiny_folder, reporter=notes, training={"max_length": 20})
    said = " ".join(notes.said)
    assert done.record["classify"]["objective"] == "contrast"
    assert "8 texts a class: the objective is contrast" in said and "Too few labels to set some aside" in said
    assert done.record["calibration"] is None and done.record["selection"]["by"] == "last"
    opened = Classifier.load(tmp_path / "run")
    assert opened.unit and opened.max_length == 20 and opened.encoder.max_seq_length == 64, "the encoder reads on"


def test_a_dev_set_and_a_subset_of_classes(labelled: Classified, tiny_folder: Path, tmp_path: Path) -> None:
    how = {"classes": "water,food", "objective": "cross-entropy"}
    done = run(labelled, tmp_path / "run", tiny_folder, how=how, dev=labelled.take(range(40)))
    assert done.record["classify"]["labels"] == ["food", "water"]
    kept = sum(label != ("time",) for label in labelled.labels)
    assert done.record["data"]["texts"] == kept
    assert done.record["data"]["aside"] == sum(label != ("time",) for label in labelled.labels[:40])


def test_a_dev_set_of_other_labels(labelled: Classified, tiny_folder: Path, tmp_path: Path) -> None:
    notes = Notes()
    other = Classified("dev.csv", (*labelled.texts[:30], "a storm"), (*labelled.labels[:30], ("weather",)))
    done = run(labelled, tmp_path / "run", tiny_folder, dev=other, reporter=notes)
    assert done.record["data"]["aside"] == 30
    assert "1 row of dev.csv with a label that is not trained on left out." in notes.said
    with pytest.raises(DataError, match="No row of dev.csv has a label that is trained on"):
        run(labelled, tmp_path / "other", tiny_folder, dev=other.take([30]))


def test_several_labels_a_text(labelled: Classified, tiny_folder: Path, tmp_path: Path) -> None:
    labels = tuple(
        (*each, "garden") if "garden" in text else each
        for text, each in zip(labelled.texts, labelled.labels, strict=True)
    )
    data = Classified("the test", labelled.texts, labels, several=True)
    done = run(
        data,
        tmp_path / "run",
        tiny_folder,
        how={"held_out": 0.3, "objective": "sup-con", "contrast": 0.2, "head_rate": 3.0},
        training={"steps": 40},
    )
    opened = Classifier.load(tmp_path / "run")
    assert opened.several and opened.always and opened.labels == ("food", "garden", "time", "water")
    assert done.record["calibration"]["threshold"] == opened.threshold
    assert all(each.labels for each in opened.predict(labelled.texts[:20]))


def test_a_class_with_one_text_is_told_and_kept(labelled: Classified, tiny_folder: Path, tmp_path: Path) -> None:
    notes = Notes()
    lone = Classified("the test", (*labelled.texts, "a lone storm"), (*labelled.labels, ("weather",)))
    done = run(lone, tmp_path / "run", tiny_folder, reporter=notes, how={"objective": "sup-con"})
    assert any("A single text is little to learn a class from: 'weather'" in text for text in notes.said)
    assert "weather" in done.record["classify"]["labels"]
    assert all(np.isfinite(row["loss"]) for row in done.record["result"]["history"])


def test_one_class_is_refused(labelled: Classified, tiny_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="at least two classes"):
        run(labelled.of_classes(["water"]), tmp_path / "run", tiny_folder)


@pytest.mark.parametrize("rows", [4, 50])
def test_a_column_of_ids_is_refused(sentences: list[str], tiny_folder: Path, tmp_path: Path, rows: int) -> None:
    data = Classified("ids.csv", tuple(sentences[:rows]), tuple((f"row {number}",) for number in range(rows)))
    with pytest.raises(DataError, match=f"ids.csv has {rows} different labels in {rows} rows, which is no set of"):
        run(data, tmp_path / "run", tiny_folder)


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"objective": "ce"}, "'objective' of classification must be one of auto, cross-entropy"),
        ({"augment": "gaussian-noise"}, "does not rewrite text. Take one of: none, .*synonyms"),
        ({"augment": "synonymes"}, "Did you mean 'synonyms'"),
        ({"lexicon": "words.csv"}, "belongs to --augment synonyms"),
        ({"objective": "contrast", "head": "mlp"}, "contrast has a linear head"),
        ({"held_out": 1.0}, "'held_out' of classification"),
    ],
)
def test_what_cannot_be_is_said(
    labelled: Classified, tiny_folder: Path, tmp_path: Path, how: dict[str, Any], says: str
) -> None:
    with pytest.raises(MirrormaskError, match=says):
        run(labelled, tmp_path / "run", tiny_folder, how=how)
