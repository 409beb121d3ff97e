"""The page of the probing results comes from runs, and the runs from small sets written here."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import probing_runs
import pytest
from probing_page import page
from probing_runs import Sizes, run_all, write_page
from probing_trees import best_setting

from mirrormask.core.errors import MirrormaskError

CONLLU = """\
1	the	_	DET	_	_	3	det	_	_
2	old	_	ADJ	_	_	3	amod	_	_
3	baker	_	NOUN	_	_	4	nsubj	_	_
4	paints	_	VERB	_	_	0	root	_	_
5	boats	_	NOUN	_	_	4	obj	_	_
6	.	_	PUNCT	_	_	4	punct	_	_

1	my	_	PRON	_	_	2	nmod	_	_
2	neighbor	_	NOUN	_	_	3	nsubj	_	_
3	finds	_	VERB	_	_	0	root	_	_
4	some	_	DET	_	_	5	det	_	_
5	bread	_	NOUN	_	_	3	obj	_	_

"""
CONLL = "the\tDT\t2\nbaker\tNN\t3\npaints\tVBZ\t0\n.\t.\t3\n\n" * 3
TREES = "( (S (NP-SBJ (DT the) (JJ old) (NN baker)) (VP (VBZ paints) (NP (DT a) (NN boat))) (. .)) )\n" * 4
GOLD = "今天  下雨  了  ，  猫  睡觉  。\n我们  在  家  看书\n"
UNITS = [("ROOT", -1), ("when it rains ,", 2), ("the cat sleeps", 0), ("near the river .", 2)]
SMALL = Sizes(dev=2, sentences=2, documents=1, lines=2, judgements=6, treebank=4, seeds=2)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "data"
    banks = root / "treebanks"
    banks.mkdir(parents=True)
    for name, text in (
        ("en_ewt_dev.conllu.gz", CONLLU * 3),
        ("en_pud.conllu.gz", CONLLU * 2),
        ("wsj_sample.conll.gz", CONLL),
        ("wsj_sample.trees.gz", TREES),
    ):
        (banks / name).write_bytes(gzip.compress(text.encode()))
    units = [{"id": i, "parent": p, "text": t, "relation": ""} for i, (t, p) in enumerate(UNITS)]
    for split in ("dev", "test"):
        (root / "scidtb" / split / "gold").mkdir(parents=True)
        (root / "scidtb" / split / "gold" / "a.dep").write_text(json.dumps({"root": units}))
    (root / "zh" / "sighan").mkdir(parents=True)
    (root / "zh" / "sighan" / "sighan2005_pku_test_gold.utf8").write_text(GOLD, encoding="utf-8")
    for name in ("laptop", "restaurant"):
        (root / "absa" / name).mkdir(parents=True)
        for split in ("train", "test"):
            rows = [{"text": "the $T$ was warm", "aspect": "bread", "polarity": p} for p in (-1, 0, 1)] * 2
            (root / "absa" / name / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setenv("MIRRORMASK_DATA", str(root))
    return root


@pytest.mark.filterwarnings("ignore::mirrormask.core.unknown.UnknownTokens")  # a tiny vocabulary
def test_from_sets_to_the_page(root: Path, tiny_folder: Path, tmp_path: Path) -> None:
    said: list[str] = []
    options: dict[str, Any] = {"sizes": SMALL, "examples": ["今天下雨"], "precision": "fp32", "device": "cpu"}
    options |= {"model": str(tiny_folder), "zh_model": str(tiny_folder), "say": said.append}
    runs = run_all(tmp_path / "runs", **options)
    assert len(said) == len(runs) == 10
    assert set(runs["dependency-pud"]["layers"]["eisner"]) == {"1", "2", "3"}
    assert {"probability", "random weights", "baselines", "seconds"} <= set(runs["dependency-pud"])
    out = tmp_path / "docs" / "probing.md"
    write_page(runs, out, model="tiny")
    text = out.read_text(encoding="utf-8")
    for number in range(1, 6):
        assert f"## Table {number}" in text
    assert "| right-chain |" in text and "## Word segmentation" in text and "nan" not in text
    assert f"{runs['dependency-pud']['baselines']['right-chain']['all']['uas_percent']:.1f}" in text
    assert (out.parent / "probing-layers.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert str(tmp_path) not in text.replace(f"model `{tiny_folder}`", "")

    said.clear()
    assert run_all(tmp_path / "runs", **options) == runs and said == []  # what is there is not measured again
    (tmp_path / "runs" / "discourse-test.json").unlink()
    run_all(tmp_path / "runs", **options)
    assert said == ["measuring discourse-test"]


def test_runs_of_other_settings_are_measured_again(
    root: Path, tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    measure: Callable[..., dict[str, Any]] = lambda *_, **__: {"seconds": 1.0, "layers": {}}  # noqa: E731
    monkeypatch.setattr(probing_runs, "_segmentation", measure)
    for lines in (1, 1, 2):
        run_all(
            tmp_path,
            model=str(tiny_folder),
            zh_model="zh",
            sizes=Sizes(lines=lines),
            tasks=["segmentation"],
            device="cpu",
            say=said.append,
        )
    assert said == ["measuring segmentation-pku"] * 2


def test_the_setting_is_the_best_of_the_development_part() -> None:
    run = {
        "layers": {
            "a": {"1": {"all": {"uuas_percent": 3.0}}, "2": {"all": {"uuas_percent": 5.0}}},
            "b": {"1": {"all": {"uuas_percent": 9.0}}, "2": {"all": {"uuas_percent": 1.0}}},
        }
    }
    assert best_setting(run, "uuas_percent", subset="all", among=("a", "b"))["layer"] == 1
    assert best_setting(run, "uuas_percent", subset="all", among=("a",)) == {
        "parser": "a",
        "layer": 2,
        "uuas_percent": 5.0,
    }


def test_a_page_without_runs_has_no_tables() -> None:
    text = page({}, model="mini")
    assert text.startswith("# Probing: results") and "## Table" not in text


def test_missing_sets_are_named(tmp_path: Path, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIRRORMASK_DATA", str(tmp_path))
    with pytest.raises(MirrormaskError, match=r"treebanks/en_ewt_dev.conllu.gz is under no root in MIRRORMASK_DATA."):
        run_all(tmp_path / "runs", model=str(tiny_folder), tasks=["dependency"], device="cpu")
