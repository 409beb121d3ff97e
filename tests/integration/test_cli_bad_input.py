"""Bad input gets one clear sentence with the way out and the right exit code, never a traceback, and loses nothing."""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mirrormask.models import names

Cli = Callable[..., Any]

USAGE, DATA, MODEL, TRAINING = 2, 3, 4, 5


@pytest.fixture(scope="session")
def few_file(tmp_path_factory: pytest.TempPathFactory, sentences: list[str]) -> Path:
    """So little text that nothing is set aside: the last weights are kept, so equal models mean equal training."""
    path = tmp_path_factory.mktemp("few") / "few.txt"
    path.write_text("\n".join(sentences[:200]), encoding="utf-8")
    return path


@pytest.fixture
def train(cli: Cli, few_file: Path, tiny_folder: Path, tmp_path: Path) -> Cli:
    """Return a short training: ``train("--max-length", "3", corpus=…)``."""

    def run(*arguments: str, corpus: str | Path = few_file, model: str | Path = tiny_folder, out: Any = None) -> Any:
        base = (
            "train",
            corpus,
            "--model",
            model,
            "--out",
            out or tmp_path / "run",
            "--steps",
            "3",
            "--batch-size",
            "8",
        )
        return cli(*base, *arguments)

    return run


def assert_same_training(one: Path, two: Path) -> None:
    """Both runs kept their last weights, and those are the same to the bit."""
    records = [json.loads((run / "run.json").read_text())["result"] for run in (one, two)]
    assert [record["best_step"] for record in records] == [3, 3], "not the weights before training"
    weights = [(run / "model" / "model.safetensors").read_bytes() for run in (one, two)]
    assert weights[0] == weights[1]


def assert_refused(ran: Any, code: int, *parts: str) -> None:
    """One error that begins so, says all parts, and is the last thing said."""
    assert ran.code == code, ran
    assert ran.out == ""
    message = ran.err[ran.err.index("Error: ") :]
    assert message.count("\nError: ") == 0
    assert "Traceback" not in ran.err
    for part in parts:
        assert part in message, f"{part!r} is not in {message!r}"
    if "problems:" not in message:
        assert message.count("\n") == 1, "one message on one line"
        assert message.endswith((".\n", "?\n", ".'\n"))


# text ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("corpsu.txt", None, ("There is no file", "corpsu.txt", "Check the path")),
        ("empty.txt", b"", ("is empty", "at least one row")),
        ("binary.txt", bytes(range(256)) * 9, ("is not text", "zero byte", "plain UTF-8")),
        ("latin.txt", "größer als gut\n".encode("latin-1") * 9, ("is not UTF-8", "byte 0x")),
        ("one.txt", b"only one sentence\n", ("one text to train on", "at least 2", "Give more text")),
        ("same.txt", b"twice the same\n" * 5, ("one text to train on", "4 were duplicates")),
        ("blank.txt", b"\n\n  \n", ("no text", "3 lines were empty")),
        ("torn.txt.gz", b"\x1f\x8b\x08\x00\x00\x00", ("torn.txt.gz",)),
        ("bad.jsonl", b'{"text": "a"}\n{"text": \n', ("Line 2", "is not JSON")),
        ("bad.csv", b'text\n"never closed\n', ("is not CSV", "quote")),
    ],
)
def test_a_corpus_that_cannot_be_read(train: Cli, tmp_path: Path, name: str, content: bytes | None, says: Any) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert_refused(train(corpus=tmp_path / name), DATA, *says)


def test_a_wrong_column_and_too_many(train: Cli, tmp_path: Path, sentences: list[str]) -> None:
    table = tmp_path / "table.csv"
    table.write_text(
        "headline,story\n" + "\n".join(f"{a},{b}" for a, b in zip(sentences[:30], sentences[30:60], strict=True))
    )
    assert_refused(train("--column", "headlin", corpus=table), DATA, "no column 'headlin'", "Did you mean 'headline'?")
    assert_refused(train(corpus=table), DATA, "several columns (headline, story)", "--column headline")
    both = ("--column", "headline", "--column", "story")
    assert_refused(train(*both, "--pairing", "self", corpus=table), DATA, "takes one column", "'columns'")
    assert train(*both, "--pairing", "columns", corpus=table).code == 0


def test_a_folder_a_name_and_a_dataset_that_are_no_corpus(
    train: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MIRRORMASK_DATA", str(tmp_path))
    assert_refused(train(corpus=tmp_path), DATA, "is a folder")
    assert_refused(train(corpus="no-such-corpus"), DATA, "There is no file and no corpus 'no-such-corpus'")
    begun = time.monotonic()
    assert_refused(train(corpus="nobody/nothing"), DATA, "'nobody/nothing'", "MIRRORMASK_DATA", str(tmp_path))
    assert time.monotonic() - begun < 20, "no network is told quickly"


def test_filters_that_leave_nothing(train: Cli) -> None:
    assert_refused(train("--min-words", "99"), DATA, "200 were shorter than 99 words", "loosen the filters")


def test_more_rows_than_text(train: Cli, tmp_path: Path) -> None:
    few = tmp_path / "few.txt"
    few.write_text("one sentence\nanother sentence\na third\n")
    ran = train("--batch-size", "64", corpus=few)
    assert ran.code == 0, "a batch that cannot be filled takes what there is"


# parameters ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--set", "method.temperature=0"], ["The 'temperature' of info-nce must be above 0. Got 0."]),
        (["--set", "method.temperature=nan"], ["'temperature'", "above 0", "nan"]),
        (["--set", "method.temperature=warm"], ["The 'temperature' of keyword-passages must be a number. Got 'warm'."]),
        (["--set", "method.temperature=true"], ["must be a number. Got True."]),
        (["--set", "method.temprature=1"], ["no parameter 'temprature'", "Did you mean 'temperature'?"]),
        (["--batch-size", "1"], ["The 'batch_size' must be at least 2, because a row alone has no negatives. Got 1."]),
        (["--batch-size", "0"], ["The 'batch_size' of training must be at least 1. Got 0."]),
        (["--method", "simcse-unsp"], ["There is no method 'simcse-unsp'. Did you mean 'simcse-unsup'?"]),
        (["--pooling", "maen"], ["There is no pooling 'maen'. Did you mean 'mean'?"]),
        (["--pairing", "crop"], ["There is no pairing 'crop'. Did you mean 'crops'?"]),
        (["--set", "training.schedule=linaer"], ["'schedule'", "Did you mean 'linear'?"]),
        (["--precision", "bf61"], ["'precision'", "Did you mean 'bf16'?"]),
        (["--split", "eng"], ["'split'", "none, auto, en, zh", "Did you mean 'en'?"]),
        (["--tracker", "tensorbord"], ["Did you mean 'tensorboard'?"]),
        (["--learning-rate", "0"], ["The 'learning_rate' of training must be above 0. Got 0.0."]),
        (["--learning-rate", "-1"], ["'learning_rate'", "above 0"]),
        (["--steps", "-4"], ["'steps'", "at least 0"]),
        (["--set", "training.steps=0", "--set", "training.epochs=inf"], ["'epochs'", "Got inf"]),
        (["--set", "training.steps=many"], ["[training] steps must be a whole number. Got 'many'."]),
        (["--set", "training.seed=x"], ["[training] seed must be a whole number. Got 'x'."]),
        (
            ["--set", "pairing.name=crops", "--set", "pairing.min_words=x"],
            ["'min_words' of crops must be a whole number"],
        ),
        (["--set", "pairing.min_words=3"], ["[pairing] needs a name."]),
        (["--set", "nonsense"], ["An override is 'table.key=value'", "Got 'nonsense'."]),
        (["--lora", "-1"], ["'lora'", "at least 1"]),
        (["--max-length", "2"], ["'max_length'", "at least 3"]),
        (
            ["--max-length", "65"],
            ["'max_length' of training must be at most 64, the most this model can read. Got 65."],
        ),
        (["--pooling", "mask-prompt", "--max-length", "6"], ["must be at least 11", "template", "Got 6."]),
        (["--pooling", "mask-prompt", "--template", "so what"], ["must hold {text} exactly once", "'so what'"]),
        (["--pooling", "mask-prompt", "--template", "[MASK] {text}"], ["[MASK] after the text"]),
        (["--dev", "stsb-dve"], ["Did you mean 'stsb-dev'?"]),
    ],
)
def test_a_parameter_that_cannot_be(train: Cli, tmp_path: Path, arguments: list[str], says: list[str]) -> None:
    ran = train(*arguments)
    assert_refused(ran, USAGE, *says)
    assert "texts kept" not in ran.err, "said before the text is read"
    assert not (tmp_path / "run" / "model").exists()


def test_a_missing_dev_file(train: Cli) -> None:
    assert_refused(train("--dev", "my/dev.csv"), DATA, "There is no dev file my/dev.csv", "stsb-dev")


def test_a_tracker_whose_package_is_missing(train: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from mirrormask.training import loop

    monkeypatch.setattr(loop, "get_available_trackers", list)
    assert_refused(train("--tracker", "wandb"), USAGE, "The tracker 'wandb' needs its package", "pip")


def test_every_problem_of_a_recipe_at_once(cli: Cli, tmp_path: Path) -> None:
    recipe = tmp_path / "wrong.toml"
    recipe.write_text(
        '[model]\nname = "mini"\npoling = "mean"\n[data]\ncorpus = 3\nsplitt = "en"\n[method]\nname = "simcse-unsup"\n'
        'temprature = 0.1\ndropout = "much"\n[training]\nbatchsize = 8\nsteps = 1.5\n'
        'schedule = "wavy"\n[trainig]\nx = 1\n'
    )
    ran = cli("run", recipe, "--out", tmp_path / "run")
    assert_refused(ran, USAGE, f"{recipe} has 9 problems:")
    for said in (
        "There is no table [trainig]. Did you mean 'training'?",
        "[model] has no key 'poling'. Did you mean 'pooling'?",
        "[data] corpus must be a list of texts. Got 3.",
        "[data] has no key 'splitt'. Did you mean 'split'?",
        "[training] has no key 'batchsize'. Did you mean 'batch_size'?",
        "[training] steps must be a whole number. Got 1.5.",
        "The 'schedule' of training must be one of linear, constant, cosine. Got 'wavy'.",
        "method 'simcse-unsup' has no parameter 'temprature'. Did you mean 'temperature'?",
        "The 'dropout' of simcse-unsup must be a number. Got 'much'.",
    ):
        assert said in ran.err
    assert not (tmp_path / "run").exists()


def test_recipes_that_are_none(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("[model\n")
    assert_refused(cli("run", tmp_path / "mine.toml"), USAGE, "is not TOML", "line 1")
    assert_refused(cli("run", tmp_path / "mein.toml"), USAGE, "There is no recipe", "Did you mean 'mine.toml'?")
    (tmp_path / "bare.toml").write_text("[training]\nsteps = 2\n")
    ran = cli("run", tmp_path / "bare.toml", "--out", tmp_path / "run", "model.name=mini", "x.y.z=1")
    assert_refused(ran, USAGE, "There is no table [x]")


@pytest.mark.parametrize(
    "arguments", [["trian"], ["train"], ["train", "x", "--out", "y", "--stesp", "3"], ["list", "--seed"]]
)
def test_wrong_usage_is_exit_code_2(cli: Cli, arguments: list[str]) -> None:
    ran = cli(*arguments)
    assert (ran.code, ran.out) == (USAGE, "")
    assert "Try 'mirrormask" in ran.err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["train", "nothing.txt", "--out", "x"], DATA),
        (["train", "some.txt", "--out", "x", "--model", "./nowhere"], MODEL),
        (["info", "./nowhere"], MODEL),
        (["list", "metods"], USAGE),
        (["similarity", "one"], USAGE),
        (["encode", "nothing.txt", "--out", "v.npy"], DATA),
        (["evaluate", "x", "--data", "nothing.csv"], DATA),
        (["run", "nothing.toml"], USAGE),
        (["quickstart", "--model", "./nowhere", "--out", "q"], MODEL),
    ],
)
def test_errors_of_every_command_are_json_too(
    cli: Cli, tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(names, "SHIPPED", tmp_path)
    (tmp_path / "mini").symlink_to(tiny_folder)
    (tmp_path / "some.txt").write_text("a line of text\n", encoding="utf-8")
    ran = cli(*arguments, "--json")
    assert ran.code == code
    assert ran.err == ""
    assert ran.json["exit_code"] == code
    assert len(ran.json["error"]) > 20
    assert "\n" not in ran.json["error"]


# models --------------------------------------------------------------------------------------------------------------


def test_models_that_are_none(
    train: Cli, cli: Cli, tmp_path: Path, corpus_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MIRRORMASK_MODELS", str(tmp_path / "roots"))
    folder = tmp_path / "folder"
    folder.mkdir()
    assert_refused(train(model=folder), MODEL, "is no model", "neither config.json nor modules.json")
    assert_refused(train(model=corpus_file), MODEL, "is a file", "folder")
    assert_refused(train(model=tmp_path / "nowhere"), MODEL, "There is no model folder")
    (folder / "config.json").write_text("{")
    assert_refused(train(model=folder), MODEL, "could not be read as a model")
    (folder / "config.json").write_text('{"model_type": "no-such-type"}')
    assert_refused(cli("info", folder), MODEL, "could not be read as a model")
    begun = time.monotonic()
    assert_refused(
        train(model="nobody/nothing"), MODEL, "'nobody/nothing'", "MIRRORMASK_MODELS", str(tmp_path / "roots")
    )
    assert time.monotonic() - begun < 20, "no network is told quickly"


def test_torn_weights(train: Cli, tiny_folder: Path, tmp_path: Path) -> None:
    import shutil

    torn = tmp_path / "torn"
    shutil.copytree(tiny_folder, torn)
    weights = torn / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:2000])
    assert_refused(train(model=torn), MODEL, "torn", "damaged")
    weights.unlink()
    assert_refused(train(model=torn), MODEL, "could not be read as a model")


# where it goes -------------------------------------------------------------------------------------------------------


def test_nothing_is_written_over(train: Cli, tmp_path: Path) -> None:
    assert train().code == 0
    before = (tmp_path / "run" / "model" / "model.safetensors").read_bytes()
    assert_refused(train("--seed", "1"), USAGE, "holds a finished run", "another --out")
    assert (tmp_path / "run" / "model" / "model.safetensors").read_bytes() == before
    half = tmp_path / "half" / "checkpoint"
    half.mkdir(parents=True)
    assert_refused(train(out=half.parent), USAGE, "holds an unfinished run", "--resume")


def test_an_out_that_cannot_be_written(
    train: Cli, cli: Cli, corpus_file: Path, trained: Path, pairs_file: Path, tmp_path: Path
) -> None:
    for out in (corpus_file, corpus_file / "below"):
        ran = train(out=out)
        assert_refused(ran, USAGE, str(out), "a folder is needed")
        assert "texts kept" not in ran.err
    assert_refused(train(out="/proc/no/run"), USAGE, "/proc/no/run cannot be written")
    assert_refused(
        cli("encode", corpus_file, "--model", trained, "--out", "/proc/no/v.npy"), USAGE, "cannot be written"
    )
    page = ("evaluate", trained, "--data", pairs_file, "--report", corpus_file / "page.html")
    assert_refused(cli(*page), USAGE, "a folder is needed")


def test_a_half_written_checkpoint(train: Cli, tmp_path: Path) -> None:
    half = tmp_path / "run" / "checkpoint"
    half.mkdir(parents=True)
    (half / "state.json").write_text('{"step": 2, "best')
    assert_refused(train("--resume"), TRAINING, "checkpoint is damaged", "Remove it", "without --resume")
    assert (half / "state.json").exists(), "nothing is thrown away unasked"


def test_a_checkpoint_of_another_run(
    train: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, corpus_file: Path
) -> None:
    stop_at(monkeypatch, 2)
    assert train("--set", "training.checkpoint_every=1").code == 130
    monkeypatch.undo()
    ran = train("--set", "training.checkpoint_every=1", "--seed", "5", "--resume")
    assert_refused(ran, TRAINING, "belongs to another run", "seed", "another --out")


def test_a_run_goes_on_with_the_model_it_began_with(
    train: Cli, cli: Cli, few_file: Path, tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_at(monkeypatch, 2)
    assert train("--set", "training.checkpoint_every=1").code == 130
    monkeypatch.undo()
    few = ("--out", tmp_path / "run", "--steps", "3", "--batch-size", "8", "--set", "training.checkpoint_every=1")
    ran = cli("train", few_file, *few, "--resume", "--json")  # no --model, whose default is another by now
    assert ran.code == 0, ran
    assert ran.json["recipe"]["model"]["name"] == str(tiny_folder)


def stop_at(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """Press Ctrl-C after an update."""
    import signal

    from mirrormask.training import loop

    kept = loop._report

    def report(rows: Any, *rest: Any) -> None:
        kept(rows, *rest)
        if rows and rows[-1]["step"] == step:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(loop, "_report", report)


# what happens on the way ---------------------------------------------------------------------------------------------


def test_ctrl_c_leaves_a_checkpoint_and_says_how_to_go_on(
    train: Cli, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import shlex

    assert train(out=tmp_path / "whole").code == 0
    stop_at(monkeypatch, 2)
    ran = train(out=tmp_path / "in two parts")
    monkeypatch.undo()
    assert_refused_130(ran, "Stopped after 2 of 3 steps", "Go on with: mirrormask train ")
    command = ran.err[ran.err.index("Go on with: ") + len("Go on with: ") :].strip()
    words = shlex.split(command)
    assert words[0] == "mirrormask"
    assert words[-1] == "--resume"
    assert cli(*words[1:]).code == 0, "the command works as it is printed"
    assert_same_training(tmp_path / "whole", tmp_path / "in two parts")


def assert_refused_130(ran: Any, *parts: str) -> None:
    assert (ran.code, ran.out) == (130, "")
    last = ran.err.strip().splitlines()[-1]
    assert all(part in last for part in parts), ran.err


def test_ctrl_c_outside_training(cli: Cli, corpus_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import signal

    from mirrormask.data.text import origin

    monkeypatch.setattr(origin, "every_text", lambda *_: signal.raise_signal(signal.SIGINT))
    before = signal.getsignal(signal.SIGINT)
    ran = cli("encode", corpus_file, "--out", tmp_path / "v.npy")
    assert (ran.code, ran.out) == (130, "")
    assert ran.err.endswith("Error: Stopped.\n")
    assert signal.getsignal(signal.SIGINT) == before
    assert list(tmp_path.iterdir()) == []


def test_a_loss_that_is_no_number(train: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mirrormask.objectives.info_nce import InfoNCE

    kept, calls = InfoNCE.forward, 0

    def broken(self: Any, step: Any) -> Any:
        nonlocal calls
        calls += 1
        return kept(self, step) * (float("nan") if calls == 2 + 2 else 1.0)  # 2 calls are for the estimate

    monkeypatch.setattr(InfoNCE, "forward", broken)
    ran = train("--set", "training.evaluate_every=99", "--dev", "")
    assert_refused(
        ran,
        TRAINING,
        "The loss of step",
        "is nan",
        "last good weights",
        "Go on with --resume and a lower --learning-rate",
    )
    assert (tmp_path / "run" / "checkpoint" / "weights.safetensors").is_file()


def test_a_disk_that_is_full(train: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old checkpoint survives, the message says so, and the run goes on once there is room."""
    from mirrormask.training import checkpoint

    assert train(out=tmp_path / "whole").code == 0
    kept, calls = checkpoint.save_file, 0  # type: ignore[attr-defined]

    def full(tensors: Any, path: Any, **options: Any) -> None:
        nonlocal calls
        calls += 1
        if calls > 3:
            Path(path).write_bytes(b"half")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        kept(tensors, path, **options)

    monkeypatch.setattr(checkpoint, "save_file", full)
    every = ("--set", "training.checkpoint_every=1")
    ran = train(*every)
    assert_refused(ran, TRAINING, "The disk is full", "untouched", "--resume")
    state = json.loads((tmp_path / "run" / "checkpoint" / "state.json").read_text())
    assert state["step"] == 1
    assert not list((tmp_path / "run").glob(".*partial"))
    monkeypatch.undo()
    assert train(*every, "--resume").code == 0
    assert_same_training(tmp_path / "whole", tmp_path / "run")


def test_a_disk_that_is_full_outside_of_folders(
    train: Cli, cli: Cli, corpus_file: Path, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mirrormask.training import loop

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(loop, "append_json", full)
    assert_refused(train(), TRAINING, "No space left on device", "Free some space")
    old = tmp_path / "v.npy"
    old.write_bytes(b"what was there before")
    monkeypatch.setattr(os, "fsync", full)
    ran = cli("encode", corpus_file, "--model", trained, "--out", old)
    assert_refused(ran, TRAINING, "The disk is full", "untouched")
    assert old.read_bytes() == b"what was there before"
    assert [path.name for path in tmp_path.glob("*.npy*")] == ["v.npy"]
    assert not list(tmp_path.glob(".*partial"))


# encode, similarity, evaluate ----------------------------------------------------------------------------------------


def test_encode(cli: Cli, trained: Path, corpus_file: Path, tmp_path: Path) -> None:
    def encode(source: Path, out: str, *more: str) -> Any:
        return cli("encode", source, "--model", trained, "--out", tmp_path / out, *more)

    assert_refused(encode(corpus_file, "v.txt"), USAGE, "written as .npy or .parquet", "v.txt")
    assert_refused(encode(corpus_file, "v.npy", "--precision", "fp23"), USAGE, "Did you mean 'fp32'?")
    table = tmp_path / "table.csv"
    table.write_text("a,b\nx,y\n")
    assert_refused(encode(table, "v.npy"), DATA, "several columns (a, b)", "--column")
    assert_refused(encode(table, "v.npy", "--column", "c"), DATA, "no column 'c'", "a, b")
    (tmp_path / "empty.txt").write_text("")
    assert_refused(encode(tmp_path / "empty.txt", "v.npy"), DATA, "is empty")
    assert not list(tmp_path.glob("v.*"))


def test_similarity(cli: Cli, trained: Path) -> None:
    assert_refused(cli("similarity", "one text", "--model", trained), USAGE, "at least 2 texts", "quotes")
    assert_refused(cli("similarity", "one text", " ", "--model", trained), USAGE, "is empty")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("sentence1,sentence2,score\na b,c d,nan\n", ("row 1", "'score' must be a number", "'nan'")),
        ("sentence1,sentence2,score\na b,,2\n", ("row 1", "'sentence2' must be a text that is not empty")),
        ("sentence1,sentence2,score\n" + "a b,c d,3\n" * 12, ("All 12 scores", "are 3", "two different scores")),
        ("sentence1,sentence2,score\na b,c d,3\n", ("at least 10 are needed",)),
        ("text,label\n" + "a b,same\n" * 12, ("same label 'same'", "at least two classes")),
        ("text,label\na b,\n", ("row 1", "'label'", "not empty")),
        ("foo,bar\n1,2\n", ("'foo', 'bar'", "--column")),
    ],
)
def test_evaluate_on_files_that_prove_nothing(
    cli: Cli, trained: Path, tmp_path: Path, content: str, says: tuple[str, ...]
) -> None:
    (tmp_path / "own.csv").write_text(content)
    assert_refused(cli("evaluate", trained, "--data", tmp_path / "own.csv", "--quiet"), DATA, *says)


def test_duplicates_and_map_of_what_cannot_be_shown(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "few.txt").write_text("one\ntwo\n")
    (tmp_path / "one.txt").write_text("only one\n")
    (tmp_path / "empty").mkdir()
    for verb in ("duplicates", "map"):
        assert_refused(cli(verb, tmp_path / "no.txt", "-q"), DATA, "There is no file")
        assert_refused(cli(verb, tmp_path / "empty", "-q"), DATA, "holds no text")
        assert_refused(cli(verb, tmp_path / "few.txt", "--out", tmp_path / "few.txt"), USAGE)
    assert_refused(cli("map", tmp_path / "few.txt", "--out", tmp_path / "m.html", "-q"), DATA, "at least 10 are needed")
    assert_refused(cli("duplicates", tmp_path / "one.txt", "-q"), DATA, "has 1 text, and at least 2 are needed")
    assert_refused(cli("duplicates", tmp_path / "few.txt", "--out", tmp_path / "g.xml", "-q"), USAGE, ".csv or .jsonl")
    assert (tmp_path / "few.txt").read_text() == "one\ntwo\n"


def test_evaluate_on_what_is_not_there(
    cli: Cli, trained: Path, pairs_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MIRRORMASK_DATA", str(tmp_path))
    assert_refused(cli("evaluate", trained, "--data", tmp_path / "no.csv", "-q"), DATA, "There is no file")
    (tmp_path / "folder").mkdir()
    refused = cli("evaluate", trained, "--data", tmp_path / "folder", "-q")
    assert_refused(refused, DATA, "no collection to search in", "docs.jsonl")
    assert_refused(cli("evaluate", trained, "--task", "sts11", "-q"), USAGE, "Did you mean 'sts1")
    assert_refused(cli("evaluate", trained, "--task", "sts12", "-q"), DATA, "No data was found for sts12", "--data")
    bad = ("evaluate", trained, "--data", pairs_file, "-q")
    assert_refused(cli(*bad, "--kind", "pear"), USAGE, "Did you mean 'pairs'?")
    assert_refused(cli(*bad, "--column", "query"), USAGE, "role=column")
    assert_refused(cli(*bad, "--resamples", "0"), USAGE, "'resamples'", "at least 1")
