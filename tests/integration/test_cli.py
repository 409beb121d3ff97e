"""Every command as a user runs it: results on stdout, the rest on stderr, exit code 0."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

HEAVY = (
    "torch",
    "transformers",
    "sentence_transformers",
    "sklearn",
    "scipy",
    "datasets",
    "pyarrow",
    "matplotlib",
    "pandas",
)
COMMANDS = (
    "quickstart",
    "train",
    "pretrain",
    "probe",
    "run",
    "compare",
    "study",
    "whiten",
    "flow",
    "evaluate",
    "encode",
    "similarity",
    "duplicates",
    "map",
    "lexicon",
    "info",
    "list",
)

Cli = Callable[..., Any]


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_the_command_line_starts_in_an_instant(option: str) -> None:
    """In a process of its own: no heavy module is imported, and it takes well under 2 s even on a busy machine."""
    show = f"print(*[m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    code = f"import sys, atexit; atexit.register(lambda: {show}); from mirrormask.cli import main; main()"
    took = []
    for _ in range(3):  # the quickest of three: other work on the machine must not fail this
        begun = time.monotonic()
        done = subprocess.run([sys.executable, "-c", code, option], capture_output=True, text=True, timeout=60)
        took.append(time.monotonic() - begun)
        assert done.returncode == 0
        assert done.stderr.strip() == "", f"heavy modules at the start: {done.stderr}"
        assert (
            re.fullmatch(r"mirrormask \d+\.\d+\.\d+\n", done.stdout)
            if option == "--version"
            else "train" in done.stdout
        )
        if took[-1] < 2:
            break
    assert min(took) < 2, f"{option} took {min(took):.1f} s"


def test_importing_the_package_is_quick() -> None:
    code = "import sys, mirrormask; print([m for m in ('torch', 'numpy', 'typer', 'rich') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_help_names_every_command(cli: Cli) -> None:
    shown = cli("--help").out
    assert all(command in shown for command in COMMANDS)
    for command in COMMANDS:
        ran = cli(command, "--help")
        assert ran.code == 0
        for option in ("--json", "--quiet"):
            assert option in ran.out, f"{command} has no {option}"


def test_no_command_is_help(cli: Cli) -> None:
    ran = cli()
    assert ran.code in (0, 2)
    assert "quickstart" in ran.out + ran.err


def test_train_says_what_it_does_and_leaves_everything(
    cli: Cli, corpus_file: Path, tiny_folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "with space"
    ran = cli("train", corpus_file, "--out", out, "--model", tiny_folder, "--steps", "5", "--batch-size", "8")
    assert ran.code == 0
    assert f"Encoder: {out / 'model'}\n" in ran.out
    assert f'mirrormask similarity "a text" "another text" --model \'{out}\'' in ran.out
    for said in ("400 texts kept of 400", "5 steps of 8", "This will take about", "Computing in", "labels"):
        assert said in ran.err, said
    assert re.search(r"This will take about \d+ \w+ and \d+\.\d GB of memory", ran.err)
    record = json.loads((out / "run.json").read_text())
    assert record["result"]["steps"] == 5
    assert record["recipe"]["data"]["corpus"] == [str(corpus_file)]
    assert {path.name for path in out.iterdir()} == {"model", "run.json", "metrics.jsonl"}, "no leftovers"
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if "loss" in line] == [1, 2, 3, 4, 5]


def test_json_is_all_of_stdout_and_quiet_is_quiet(
    cli: Cli, corpus_file: Path, tiny_folder: Path, tmp_path: Path
) -> None:
    short = ("train", corpus_file, "--model", tiny_folder, "--steps", "2", "--batch-size", "8", "--out")
    loud = cli(*short, tmp_path / "a", "--json")
    assert (loud.code, loud.err) == (0, "")
    assert Path(loud.json["model"]).is_dir()
    assert loud.json["result"]["steps"] == 2
    quiet = cli(*short, tmp_path / "b", "--quiet")
    assert (quiet.code, quiet.err) == (0, "")
    assert quiet.out.startswith("Encoder: ")
    again = cli(*short, tmp_path / "a", "--json", "--resume")
    assert again.json["finished"] == loud.json["finished"], "a finished run is not done again"


def test_run_takes_a_recipe_with_changes(cli: Cli, corpus_file: Path, tiny_folder: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "small.toml"
    recipe.write_text(
        f'[model]\nname = "{tiny_folder}"\npooling = "cls"\n[data]\ncorpus = "{corpus_file}"\n'
        '[method]\nname = "simcse-unsup"\n[training]\nbatch_size = 8\nsteps = 50\n'
    )
    ran = cli("run", recipe, "steps=3", "method.temperature=0.1", "seed=7", "--out", tmp_path / "run", "--json")
    assert ran.code == 0, ran
    assert ran.json["settings"]["steps"] == 3
    assert ran.json["settings"]["seeds"] == {"data": 7, "dropout": 7, "initialization": 7}
    assert ran.json["parts"]["objective"]["temperature"] == 0.1
    assert ran.json["parts"]["pooling"] == "cls"


def test_epochs_win_over_the_steps_of_the_method(
    cli: Cli, corpus_file: Path, tiny_folder: Path, tmp_path: Path
) -> None:
    base = ("train", corpus_file, "--model", tiny_folder, "--batch-size", "36", "--json", "--out")
    assert cli(*base, tmp_path / "a", "--epochs", "0.3").json["result"]["steps"] == 3
    assert cli(*base, tmp_path / "b", "--set", "training.epochs=0.3").json["result"]["steps"] == 3


def test_a_trained_encoder_opens_plainly_and_knows_itself(cli: Cli, trained: Path) -> None:
    assert SentenceTransformer(str(trained / "model"), device="cpu").encode(["a quiet child"]).shape == (1, 32)
    told = cli("info", trained, "--json").json
    assert (told["kind"], told["pooling"], told["dimension"]) == ("sentence encoder", "mean", 32)
    assert told["made_by"]["method"]
    shown = cli("info", trained)
    assert (shown.code, shown.err) == (0, "")
    assert 'SentenceTransformer("' in shown.out


def test_encode_writes_what_the_library_would(cli: Cli, trained: Path, corpus_file: Path, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    texts = corpus_file.read_text().splitlines()
    expected = SentenceTransformer(str(trained / "model"), device="cpu").encode(texts)
    same = ("--model", trained, "--precision", "fp32", "--json", "--out")
    ran = cli("encode", corpus_file, *same, tmp_path / "v.npy")
    assert ran.json == {
        "rows": 400,
        "backend": "torch, fp32",
        "dimension": 32,
        "model": str(trained),
        "file": str(tmp_path / "v.npy"),
        "notes": [],
    }
    np.testing.assert_allclose(np.load(tmp_path / "v.npy"), expected, atol=1e-5)
    assert cli("encode", corpus_file, *same, tmp_path / "v.parquet", "--normalize").code == 0
    table = pq.read_table(tmp_path / "v.parquet")
    assert table["text"].to_pylist() == texts
    unit = np.array(table["vector"].to_pylist())
    np.testing.assert_allclose(unit, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-5)
    said = cli("encode", corpus_file, "--model", trained, "--out", tmp_path / "w.npy", "--quiet")
    assert said.err == ""
    assert said.out.startswith(f"400 vectors of 32 numbers in {tmp_path / 'w.npy'}, by torch, ")


def test_similarity(cli: Cli, trained: Path) -> None:
    texts = ("a quiet child paints", "a quiet child", "[bold]some bread[/bold]")
    encoder = SentenceTransformer(str(trained / "model"), device="cpu")
    expected = encoder.similarity(encoder.encode(texts), encoder.encode(texts)).numpy()
    found = cli("similarity", *texts, "--model", trained, "--json").json
    np.testing.assert_allclose(found["cosine"], expected, atol=1e-5)
    assert found["texts"] == list(texts)
    two = cli("similarity", *texts[:2], "--model", trained, "--quiet")
    assert (two.out, two.err) == (f"{expected[0, 1]:.4f}\n", "")
    assert "[bold]some bread[/bold]" in cli("similarity", *texts, "--model", trained).out, "text is no markup"


def test_list_shows_every_part_with_its_paper(cli: Cli) -> None:
    from mirrormask.runs.catalogue import catalogue

    found = cli("list", "--json").json
    every = catalogue()
    assert {kind: [part["name"] for part in parts] for kind, parts in found.items()} == {
        kind: [part.name for part in parts] for kind, parts in every.items()
    }
    assert all(part["paper"] and part["summary"] for parts in found.values() for part in parts)
    shown = cli("list")
    assert (shown.code, shown.err) == (0, "")
    assert all(part.name in shown.out for parts in every.values() for part in parts)
    assert list(cli("list", "poolings", "--json").json) == ["pooling"]


def test_evaluate_compares_two_models_on_own_pairs(
    cli: Cli, trained: Path, tiny_folder: Path, pairs_file: Path, tmp_path: Path
) -> None:
    from scipy.stats import spearmanr

    page = tmp_path / "page.html"
    ran = cli("evaluate", tiny_folder, trained, "--data", pairs_file, "--report", page, "--resamples", "100", "--json")
    assert (ran.code, ran.err) == (0, "")
    found = ran.json
    assert found["models"] == [tiny_folder.name, trained.name]
    rows = [line.rsplit(",", 2) for line in pairs_file.read_text().splitlines()[1:]]
    encoder = SentenceTransformer(str(trained / "model"), device="cpu")
    left, right = (encoder.encode([row[side] for row in rows], normalize_embeddings=True) for side in (0, 1))
    by_hand = 100 * spearmanr((left * right).sum(axis=1), [float(row[2]) for row in rows]).statistic
    score = found["own"]["scores"][trained.name]["spearman_percent"]
    assert score["value"] == pytest.approx(by_hand, abs=1.0)  # the bulk pass may compute in bfloat16
    assert score["low"] < score["value"] < score["high"]
    assert len(found["verdict"]) == 1
    assert page.read_text().lower().startswith("<!doctype html")
    shown = cli(
        "evaluate", tiny_folder, trained, "--data", pairs_file, "--resamples", "100", "--quiet", "--no-geometry"
    )
    assert (shown.code, shown.err) == (0, "")
    assert "Spearman" in shown.out
    assert found["verdict"][0] in shown.out
    told = cli("evaluate", trained, "--data", pairs_file, "--resamples", "100", "--no-geometry")
    assert re.match(rf"Encoding \d+ texts with {trained.name}\.\n", told.err), "something is said where no bar is"


def test_evaluate_measures_search_in_a_folder(
    cli: Cli, tiny_folder: Path, sentences: list[str], tmp_path: Path
) -> None:
    folder = tmp_path / "collection"
    folder.mkdir()
    rows = [{"id": str(row), "text": text} for row, text in enumerate(sentences[:30])]
    (folder / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[:12]))
    (folder / "qrels.tsv").write_text("".join(f"{row}\t{row}\t1\n" for row in range(12)))
    page = tmp_path / "page.md"
    ran = cli("evaluate", tiny_folder, "--data", folder, "--report", page, "--resamples", "50", "--json")
    assert (ran.code, ran.err) == (0, "")
    found = ran.json["retrieval"]
    assert found["models"] == [tiny_folder.name, "BM25"]
    scores = found["collections"]["collection"]["scores"]
    assert scores[tiny_folder.name]["ndcg_at_10_percent"]["value"] == pytest.approx(100), "a text is nearest to itself"
    assert "nDCG@10 on collection" in page.read_text(encoding="utf-8")
    shown = cli("evaluate", "bm25", tiny_folder, "--data", folder, "--resamples", "50", "--max-length", "16")
    assert shown.code == 0
    assert "12 queries among 30 documents" in shown.out


def test_duplicates_and_map_of_a_file(cli: Cli, tiny_folder: Path, sentences: list[str], tmp_path: Path) -> None:
    source, groups, page = tmp_path / "pile.txt", tmp_path / "groups.jsonl", tmp_path / "map.html"
    source.write_text("\n".join([*sentences[:60], sentences[3].upper(), ""]))
    options = ("--model", tiny_folder, "--json")
    ran = cli("duplicates", source, "--out", groups, "--threshold", "0.9999", *options)
    assert (ran.code, ran.err) == (0, "")
    same = [
        one
        for one in ran.json["groups"]
        if {"pile.txt:4", "pile.txt:61"} <= {Path(m["id"]).name for m in one["members"]}
    ]
    assert len(same) == 1
    assert ran.json["threshold"] == 0.9999
    written = [json.loads(line) for line in groups.read_text().splitlines()]
    assert len(written) == sum(len(one["members"]) for one in ran.json["groups"])
    shown = cli("duplicates", source, "--by", "words")
    assert shown.code == 0
    assert "nothing was deleted" in shown.out
    ran = cli("map", source, "--out", page, "--title", "A <pile>", "--groups", "3", *options)
    assert (ran.code, ran.err) == (0, "")
    assert sum(group["texts"] for group in ran.json["groups"]) == 61
    assert "<title>A &lt;pile&gt;</title>" in page.read_text(encoding="utf-8")
    assert "Map: " in cli("map", source, "--out", page, "--model", tiny_folder, "--quiet").out


def test_whiten_and_flow_a_model(cli: Cli, tiny_folder: Path, corpus_file: Path, tmp_path: Path) -> None:
    ran = cli("whiten", tiny_folder, corpus_file, "--out", tmp_path / "white", "--dimension", "8", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["dimension"] == 8
    assert abs(ran.json["mean_cosine"]["after"]) < 0.05 < ran.json["mean_cosine"]["before"]
    shown = cli("info", tmp_path / "white")
    assert "SentenceTransformer(" in shown.out
    assert "whitening" in shown.out
    ran = cli("flow", tmp_path / "white", corpus_file, "--out", tmp_path / "flow", "--levels", "2", "--epochs", "2")
    assert ran.code == 0
    assert "flow on" in ran.out
    assert "mirrormask.load(" in cli("info", tmp_path / "flow").out
    said = cli("similarity", "a quiet child", "the gray cat", "--model", tmp_path / "flow", "--json")
    assert said.code == 0
    again = cli("whiten", tiny_folder, corpus_file, "--out", tmp_path / "white", "--kind", "centering")
    assert again.code == 0, "what it made before is replaced"
    assert "centering" in cli("info", tmp_path / "white").out


def test_dev_pairs_choose_the_checkpoint(
    cli: Cli, corpus_file: Path, tiny_folder: Path, pairs_file: Path, tmp_path: Path
) -> None:
    base = ("train", corpus_file, "--model", tiny_folder, "--steps", "4", "--batch-size", "8", "--json", "--out")
    found = cli(*base, tmp_path / "run", "--dev", pairs_file, "--set", "training.evaluate_every=1").json
    history = found["result"]["history"]
    assert [row["step"] for row in history] == [0, 1, 2, 3, 4]
    best = max(history, key=lambda row: (row["score"], row["step"] or 9))  # of equals the start, else the later
    assert (found["result"]["best_step"], found["result"]["best_score"]) == (best["step"], best["score"])
    assert "spearman" in found["selection"]["by"]


def test_numbers_that_json_cannot_write_become_null(capsys: pytest.CaptureFixture[str]) -> None:
    from mirrormask.cli.output import Output

    content = {"a": float("nan"), "b": [1.5, float("inf")], "c": ({"d": -float("inf")},), "e": Path("x")}
    Output(as_json=True).result(content, lambda: None)
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": [1.5, None], "c": [{"d": None}], "e": "x"}


def test_own_text_goes_on_from_the_shipped_encoder(
    cli: Cli, corpus_file: Path, trained: Path, tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mirrormask.models import names

    shipped = tmp_path / "shipped"
    shipped.mkdir()
    (shipped / "mini").symlink_to(tiny_folder)
    (shipped / "mini-sentence").symlink_to(trained / "model")
    monkeypatch.setattr(names, "SHIPPED", shipped)
    out = tmp_path / "run"
    ran = cli("train", corpus_file, "--out", out, "--steps", "1", "--batch-size", "8", "--json")
    assert ran.code == 0, ran
    assert ran.json["recipe"]["model"]["name"] == "mini-sentence"
    recipe = tmp_path / "plain.toml"
    recipe.write_text(f"[data]\ncorpus = ['{corpus_file}']\n[training]\nsteps = 1\nbatch_size = 8\n")
    assert cli("run", recipe, "--out", tmp_path / "other", "--json").json["recipe"]["model"]["name"] == "mini"
