"""`mirrormask probe` as a user runs it, on a sentence and on files, and with everything wrong that can be."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirrormask.probing.constituency import ConstituencyParser

Cli = Callable[..., Any]

SENTENCE = "the old baker paints a wooden boat near the river."
CONLLU = """\
# text = the old baker paints boats .
1\tthe\t_\tDET\t_\t_\t3\tdet\t_\t_
2\told\t_\tADJ\t_\t_\t3\tamod\t_\t_
3\tbaker\t_\tNOUN\t_\t_\t4\tnsubj\t_\t_
4\tpaints\t_\tVERB\t_\t_\t0\troot\t_\t_
5\tboats\t_\tNOUN\t_\t_\t4\tobj\t_\t_
6\t.\t_\tPUNCT\t_\t_\t4\tpunct\t_\t_

1\tsome\t_\tDET\t_\t_\t2\tdet\t_\t_
2\tbread\t_\tNOUN\t_\t_\t0\troot\t_\t_

"""
TREES = """\
(S (NP (DT the) (JJ old) (NN baker)) (VP (VBZ paints) (NP (NNS boats))) (. .))
(S (NP (DT a) (NN pilot)) (VP (VBZ finds) (NP (DT the) (NN letter)) (PP (IN in) (NP (DT the) (NN garden)))))
"""
DISCOURSE = {
    "root": [
        {"id": 0, "parent": -1, "text": "ROOT", "relation": "null"},
        {"id": 1, "parent": 0, "text": "the old baker paints a boat", "relation": "ROOT"},
        {"id": 2, "parent": 1, "text": "before sunrise , <S>", "relation": "temporal"},
        {"id": 3, "parent": 1, "text": "in the garden .", "relation": "elab"},
    ]
}


@pytest.fixture
def probe(cli: Cli, tiny_folder: Path) -> Cli:
    return lambda *arguments: cli("probe", *arguments, "--model", tiny_folder, "--precision", "fp32")


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_sentence_in_the_terminal(probe: Cli) -> None:
    ran = probe(SENTENCE)
    assert ran.code == 0, ran
    assert "Impact" in ran.out and "Dependency tree" in ran.out and "Phrases" in ran.out
    assert ran.out.count("baker") == 3
    assert ran.out.count("(") == ran.out.count(")") == 10


def test_a_sentence_as_json(probe: Cli) -> None:
    found = probe(SENTENCE, "--json", "--layer", "2").json
    assert found["words"][-1] == "." and len(found["words"]) == 11
    assert np.array(found["impact"]).shape == (11, 11)
    assert np.diag(found["impact"]).tolist() == [0.0] * 11
    assert found["heads"].count(-1) == 1
    assert found["spans"][0] == [0, 11] and len(found["spans"]) == 10
    assert found["layer"] == 2


@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<svg"), ("html", b"<!doctype html>")])
def test_pictures(probe: Cli, tmp_path: Path, suffix: str, start: bytes) -> None:
    out = tmp_path / f"probe.{suffix}"
    ran = probe(SENTENCE, "--out", out)
    assert ran.code == 0, ran
    assert f"Picture: {out}" in ran.out
    content = out.read_bytes()
    assert content.startswith(start)
    if suffix != "png":
        assert b"baker" in content and b"http" not in content.replace(b"http://www.w3.org", b"")


@pytest.mark.parametrize("text", ["bread", "some bread", "今天下雨", "a <b> & $x$ (c)"])
@pytest.mark.parametrize("suffix", ["png", "html"])
def test_pictures_of_odd_sentences(probe: Cli, tmp_path: Path, text: str, suffix: str) -> None:
    assert probe(text, "--out", tmp_path / f"probe.{suffix}").code == 0


def test_units_of_a_sentence(probe: Cli) -> None:
    assert probe("my cat's bread.", "--json").json["words"] == ["my", "cat's", "bread", "."]
    assert probe("my cat's bread.", "--json", "--units", "spaces").json["words"] == ["my", "cat's", "bread."]
    assert probe("my cat", "--json", "--units", "characters").json["words"] == list("mycat")


def test_a_long_sentence_does_not_break_the_terminal(probe: Cli) -> None:
    long = " ".join(["bread"] * 50)
    ran = probe(long)
    assert ran.code == 0
    rows = [line for line in ran.out.splitlines() if "bread" in line][:50]
    assert [row.split()[0] for row in rows] == [str(place) for place in range(1, 51)]  # whole, as it is no terminal
    assert {len(row) for row in rows} == {10 + 2 * 50}


@pytest.mark.parametrize("options", [[], ["--faithful"], ["--decoder", "cle", "--root", "found"]])
def test_dependency(probe: Cli, tmp_path: Path, options: list[str]) -> None:
    file = write(tmp_path / "gold.conllu", CONLLU)
    out = tmp_path / "induced.conllu"
    found = probe("dependency", file, "--out", out, "--json", *options).json
    assert found["sentences"] == 2
    assert {"induced", "right-chain", "left-chain", "random"} <= set(found["scores"])
    rows = [line.split("\t") for line in out.read_text().splitlines() if line and not line.startswith("#")]
    assert [row[1] for row in rows] == ["the", "old", "baker", "paints", "boats", ".", "some", "bread"]
    again = probe("dependency", out, "--json", *options).json  # what was written is a treebank
    if "--faithful" not in options:
        assert again["scores"]["induced"]["all"]["uas_percent"] == 100
    ran = probe("dependency", file, *options)
    assert "UUAS" in ran.out and "right-chain" in ran.out and "2 sentences" in ran.out


@pytest.mark.parametrize("options", [[], ["--faithful"]])
def test_constituency(probe: Cli, tmp_path: Path, options: list[str]) -> None:
    file = write(tmp_path / "gold.trees", TREES)
    out = tmp_path / "induced.trees"
    found = probe("constituency", file, "--out", out, "--json", *options).json
    assert {"induced", "right-branching", "left-branching", "random"} <= set(found["scores"])
    assert len(out.read_text().splitlines()) == 2
    assert "right-branching" in probe("constituency", file, *options).out


@pytest.mark.parametrize("options", [[], ["--faithful"]])
def test_discourse(probe: Cli, tmp_path: Path, options: list[str]) -> None:
    file = write(tmp_path / "a.dep", json.dumps(DISCOURSE))
    out = tmp_path / "induced.jsonl"
    found = probe("discourse", tmp_path, "--out", out, "--json", *options).json
    assert found["documents"] == 1
    row = json.loads(out.read_text())
    assert row["name"] == "a.dep" and len(row["heads"]) == 3
    assert "at 0" in probe("discourse", file, *options).out


def test_segment(probe: Cli, tmp_path: Path) -> None:
    text = write(tmp_path / "text.txt", "今天下雨，我们在家。\n\n猫在2024年睡觉。\n")
    gold = write(tmp_path / "gold.txt", "今天  下雨  ，  我们  在  家  。\n\n猫  在  2024  年  睡觉  。\n")
    out = tmp_path / "out.txt"
    ran = probe("segment", text, "--out", out)
    assert ran.code == 0, ran
    lines = out.read_text(encoding="utf-8").splitlines()
    assert ["".join(line.split()) for line in lines] == text.read_text(encoding="utf-8").splitlines()
    assert any("2024" in word for word in lines[2].split())  # a run of digits stays whole
    found = probe("segment", text, "--gold", gold, "--json", "--rule", "otsu").json
    assert {"induced", "single characters", "random boundaries"} <= set(found["scores"])
    tuned = probe("segment", text, "--gold", gold, "--dev", gold, "--json").json
    assert tuned["scores"]["induced"]["f1_percent"] > 0
    fixed = probe("segment", text, "--gold", gold, "--json", "--rule", "fixed", "--value", "0").json
    assert fixed["threshold"] == 0


def test_columns_of_long_sentences_are_numbered_apart(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from mirrormask.cli.output import Output
    from mirrormask.cli.probe_terminal import print_probed
    from mirrormask.probing.impact import Impact
    from mirrormask.probing.probed import Probed

    def shown(words: list[str], width: int, terminal: bool) -> list[str]:
        n = len(words)
        matrix = np.ones((n, n), dtype=np.float32)
        phrases: Any = ConstituencyParser().parse(matrix)
        probed = Probed("mini", tuple(words), Impact(), matrix, np.arange(n) - 1, phrases)
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setenv("FORCE_COLOR", "1" if terminal else "")
        print_probed(Output(), probed)
        return re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).split("Dependency tree")[0].splitlines()[1:-1]

    twelve = shown(["word"] * 11 + ["雨"], 80, True)
    assert twelve[0] == " " * 9 + "                   1 1 1"
    assert twelve[1] == " " * 9 + " 1 2 3 4 5 6 7 8 9 0 1 2"
    assert twelve[2] == "  1 word   " + "█" * 22
    assert twelve[-1] == " 12 雨   " + "█" * 22 + "  "
    narrow = shown(["word"] * 40, 40, True)
    assert max(map(len, narrow)) <= 40 and len(narrow) == 3 * 42  # in three blocks, with every column
    assert sum(line.startswith("  1 word") for line in narrow) == 3
    assert "".join(line.replace(" ", "") for line in narrow[1::42]) == "1234567890" * 4
    redirected = shown(["word"] * 40, 40, False)
    assert len(redirected) == 42 and all(len(line) == 9 + 80 for line in redirected)


def test_the_model_fits_the_language_where_none_is_named(cli: Cli, tmp_path: Path) -> None:
    assert cli("probe", "今天下雨，我们在家。", "--json").json["model"] == "mini-zh"
    assert cli("probe", "the old boat", "--json").json["model"] == "mini"
    ran = cli("probe", "segment", write(tmp_path / "text.txt", "the old boat 下雨\n"))
    assert ran.code == 0 and "Warning: 1 line has spaces between Latin words" in ran.err
    assert f"All lines into a file: mirrormask probe segment {tmp_path / 'text.txt'} --out words.txt" in ran.out


def test_a_label_that_never_occurs_has_no_recall(probe: Cli, tmp_path: Path) -> None:
    file = write(tmp_path / "gold.trees", TREES)
    found = probe("constituency", file, "--json").json["scores"]
    assert all(each["all"]["recall_SBAR_percent"] is None for each in found.values())
    assert all(each["all"]["recall_NP_percent"] is not None for each in found.values())
    ran = probe("constituency", file).out.splitlines()
    assert all(line.endswith("–") for line in ran if "branching" in line)


def test_a_store_is_used_again(probe: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path / "gold.conllu", CONLLU)
    first = probe("dependency", file, "--store", tmp_path / "store", "--json").json
    monkeypatch.setattr("mirrormask.probing.impact._Prober.block", lambda self, block: [][len(block) :])
    assert probe("dependency", file, "--store", tmp_path / "store", "--json").json == first
    ran = probe("dependency", file, "--store", tmp_path / "store", "--layer", "1")
    assert ran.code == 3 and "was begun with another impact" in ran.err


def test_limit(probe: Cli, tmp_path: Path) -> None:
    file = write(tmp_path / "gold.conllu", CONLLU)
    assert probe("dependency", file, "--limit", "1", "--json").json["sentences"] == 1


def test_a_table_says_how_much_its_subset_holds(probe: Cli, tmp_path: Path) -> None:
    file = write(tmp_path / "gold.conllu", CONLLU)
    scores = probe("dependency", file, "--limit", "1", "--json").json["scores"]["induced"]
    told = probe("dependency", file, "--limit", "1").out
    assert "Dependency, 1 sentence, " in told
    for subset, found in scores.items():
        assert f": {subset} ({found['arcs']} arcs)" in " ".join(told.split())


CYCLE = CONLLU.replace("4\tpaints\t_\tVERB\t_\t_\t0", "4\tpaints\t_\tVERB\t_\t_\t3")
HEADLESS = CONLLU.replace("1\tsome\t_\tDET\t_\t_\t2", "1\tsome\t_\tDET\t_\t_\t_")
LONG = "".join(f"{place}\tbread\t_\tX\t_\t_\t{place - 1}\tdep\t_\t_\n" for place in range(1, 81))


@pytest.mark.parametrize(
    ("arguments", "content", "code", "says"),
    [
        (["  "], "", 3, "The sentence is empty"),
        (["dependency"], "", 2, "needs a file: mirrormask probe dependency FILE"),
        (["dependancy", "FILE"], CONLLU, 2, "Did you mean 'dependency'"),
        (["a cat", "--layer", "7"], "", 2, "must be from 0 (embeddings) to 3"),
        (["a cat", "--measure", "distance"], "", 2, "'measure' of impact must be one of"),
        (["a cat", "--decoder", "eisnr"], "", 2, "Did you mean 'eisner'"),
        (["a cat", "--units", "syllables"], "", 2, "'units' of a probe must be one of words, spaces, characters"),
        (["a cat", "--out", "x.gif"], "", 2, "written as .png, .svg, .html"),
        (["bread " * 80], "", 3, "Sentence 1 has 82 tokens in 80 units, and the model reads at most 64"),
        (["dependency", "NONE"], "", 3, "There is no file"),
        (["dependency", "FILE"], CYCLE, 3, "form a cycle"),
        (["dependency", "FILE"], HEADLESS, 3, "line 9: the head is missing"),
        (["dependency", "FILE"], LONG, 3, "Sentence 1 has 82 tokens in 80 units, and the model reads at most 64"),
        (["dependency", "FILE"], "", 3, "FILE"),
        (["dependency", "FILE", "--gold", "FILE"], CONLLU, 2, "belong to segment"),
        (["dependency", "FILE", "--limit", "0"], CONLLU, 2, "'limit' of a probe must be at least 1"),
        (["dependency", "FILE", "--root", "any"], CONLLU, 2, "must be one of gold, found"),
        (["constituency", "FILE"], "(S (NP (NN bread)", 3, "line 1"),
        (["constituency", "FILE", "--decoder", "eisner"], TREES, 2, "must be one of mart"),
        (["discourse", "FILE"], "{}", 3, "must hold a list 'root'"),
        (["segment", "FILE"], "\n\n", 3, "has no text"),
        (["segment", "FILE", "--rule", "ostu"], "今天", 2, "Did you mean 'otsu'"),
        (["segment", "FILE", "--rule", "fixed"], "今天", 2, "The rule 'fixed' needs --value"),
        (["segment", "FILE", "--value", "0"], "今天", 2, "'value' of the rule mean-length must be at least 1. Got 0"),
        (["dependency", "FILE", "--rule", "otsu"], CONLLU, 2, "--rule belongs to segment"),
        (["dependency", "FILE", "--out", "FILE"], CONLLU, 2, "--out would write over"),
        (["a cat", "--root", "gold"], "", 2, "--root belongs to a task and its file"),
        (["a cat", "--limit", "1"], "", 2, "--limit belongs to a task and its file"),
    ],
)
def test_bad_input_is_one_sentence(
    probe: Cli, tmp_path: Path, arguments: list[str], content: str, code: int, says: str
) -> None:
    file = write(tmp_path / "input.txt", content)
    real = [str(file) if each == "FILE" else each for each in arguments]
    ran = probe(*real)
    assert ran.code == code, ran
    assert says.replace("FILE", str(file) if says == "FILE" else "FILE") in ran.err
    assert "Traceback" not in ran.err
    assert ran.err.count("\n") == 1
    assert "error" in probe(*real, "--json").json


def test_nothing_is_left_of_a_run_that_failed(probe: Cli, tmp_path: Path) -> None:
    file = write(tmp_path / "input.conllu", CONLLU + LONG)
    assert probe("dependency", file, "--out", tmp_path / "out.conllu").code == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["input.conllu"]
