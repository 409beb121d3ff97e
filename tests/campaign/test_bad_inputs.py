"""Hundreds of bad inputs over every verb: no traceback, a documented exit code, one sentence, and inputs untouched."""

from __future__ import annotations

import contextlib
import hashlib
import io
import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.campaign.damage import FILES, MODELS, PATHS, TOMLS, lay_out

USAGE, DATA, MODEL, STOPPED = 2, 3, 4, 5
OUT = ("--out", "out/new")
TRAIN = ("--model", "tiny", *OUT, "--steps", "2", "--batch-size", "8")
CLASSIFY = ("classify", "train", "labels.csv", "--model", "tiny", *OUT, "--steps", "2")
READERS = {
    "train": ("train", "FILE", *TRAIN),
    "dev": ("train", "good.txt", "--dev", "FILE", *TRAIN),
    "pretrain": ("pretrain", "FILE", *OUT, "--steps", "2", "--layers", "1", "--width", "32", "--heads", "2"),
    "center": ("pretrain", "good.txt", "--init", "tiny", "--center", "FILE", *OUT, "--steps", "2", "--length", "16"),
    "encode": ("encode", "FILE", "--model", "tiny", "--out", "out/v.npy"),
    "index": ("index", "FILE", "--model", "tiny", *OUT),
    "static": ("export", "classifier", "--to", "static", "--corpus", "FILE", *OUT),
    "queries": ("search", "index", "--queries", "FILE", "--mode", "words", "--out", "out/run.trec"),
    "dev search": ("search", "index", "boat", "--dev", "FILE"),
    "evaluate": ("evaluate", "tiny", "--data", "FILE"),
    "duplicates": ("duplicates", "FILE", "--model", "tiny", "--out", "out/g.csv"),
    "map": ("map", "FILE", "--model", "tiny", "--out", "out/m.html"),
    "prompt score": ("prompt", "score", "It was [MASK].", "FILE", "--labels", "boat,river", "--model", "tiny"),
    "prompt train": ("prompt", "train", "It was [MASK].", "FILE", "--labels", "boat,river", "--model", "tiny", *OUT),
    "unlabelled": (
        *("prompt", "train", "It was [MASK].", "few.csv", "--unlabelled", "FILE"),
        *("--labels", "boat,river", "--model", "tiny", *OUT),
    ),
    "attack": ("attack", "victim", "FILE", "--model", "tiny"),
    "augment": ("attack", "victim", "labels.csv", "--augment", "FILE", "--hardened", "out/hard", "--model", "tiny"),
    "train-victim": ("train-victim", "FILE", "--model", "tiny", *OUT),
    "whiten": ("whiten", "tiny", "FILE", *OUT),
    "word-vectors": ("word-vectors", "FILE", *OUT),
    "vectors": ("word-vectors", "--vectors", "FILE", *OUT),
    "meant for": ("whiten", "tiny", "good.txt", "--kind", "centering", "--for", "FILE", *OUT),
    "flow": ("flow", "tiny", "FILE", *OUT),
    "classify": ("classify", "train", "FILE", "--model", "tiny", *OUT, "--steps", "2"),
    "classify dev": (*CLASSIFY, "--dev", "FILE"),
    "synonyms": (*CLASSIFY, "--augment", "synonyms", "--lexicon", "FILE"),
    "predict": ("classify", "predict", "classifier", "FILE", "--out", "out/p.jsonl"),
    "judge": ("classify", "evaluate", "classifier", "FILE"),
    "lexicon": ("lexicon", "tiny", "tiny", "--train", "FILE", "--test", "words.tsv"),
    "dependency": ("probe", "dependency", "FILE", "--model", "tiny"),
    "constituency": ("probe", "constituency", "FILE", "--model", "tiny"),
    "discourse": ("probe", "discourse", "FILE", "--model", "tiny"),
    "segment": ("probe", "segment", "FILE", "--model", "tiny"),
    "gold": ("probe", "segment", "good.txt", "--gold", "FILE", "--model", "tiny"),
}
RECIPES = {
    "run": ("run", "FILE", *OUT),
    "study": ("study", "FILE", "folder", *OUT),
    "prompt": ("prompt", "score", "FILE", "good.txt", "--model", "tiny"),
    "multitask": ("multitask", "train", "FILE", *OUT),
}
LOADERS = {
    "train": ("train", "good.txt", "--model", "MODEL", *OUT, "--steps", "2"),
    "init": ("pretrain", "good.txt", "--init", "MODEL", *OUT, "--steps", "2"),
    "tokenizer": ("pretrain", "good.txt", "--tokenizer", "MODEL", *OUT, "--steps", "2"),
    "run": ("run", "recipe.toml", "model.name=MODEL", *OUT),
    "encode": ("encode", "good.txt", "--model", "MODEL", "--out", "out/v.npy"),
    "index": ("index", "good.txt", "--model", "MODEL", *OUT),
    "search": ("search", "index", "boat", "--model", "MODEL"),
    "rerank": ("search", "index", "boat", "--rerank", "MODEL"),
    "export": ("export", "MODEL", "--to", "onnx", *OUT),
    "publish": ("publish", "MODEL", "me/mine", "--dry-run"),
    "evaluate": ("evaluate", "MODEL", "--data", "pairs.csv"),
    "duplicates": ("duplicates", "good.txt", "--model", "MODEL"),
    "map": ("map", "good.txt", "--model", "MODEL", "--out", "out/m.html"),
    "whiten": ("whiten", "MODEL", "good.txt", *OUT),
    "flow": ("flow", "MODEL", "good.txt", *OUT),
    "classify": ("classify", "train", "labels.csv", "--model", "MODEL", *OUT, "--steps", "2"),
    "predict": ("classify", "predict", "MODEL", "good.txt"),
    "judge": ("classify", "evaluate", "MODEL", "labels.csv"),
    "lexicon": ("lexicon", "MODEL", "tiny", "--train", "words.tsv", "--test", "words.tsv"),
    "multitask": ("multitask", "train", "tasks.toml", "--model", "MODEL", *OUT),
    "heads": (
        *("multitask", "predict", "tasks.toml", "--model", "MODEL", "--task", "near", "--data", "pairs.csv"),
        *("--out", "out/answers"),
    ),
    "similarity": ("similarity", "a boat", "a river", "--model", "MODEL"),
    "probe": ("probe", "a boat crosses", "--model", "MODEL"),
    "segment": ("probe", "segment", "good.txt", "--model", "MODEL"),
    "prompt": ("prompt", "score", "It was [MASK].", "good.txt", "--labels", "boat,river", "--model", "MODEL"),
    "prompted": ("prompt", "predict", "MODEL", "good.txt"),
    "victim": ("attack", "MODEL", "labels.csv"),
    "attack": ("attack", "victim", "labels.csv", "--model", "MODEL", "--no-tags", "--threshold", "0.5"),
    "similarity by": ("attack", "victim", "labels.csv", "--similarity", "MODEL", "--model", "tiny"),
    "train-victim": ("train-victim", "labels.csv", "--kind", "bert", "--model", "MODEL", *OUT),
    "info": ("info", "MODEL"),
    "quickstart": ("quickstart", "--model", "MODEL", *OUT),
}
FINE = {  # what one command refuses another can do with
    *(("segment", name) for name in ("columns.tsv", "header.csv", "ragged.csv", "twice.csv", "quote.csv", "zero.csv")),
    *(("segment", name) for name in FILES if "json" in name or name == "noise.parquet"),
    ("gold", "noise.parquet"),
    ("encode", "blank.txt"),
    ("predict", "blank.txt"),
    ("predict", "columns.tsv"),
    *(("synonyms", name) for name in ("ragged.csv", "twice.csv", "header.csv", "columns.tsv", "zero.csv", "quote.csv")),
    ("index", "columns.tsv"),
    ("duplicates", "columns.tsv"),
    ("map", "columns.tsv"),
    ("lexicon", "columns.tsv"),
    ("prompt score", "columns.tsv"),
    ("unlabelled", "columns.tsv"),
    *(("dev", name) for name in PATHS if "." not in name),
    *(("tokenizer", name) for name in ("no-weights", "cut-weights", "pickled")),
    ("info", "pickled"),
}
OPTIONS = {
    "train": (
        ("train", "latin.txt", *TRAIN),
        {"steps", "epochs", "batch-size", "learning-rate", "max-length", "patience"}
        | {"large-batch", "lora", "min-words", "max-words", "limit"},
    ),
    "pretrain": (
        ("pretrain", "latin.txt", *OUT),
        {"steps", "epochs", "minutes", "vocabulary", "layers", "width", "heads"}
        | {
            "positions",
            "length",
            "mask-rate",
            "dropout",
            "bag",
            "neighbors",
            "min-words",
            "limit",
            "held-out",
            "batch-size",
        }
        | {"learning-rate", "warmup", "accumulation", "average", "evaluate-every"},
    ),
    "quickstart": (("quickstart", "--model", "tiny", *OUT), {"steps", "functions", "searched"}),
    "classify": (
        ("classify", "train", "latin.txt", "--model", "tiny", *OUT),
        {"steps", "epochs", "batch-size", "learning-rate", "max-length", "patience", "large-batch"}
        | {"held-out", "contrast", "temperature", "head-rate"},
    ),
    "index": (("index", "latin.txt", "--model", "tiny", *OUT), {"dimensions", "passage-words"}),
    "search": (("search", "index", "boat", "--mode", "words"), {"top", "weight"}),
    "evaluate": (("evaluate", "tiny", "--data", "pairs.csv"), {"resamples", "max-length"}),
    "duplicates": (("duplicates", "good.txt", "--model", "tiny"), {"threshold", "words", "max-length"}),
    "map": (("map", "good.txt", "--model", "tiny", "--out", "out/m.html"), {"groups", "most", "max-length"}),
    "attack": (
        ("attack", "victim", "labels.csv", "--model", "tiny"),
        {"candidates", "threshold", "queries", "seconds", "limit"},
    ),
    "train-victim": (
        ("train-victim", "labels.csv", "--model", "tiny", *OUT),
        {"epochs", "learning-rate", "batch-size"},
    ),
    "whiten": (("whiten", "tiny", "latin.txt", *OUT), {"dimension", "components", "limit"}),
    "flow": (
        ("flow", "tiny", "latin.txt", *OUT),
        {"levels", "depth", "width", "epochs", "batch-size", "learning-rate", "limit"},
    ),
    "lexicon": (("lexicon", "tiny", "tiny", "--train", "words.tsv", "--test", "words.tsv"), {"resamples"}),
    "multitask": (("multitask", "train", "tasks.toml", "--model", "tiny", *OUT), {"steps"}),
    "compare": (("compare", "folder"), {"resamples"}),
    "study": (("study", "study.toml", "folder", *OUT), {"resamples"}),
    "run": (("run", "recipe.toml", "--seeds", "1", *OUT), {"jobs"}),
    "prompt": (
        ("prompt", "train", "It was [MASK].", "few.csv", "--labels", "boat,river", "--model", "tiny", *OUT),
        {"steps", "batch-size", "learning-rate", "soft-rate", "mlm-weight", "repetitions", "generations"}
        | {"distill-steps", "max-length"},
    ),
    "score": (
        ("prompt", "score", "It was [MASK].", "good.txt", "--labels", "boat,river", "--model", "tiny"),
        {"max-length", "limit"},
    ),
    "probe": (("probe", "segment", "latin.txt", "--model", "tiny"), {"limit", "value"}),
}
VALUES = ("-1", "nan", "inf", "x", "9" * 6_000)
OUTPUTS = ("good.txt", "good.txt/below", "/proc/none", "loop.txt/x", "/dev/full/x", "x" * 300)
WRITERS = {
    "train": ("train", "good.txt", "--model", "tiny", "--out", "OUT", "--steps", "2"),
    "pretrain": ("pretrain", "good.txt", "--out", "OUT", "--steps", "2"),
    "run": ("run", "recipe.toml", "--out", "OUT"),
    "seeds": ("run", "recipe.toml", "--seeds", "1,2", "--out", "OUT"),
    "quickstart": ("quickstart", "--model", "tiny", "--out", "OUT"),
    "export": ("export", "classifier", "--to", "onnx", "--out", "OUT"),
    "encode": ("encode", "good.txt", "--model", "tiny", "--out", "OUT/v.npy"),
    "classify": ("classify", "train", "labels.csv", "--model", "tiny", "--out", "OUT", "--steps", "2"),
    "predict": ("classify", "predict", "classifier", "good.txt", "--out", "OUT/p.jsonl"),
    "judge": ("classify", "evaluate", "classifier", "labels.csv", "--figure", "OUT/x.png"),
    "index": ("index", "good.txt", "--model", "tiny", "--out", "OUT"),
    "queries": ("search", "index", "--queries", "good.txt", "--mode", "words", "--out", "OUT/run"),
    "evaluate": ("evaluate", "tiny", "--data", "pairs.csv", "--report", "OUT/report.html"),
    "duplicates": ("duplicates", "good.txt", "--by", "words", "--out", "OUT/g.csv"),
    "map": ("map", "good.txt", "--model", "tiny", "--out", "OUT/m.html"),
    "attack": ("attack", "victim", "labels.csv", "--model", "tiny", "--out", "OUT/r.html"),
    "train-victim": ("train-victim", "labels.csv", "--model", "tiny", "--out", "OUT/v"),
    "whiten": ("whiten", "tiny", "good.txt", "--kind", "centering", "--out", "OUT"),
    "flow": ("flow", "tiny", "good.txt", "--out", "OUT"),
    "multitask": ("multitask", "train", "tasks.toml", "--model", "tiny", "--out", "OUT"),
    "answers": (
        *("multitask", "predict", "tasks.toml", "--model", "tiny", "--task", "near", "--data", "pairs.csv"),
        *("--out", "OUT"),
    ),
    "compare": ("compare", "folder", "--figures", "OUT"),
    "study": ("study", "study.toml", "folder", "--out", "OUT"),
    "probe": ("probe", "a boat crosses", "--model", "tiny", "--out", "OUT/x.png"),
    "segment": ("probe", "segment", "good.txt", "--model", "tiny", "--out", "OUT/x.txt"),
    "prompt": (
        *("prompt", "train", "It was [MASK].", "few.csv", "--labels", "boat,river", "--model", "tiny"),
        *("--steps", "1", "--out", "OUT"),
    ),
    "score": (
        *("prompt", "score", "It was [MASK].", "good.txt", "--labels", "boat,river", "--model", "tiny"),
        *("--out", "OUT/x.csv"),
    ),
    "store": ("probe", "segment", "good.txt", "--model", "tiny", "--store", "OUT"),
}
OTHERS: list[tuple[tuple[str, ...], int]] = [
    (("trian",), USAGE),
    (("train",), USAGE),
    (("list", "metods"), USAGE),
    (("list", "caf\udce9"), USAGE),
    (("similarity", "one"), USAGE),
    (("similarity", "one", " "), USAGE),
    (("similarity", "caf\udce9", "two", "--model", "tiny"), DATA),
    (("probe", "caf\udce9 au lait", "--model", "tiny"), DATA),
    (("probe", "", "--model", "tiny"), DATA),
    (("probe", "one", "--model", "tiny", "--layer", "99"), USAGE),
    (("probe", "a boat", "--model", "tiny", "--measure", "cosin"), USAGE),
    (("probe", "a boat", "--model", "tiny", "--out", "x.gif"), USAGE),
    (("probe", "dependncy", "good.txt"), USAGE),
    (("probe", "dependency"), USAGE),
    (("encode", "good.txt", "--out", "v.csv"), USAGE),
    (("encode", "-", "--resume", "--out", "v.npy"), USAGE),
    (("encode", "pairs.csv", "--out", "out/v.npy", "--column", "\x1b[31m"), DATA),
    (("evaluate", "tiny", "--data", "pairs.csv", "--column", "score"), USAGE),
    (("evaluate", "tiny", "--data", "pairs.csv", "--column", "score=\x1b[2J"), DATA),
    (("evaluate", "tiny", "--data", "pairs.csv", "--kind", "pears"), USAGE),
    (("evaluate", "tiny", "--task", "sts11"), USAGE),
    (("evaluate", "tiny", "--suite", "transfr"), USAGE),
    (("evaluate", "tiny", "--suite", "transfer", "--task", "sts11"), USAGE),
    (("train", "pairs.csv", *TRAIN), DATA),
    (("train", "pairs.csv", *TRAIN, "--column", "sentence1", "--column", "nothing"), DATA),
    (("train", "good.txt", *TRAIN, "--method", "supervised-simcse"), DATA),
    (("train", "good.txt", *TRAIN, "--set", 'data.where=["label=1"]'), DATA),
    (("train", "good.txt", *TRAIN, "--set", 'data.where=["label"]'), DATA),
    (("evaluate", "tiny", "--data", "pairs.csv", "--resamples", "999999999999"), USAGE),
    (("compare", "folder", "--resamples", "999999999999"), USAGE),
    (("study", "study.toml", "folder", "--resamples", "999999999999", *OUT), USAGE),
    (("evaluate", "tiny", "index", "--data", "pairs.csv"), USAGE),
    (("evaluate", "bm25", "--data", "pairs.csv"), USAGE),
    (("evaluate", "tiny", "--data", "folder"), DATA),
    (("duplicates", "good.txt", "--by", "looks"), USAGE),
    (("duplicates", "good.txt", "--out", "g.\x1b[31m"), USAGE),
    (("map", "good.txt", "--column", "\x1b[31m", "--out", "out/m.html"), DATA),
    (("prompt", "scor"), USAGE),
    (("prompt", "score", "It was fine.", "good.txt", "--labels", "boat,river", "--model", "tiny"), USAGE),
    (("prompt", "score", "It was [MASK].", "good.txt", "--model", "tiny"), USAGE),
    (("prompt", "score", "It was [MASK].", "good.txt", "--labels", "boat,river=", "--model", "tiny"), USAGE),
    (("prompt", "score", "It was [MASK].", "good.txt", "--labels", "boat,boats", "--model", "tiny"), USAGE),
    (("prompt", "score", "It [MASK] \x1b[31m", "good.txt", "--labels", "\x1b[31m,b", "--model", "tiny"), USAGE),
    (
        ("prompt", "score", "It was [MASK]. " + "boat " * 90, "good.txt", "--labels", "boat,river", "--model", "tiny"),
        USAGE,
    ),
    (("prompt", "score", "copa", "good.txt", "--model", "tiny"), DATA),
    (("prompt", "train", "It was [MASK].", "--labels", "boat,river", "--model", "tiny", *OUT), DATA),
    (("prompt", "train", "mr", "few.csv", "--mode", "pett", "--model", "tiny", *OUT), USAGE),
    (
        (
            "prompt",
            "train",
            "[P] [MASK]",
            "few.csv",
            "--labels",
            "boat,river",
            "--soft",
            "mlp",
            "--model",
            "tiny",
            *OUT,
        ),
        USAGE,
    ),
    (("prompt", "evaluate", "tiny", "few.csv"), MODEL),
    (("attack",), USAGE),
    (("attack", "victim"), USAGE),
    (("attack", "victim", "labels.csv", "--attack", "\x1b[31m"), USAGE),
    (("attack", "victim", "labels.csv", "--reading", "paper"), USAGE),
    (("attack", "victim", "labels.csv", "--saving", "money"), USAGE),
    (("attack", "victim", "labels.csv", "--augment", "labels.csv"), USAGE),
    (("attack", "os:getcwd", "labels.csv", "--model", "tiny"), MODEL),
    (("attack", "nothing.here:at_all", "labels.csv"), MODEL),
    (("attack", "good.pkl", "labels.csv"), MODEL),
    (("attack", "--sheet", "pairs.csv"), DATA),
    (("attack", "--sheet", "nowhere.csv"), DATA),
    (("train-victim", "labels.csv", "--kind", "svm", *OUT), USAGE),
    (("whiten", "tiny", "good.txt", *OUT, "--kind", "whitning"), USAGE),
    (("whiten", "tiny", "good.txt", *OUT, "--kind", "centering", "--dimension", "3"), USAGE),
    (("whiten", "tiny", "good.txt", *OUT, "--pooling", "men"), USAGE),
    (("whiten", "tiny", "pairs.csv", *OUT, "--column", "\x1b[31m"), DATA),
    (("whiten", "tiny", "good.txt", "--out", "index"), USAGE),
    (("flow", "tiny", "good.txt", *OUT, "--permutation", "random"), USAGE),
    (("classify", "trian"), USAGE),
    ((*CLASSIFY, "--objective", "ce"), USAGE),
    ((*CLASSIFY, "--augment", "gaussian-noise"), USAGE),
    ((*CLASSIFY, "--classes", "\x1b[31m,old"), USAGE),
    ((*CLASSIFY, "--label-column", "\x1b[31m"), DATA),
    ((*CLASSIFY, "--label-column", "text"), DATA),
    ((*CLASSIFY, "--names", "one,two"), DATA),
    (("classify", "evaluate", "classifier", "labels.csv"), DATA),
    (("classify", "predict", "classifier", "good.txt", "--out", "p.html"), USAGE),
    (("lexicon", "tiny", "tiny"), USAGE),
    (("lexicon", "tiny", "tiny", "--languages", "en-de", "--size", "9k"), USAGE),
    (("lexicon", "tiny", "tiny", "--languages", "xx-yy"), DATA),
    (("lexicon", "tiny", "tiny", "--train", "words.tsv", "--test", "words.tsv"), DATA),
    (("multitask", "trian"), USAGE),
    (("multitask", "train", "tasks.toml", "--task", "neer", *OUT), USAGE),
    (("multitask", "predict", "tasks.toml", "--model", "tiny", *OUT), USAGE),
    (("compare", "nowhere"), DATA),
    (("compare", "folder", "--format", "html"), USAGE),
    (("run",), USAGE),
    (("run", "recipe.toml", "steps=" + "9" * 6_000, *OUT), USAGE),
    (("run", "recipe.toml", "x=" + "[" * 9_999, *OUT), USAGE),
    (("run", "recipe.toml", "--seeds", "1,x", *OUT), USAGE),
    (("run", "recipe.toml", "--seeds", ",", *OUT), USAGE),
    (("run", "recipe.toml", "--seeds", "1", "--vary", "weather", *OUT), USAGE),
    (("train", "good.txt", *TRAIN, "--set", "training.steps=" + "9" * 6_000), USAGE),
    (("train", "good.txt", *TRAIN, "--set", "caf\udce9"), USAGE),
    (("train", "good.txt", *TRAIN, "--method", "\x1b[31m"), USAGE),
    (("train", "good.txt", *TRAIN, "--precision", "fp17"), USAGE),
    (("train", "nobody/nothing", *TRAIN), DATA),
    (("info", "tiny", "--nonsense"), USAGE),
    (("index",), USAGE),
    (("index", "good.txt", *OUT, "--vectors", "fp8"), USAGE),
    (("index", "good.txt", *OUT, "--each", "word"), USAGE),
    (("index", "pairs.csv", *OUT, "--column", "\x1b[31m"), DATA),
    (("index", "pairs.csv", *OUT, "--id-column", "nr"), DATA),
    (("index", "--out", "index", "--delete", "nobody"), DATA),
    (("index", "--out", "nowhere", "--delete", "nobody"), DATA),
    (("index", "good.txt", "--out", "folder/../index", "--delete", "x"), USAGE),
    (("search", "index"), USAGE),
    (("search", "index", ""), USAGE),
    (("search", "index", "boat", "--mode", "bm25"), USAGE),
    (("search", "index", "boat", "--where", "year > 2000"), USAGE),
    (("search", "index", "boat", "--where", "\x1b[31m"), USAGE),
    (("search", "index", "boat", "--where", "(" * 9_000), USAGE),
    (("search", "index", "--like", "caf\udce9"), DATA),
    (("search", "tiny", "boat"), DATA),
    (("search", "nowhere", "boat"), DATA),
    (("search", "good.txt", "boat"), DATA),
    (("search", "half", "boat"), DATA),
    (("search", "newer", "boat"), DATA),
]


def wanted() -> Iterator[tuple[str, tuple[str, ...], int]]:
    """Yield every case: a name, its arguments, and its exit code."""
    for (verb, base), name in itertools.product(READERS.items(), [*FILES, *PATHS]):
        if (verb, name) not in FINE:
            yield f"{verb} of {name[:30]!a}", tuple(name if each == "FILE" else each for each in base), DATA
    for (verb, base), name in itertools.product(RECIPES.items(), TOMLS):
        yield f"{verb} of {name[:30]!a}", tuple(name if each == "FILE" else each for each in base), USAGE
    for (verb, base), name in itertools.product(LOADERS.items(), MODELS):
        model = f"./{name}" if name == "nowhere" else name
        if (verb, name) not in FINE:
            yield f"{verb} with {name}", tuple(each.replace("MODEL", model) for each in base), MODEL
    for verb, (base, options) in OPTIONS.items():
        for option, value in itertools.product(sorted(options), VALUES):
            yield f"{verb} --{option} {value[:9]}", (*base, f"--{option}", value), USAGE
    for (verb, base), out in itertools.product(WRITERS.items(), OUTPUTS):
        yield f"{verb} into {out[:20]}", tuple(each.replace("OUT", out) for each in base), USAGE
    for arguments, code in OTHERS:
        yield ascii(" ".join(each[:30] for each in arguments if each not in TRAIN)), arguments, code


CASES = list(wanted())


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory, tiny_folder: Path) -> Path:
    from mirrormask.attack.word_classifiers import WordClassifier
    from mirrormask.heads.classifier import Classifier
    from mirrormask.models.encoder import load
    from mirrormask.search.index import Index

    folder = tmp_path_factory.mktemp("campaign")
    lay_out(folder, tiny_folder)
    texts = (folder / "good.txt").read_text().splitlines()
    Index.build(texts, folder / "index", model=str(folder / "tiny"))
    rows = [f"{text} and finds it,{('bad', 'good')[place % 2]}" for place, text in enumerate(texts[:40])]
    (folder / "labels.csv").write_text("\n".join(["text,label", *rows]) + "\n")
    (folder / "victim").mkdir()
    WordClassifier("word-cnn", ["boat", "river"], ["bad", "good"], width=4).save(folder / "victim")
    Classifier(load(folder / "tiny"), ["calm", "glad"]).save(folder / "classifier")
    for name in ("half", "newer"):
        shutil.copytree(folder / "index", folder / name)
    next((folder / "half").rglob("*.faiss")).unlink()
    (folder / "newer" / "index.json").write_text('{"format": 9, "generation": "g000001", "files": {}}')
    return folder


def contents(folder: Path) -> dict[str, str]:
    """Return a digest of every file, but those that commands were to write."""
    files = (path for path in folder.rglob("*") if path.is_file() and "out" not in path.relative_to(folder).parts)
    return {str(path): hashlib.blake2b(path.read_bytes()).hexdigest() for path in files}


def run(arguments: tuple[str, ...]) -> tuple[int, str, str]:
    from mirrormask.cli import main

    out, err = io.StringIO(), io.StringIO()
    before = sys.argv
    sys.argv = ["mirrormask", *arguments]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as stopped:
            main()
    finally:
        sys.argv = before
    assert isinstance(stopped.value.code, int)
    return stopped.value.code, out.getvalue(), err.getvalue()


def check(ran: tuple[int, str, str], code: int) -> None:
    """One sentence, said last, without anything that would steer the terminal."""
    assert ran[0] == code, ran
    assert ran[1] == ""
    assert "Traceback" not in ran[2]
    message = ran[2][ran[2].index("Error: ") :]
    assert message.count("Error: ") == 1
    assert message.count("\n") == 1 or "problems:" in message
    assert not set(ran[2]) & {"\x1b", "\x9b", "\r"}


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 300
    assert len({name for name, _, _ in CASES}) == len(CASES)


@pytest.mark.parametrize(("arguments", "code"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_bad_input(there: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], code: int) -> None:
    monkeypatch.chdir(there)
    monkeypatch.setenv("MIRRORMASK_DATA", str(there))
    monkeypatch.setenv("MIRRORMASK_MODELS", "")
    shutil.rmtree(there / "out", ignore_errors=True)  # of the case before, whichever it was
    before = contents(there)
    ran = run(arguments)
    assert contents(there) == before, "what was there stays as it was"
    check(ran, code)


@pytest.mark.parametrize("number", range(0, len(CASES), len(CASES) // 8))
def test_bad_input_of_a_real_process(there: Path, number: int) -> None:
    _, arguments, code = CASES[number]
    shutil.rmtree(there / "out", ignore_errors=True)
    environment = {**os.environ, "MIRRORMASK_DATA": str(there), "MIRRORMASK_MODELS": "", "COLUMNS": "40"}
    command = [os.fsencode(each) for each in (sys.executable, "-m", "mirrormask", *arguments)]
    done = subprocess.run(command, cwd=there, env=environment, capture_output=True, timeout=300, check=False)
    check((done.returncode, done.stdout.decode(), done.stderr.decode()), code)
