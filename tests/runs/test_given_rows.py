from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import mirrormask
from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.runs.given_rows import Given, given_for, given_rows
from mirrormask.training.loop import Reporter


def file_of(tmp_path: Path, *columns: str, rows: int = 3, name: str = "rows.csv") -> str:
    path = tmp_path / name
    lines = [",".join(f"a {column} of number {row}" for column in columns) for row in range(rows)]
    path.write_text("\n".join([",".join(columns), *lines]) + "\n")
    return str(path)


@pytest.mark.parametrize(
    ("columns", "kind", "method", "read"),
    [
        (("text",), "texts", "", ()),
        (("id", "body", "stars"), "texts", "", ()),
        (("sent0", "sent1"), "pairs", "given-pairs", ("sent0", "sent1")),
        (("id", "Question", "Answer"), "pairs", "given-pairs", ("Question", "Answer")),
        (("sent0", "sent1", "hard_neg"), "triplets", "given-pairs", ("sent0", "sent1", "hard_neg")),
        (("negative", "positive", "anchor"), "triplets", "given-pairs", ("anchor", "positive", "negative")),
        (("premise", "hypothesis", "label"), "labelled pairs", "given-pairs", ("premise", "hypothesis", "label")),
        (("review", "sentiment"), "labelled texts", "given-classes", ("review", "sentiment")),
    ],
)
def test_columns_tell_what_the_rows_are(
    tmp_path: Path, columns: tuple[str, ...], kind: str, method: str, read: tuple[str, ...]
) -> None:
    found = given_rows(file_of(tmp_path, *columns))
    assert (found.kind, found.method, found.columns) == (kind, method, read)
    assert (found.said == "") is (kind == "texts")
    assert found.pairing == ({"name": "inference", "fill": True} if kind == "labelled pairs" else {})


def test_named_columns_and_python_rows() -> None:
    assert given_rows("no matter", ["headline", "story"]).kind == "pairs"
    assert given_rows("no matter", ["a", "b", "c"]).kind == "triplets"
    assert given_rows("no matter", ["story", "category"]).kind == "labelled texts"
    assert given_rows("no matter", ["a", "b", "label"]).kind == "labelled pairs"
    assert given_rows("no matter", ["text"]) == Given(columns=("text",)), "one column is that text alone"
    assert given_rows([("a", "b", "c")]).kind == "triplets"
    assert given_rows(["a text", "another"]) == given_rows(iter([])) == given_rows("-") == Given()


def test_a_pair_with_a_score_or_a_label_is_not_taken_for_a_positive(tmp_path: Path) -> None:
    for beside in ("score", "label"):
        with pytest.raises(DataError, match=rf"has pairs \(question1, question2\) and a column '{beside}' beside"):
            given_rows(file_of(tmp_path, "question1", "question2", beside))


def test_what_is_asked_for_decides(tmp_path: Path) -> None:
    labelled, paired = file_of(tmp_path, "text", "label"), file_of(tmp_path, "sent0", "sent1", name="pairs.csv")
    assert given_for(labelled, method="simcse-unsup") == Given(method="simcse-unsup")
    assert given_for(labelled, pairing="crops") == Given()
    assert given_for(paired, method="supervised-simcse").columns == ("sent0", "sent1")
    assert given_for(labelled, method="supervised-simcse") == Given(method="supervised-simcse"), "no pairs"
    assert given_for(labelled).method == given_for(labelled, method="given-classes").method == "given-classes"


class Said(Reporter):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, message: str) -> None:
        self.lines.append(message)


SHORT: dict[str, Any] = {"steps": 2, "batch_size": 8, "precision": "fp32"}


def test_train_learns_from_each_kind_and_says_so(tmp_path: Path, tiny_folder: Path, sentences: list[str]) -> None:
    a, b, c = sentences[:40], sentences[40:80], sentences[80:120]
    kinds: dict[str, list[dict[str, Any]]] = {
        "triplets": [{"sent0": x, "sent1": y, "hard_neg": z} for x, y, z in zip(a, b, c, strict=True)],
        "labelled texts": [{"text": x, "label": n % 3} for n, x in enumerate(a)],
        "labelled pairs": [
            {"premise": x, "hypothesis": y, "label": label}
            for x, follows, contradicts in zip(a, b, c, strict=True)
            for y, label in ((follows, "entailment"), (contradicts, "contradiction"))
        ],
    }
    for kind, rows in kinds.items():
        path = tmp_path / f"{kind.replace(' ', '-')}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        said = Said()
        run = mirrormask.train(path, out=tmp_path / path.stem, model=tiny_folder, training=SHORT, reporter=said)
        assert said.lines[0].startswith(f"The rows are {kind} ("), said.lines[0]
        assert run.record["parts"]["pairing"]["type"] == {
            "labelled texts": "Classes",
            "labelled pairs": "Inference",
        }.get(kind, "Columns")
        assert run.record["result"]["steps"] == 2


def test_rows_that_cannot_be_learned_from(tmp_path: Path, tiny_folder: Path, sentences: list[str]) -> None:
    options: dict[str, Any] = {"model": tiny_folder, "training": SHORT}
    one = tmp_path / "one.csv"
    one.write_text("text,label\n" + "".join(f"{text},same\n" for text in sentences[:20]))
    with pytest.raises(MirrormaskError, match="All 20 texts have the label 'same'"):
        mirrormask.train(one, out=tmp_path / "a", **options)
    gap = tmp_path / "gap.csv"
    gap.write_text("sent0,sent1\n" + "".join(f"{text},\n" for text in sentences[:20]))
    with pytest.raises(MirrormaskError, match="leaves no text to train on"):
        mirrormask.train(gap, out=tmp_path / "b", **options)
    with pytest.raises(MirrormaskError, match=r"has no column 'sent2'\. Did you mean 'sent"):
        mirrormask.train(gap, out=tmp_path / "c", data={"columns": ["sent0", "sent2"]}, **options)


def test_methods_that_learn_what_is_known_about_a_pair_find_it(tmp_path: Path) -> None:
    inference = file_of(tmp_path, "id", "premise", "hypothesis", "label")
    found = given_for(inference, method="sentence-bert-classification")
    assert (found.columns, found.pairing) == (("premise", "hypothesis", "label"), {})
    scored = file_of(tmp_path, "sentence1", "sentence2", "Score")
    found = given_for(scored, method="sentence-bert-regression")
    assert found.columns == ("sentence1", "sentence2", "Score")
    assert found.said.startswith("The rows are labelled pairs (sentence1, sentence2, Score), so the method is")
    for method in ("sentence-bert-classification", "sentence-bert-regression"):
        assert given_for(scored, ["a", "b", "c"], method=method) == Given(columns=("a", "b", "c"), method=method)
        assert given_for(file_of(tmp_path, "text"), method=method) == Given(method=method)
    triplets = file_of(tmp_path, "sent0", "sent1", "hard_neg")
    assert given_for(triplets, method="sentence-bert-triplet").kind == "triplets"
