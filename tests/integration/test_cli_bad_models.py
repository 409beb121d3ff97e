"""Every command that takes a model, with every kind of damaged folder: one sentence, exit code 4, no traceback.

`info` tells what stands in the files, so it refuses only those that cannot be read.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from mirrormask.models.encoder import build_encoder, save_encoder

Cli = Callable[..., Any]
Damage = Callable[[Path], object]

MODEL = 4
WEIGHTS = "model.safetensors"


class _Evil:
    """Runs a command when it is unpickled."""

    def __reduce__(self) -> Any:
        return os.system, ("touch executed",)


def _config(**changes: Any) -> Damage:
    def damage(folder: Path) -> None:
        path = folder / "config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    return damage


def _written(name: str, content: str | bytes) -> Damage:
    def damage(folder: Path) -> None:
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)

    return damage


def _torn(name: str) -> Damage:
    def damage(folder: Path) -> None:
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(whole[: len(whole) // 2])

    return damage


def _without(*patterns: str) -> Damage:
    def damage(folder: Path) -> None:
        for path in [path for pattern in patterns for path in folder.glob(pattern)]:
            path.unlink()

    return damage


def _weights(change: Callable[[dict[str, torch.Tensor]], Any], name: str = WEIGHTS) -> Damage:
    def damage(folder: Path) -> None:
        tensors = load_file(folder / name)
        change(tensors)
        save_file(tensors, folder / name, metadata={"format": "pt"})

    return damage


def _pickled(content: Any) -> Damage:
    def damage(folder: Path) -> None:
        (folder / WEIGHTS).unlink()
        (folder / "pytorch_model.bin").write_bytes(content if isinstance(content, bytes) else pickle.dumps(content))

    return damage


def _a_folder_instead(name: str) -> Damage:
    def damage(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).mkdir()

    return damage


def _of_number(tensors: dict[str, torch.Tensor], number: float) -> None:
    name = next(name for name in tensors if "layer.1.output.dense.weight" in name)
    tensors[name][0, 0] = number


def _larger_vocabulary(folder: Path) -> None:
    path = folder / "tokenizer.json"
    content = json.loads(path.read_text())
    content["model"]["vocab"] |= {f"word{number}": 1000 + number for number in range(50)}
    path.write_text(json.dumps(content))


def _index(content: Any) -> Damage:
    def damage(folder: Path) -> None:
        (folder / WEIGHTS).unlink()
        (folder / f"{WEIGHTS}.index.json").write_text(content if isinstance(content, str) else json.dumps(content))

    return damage


WHOLE_MODEL: dict[str, Damage] = {
    "weights torn": _torn(WEIGHTS),
    "weights of noise": _written(WEIGHTS, bytes(range(256)) * 40),
    "weights empty": _written(WEIGHTS, b""),
    "weights a folder": _a_folder_instead(WEIGHTS),
    "no weights": _without(WEIGHTS),
    "weights that run a command": _pickled(_Evil()),
    "pickled noise": _pickled(b"\x80\x04nothing"),
    "index torn": _index('{"weight_map": '),
    "index without a map": _index({"metadata": {}}),
    "index to nothing": _index({"metadata": {}, "weight_map": {"bert.x": "../nowhere.safetensors"}}),
    "config torn": _written("config.json", "{"),
    "config empty": _written("config.json", ""),
    "config a list": _written("config.json", "[]"),
    "config of bytes": _written("config.json", b"\xff\xfe{}"),
    "config too deep": _written("config.json", "[" * 100_000),
    "config a number": _written("config.json", "7"),
    "config without a type": _written("config.json", "{}"),
    "no such type": _config(model_type="no-such-type"),
    "a type that is no text": _config(model_type=["bert"]),
    "heads that do not divide": _config(num_attention_heads=7),
    "no heads": _config(num_attention_heads=0),
    "width below zero": _config(hidden_size=-32),
    "width in words": _config(hidden_size="wide"),
    "dropout of seven": _config(hidden_dropout_prob=7.0),
    "no such activation": _config(hidden_act="no-such-activation"),
    "epsilon in words": _config(layer_norm_eps="small"),
    "padding outside": _config(pad_token_id=10**6),
    "layers in words": _config(num_hidden_layers="three"),
    "more layers than weights": _config(num_hidden_layers=5),
    "weights of another type": _config(model_type="roberta", architectures=["RobertaForMaskedLM"]),
    "weights of a third type": _config(model_type="distilbert", architectures=["DistilBertForMaskedLM"]),
    "another width": _config(hidden_size=64),
    "a larger table": _config(vocab_size=5000),
    "weights that lack a layer": _weights(lambda t: [t.pop(name) for name in list(t) if "layer.1.attention" in name]),
    "weights that are no number": _weights(lambda t: _of_number(t, float("nan"))),
    "weights without end": _weights(lambda t: _of_number(t, float("inf"))),
    "adapters": _written("adapter_config.json", '{"peft_type": "LORA", "base_model_name_or_path": "owner/name"}'),
}
TOKENIZER: dict[str, Damage] = {
    "no tokenizer": _without("tokenizer*", "vocab*"),
    "tokenizer torn": _torn("tokenizer.json"),
    "tokenizer empty": _written("tokenizer.json", ""),
    "tokenizer of nothing": _written("tokenizer.json", "{}"),
    "tokenizer settings torn": _torn("tokenizer_config.json"),
    "tokenizer settings a list": _written("tokenizer_config.json", "[]"),
}
OTHER_VOCABULARY: dict[str, Damage] = {"tokenizer of a larger model": _larger_vocabulary}
MODULES: dict[str, Damage] = {
    "modules torn": _written("modules.json", "["),
    "modules of nothing": _written("modules.json", "[]"),
    "modules an object": _written("modules.json", "{}"),
    "modules of numbers": _written("modules.json", "[1, 2]"),
    "no such module": _written("modules.json", '[{"idx": 0, "name": "0", "path": "", "type": "os.system"}]'),
    "pooling torn": _written("1_Pooling/config.json", "{"),
    "pooling a list": _written("1_Pooling/config.json", "[]"),
    "no pooling": lambda folder: shutil.rmtree(folder / "1_Pooling"),
    "no such pooling": _written("1_Pooling/config.json", '{"embedding_dimension": 32, "pooling_mode": "all"}'),
    "pooling of another width": _written("1_Pooling/config.json", '{"embedding_dimension": 7, "pooling_mode": "mean"}'),
    "settings torn": _written("sentence_bert_config.json", "{"),
    "length in words": _written("sentence_bert_config.json", '{"max_seq_length": "long"}'),
    "length below zero": _written("sentence_bert_config.json", '{"max_seq_length": -5}'),
}
FACTS: dict[str, Damage] = {
    "facts torn": _written("mirrormask.json", "{"),
    "facts a text": _written("mirrormask.json", '"abc"'),
    "facts too deep": _written("mirrormask.json", "[" * 100_000),
}
HEAD: dict[str, Damage] = {
    "head torn": _torn("lm_head.safetensors"),
    "head of nothing": _written("lm_head.safetensors", b""),
    "head of another width": _weights(
        lambda t: t.update({name: torch.zeros(7) for name in list(t)}), name="lm_head.safetensors"
    ),
}


@pytest.fixture(scope="module")
def encoder_folder(tmp_path_factory: pytest.TempPathFactory, tiny_folder: Path) -> Path:
    folder = tmp_path_factory.mktemp("encoder") / "encoder"
    save_encoder(build_encoder(tiny_folder, pooling="mean", device="cpu"), folder)
    return folder


@pytest.fixture
def verbs(corpus_file: Path, pairs_file: Path, tmp_path: Path) -> dict[str, Callable[[Path], list[Any]]]:
    """Every command that takes a model, as arguments for a folder."""
    recipe, out = tmp_path / "recipe.toml", tmp_path / "out"

    def run(folder: Path) -> list[Any]:
        recipe.write_text(
            f"[model]\nname = {json.dumps(str(folder))}\n[data]\ncorpus = [{json.dumps(str(corpus_file))}]\n"
            '[method]\nname = "simcse-unsup"\n[training]\nsteps = 1\nbatch_size = 8\nmax_length = 16\n'
        )
        return ["run", recipe, "--out", out]

    few = ["--steps", "1", "--batch-size", "8"]
    short = ["--length", "16", "--held-out", "10"]
    return {
        "train": lambda folder: ["train", corpus_file, "--model", folder, "--out", out, *few],
        "run": run,
        "encode": lambda folder: ["encode", corpus_file, "--model", folder, "--out", tmp_path / "out.npy"],
        "similarity": lambda folder: ["similarity", "a wooden boat", "the gray cat", "--model", folder],
        "evaluate": lambda folder: ["evaluate", folder, "--data", pairs_file, "--resamples", "9"],
        "info": lambda folder: ["info", folder],
        "probe": lambda folder: ["probe", "the gray cat", "--model", folder],
        "init": lambda folder: ["pretrain", corpus_file, "--init", folder, "--out", out, *few, *short],
        "tokenizer": lambda folder: ["pretrain", corpus_file, "--tokenizer", folder, "--out", out, *few, *short],
    }


ENCODERS = ("train", "run", "encode", "similarity", "evaluate", "info")
MASKED = ("probe", "init")
CASES = [
    *(("masked", kind, damage, (*ENCODERS, *MASKED)) for kind, damage in (WHOLE_MODEL | OTHER_VOCABULARY).items()),
    *(("masked", kind, damage, (*ENCODERS, *MASKED, "tokenizer")) for kind, damage in TOKENIZER.items()),
    *(("encoder", kind, damage, ENCODERS) for kind, damage in MODULES.items()),
    *(("encoder", kind, damage, ("info",)) for kind, damage in FACTS.items()),
    *(("encoder", kind, damage, MASKED) for kind, damage in HEAD.items()),
]


@pytest.mark.parametrize(("of", "kind", "damage", "refusing"), CASES, ids=[case[1] for case in CASES])
def test_a_damaged_model_is_refused_by_every_command(
    of: str,
    kind: str,
    damage: Damage,
    refusing: tuple[str, ...],
    cli: Cli,
    verbs: dict[str, Callable[[Path], list[Any]]],
    tiny_folder: Path,
    encoder_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "damaged"
    shutil.copytree(tiny_folder if of == "masked" else encoder_folder, folder)
    damage(folder)
    wrong = []
    for verb in refusing:
        ran = cli(*verbs[verb](folder))
        message = ran.err[ran.err.find("Error: ") :]
        sentence = message.count("\n") == 1 and message.endswith(".\n") and str(folder) in message
        if verb == "info" and ran.code == 0 and kind not in FACTS:  # it reads the files, and these can be read
            continue
        if ran.code != MODEL or not sentence or "Traceback" in ran.err or "no local folder" in message:
            wrong.append(f"{verb}: {ran.code} {ran.err or ran.out}")
    assert wrong == []
    assert not (tmp_path / "executed").exists()
    assert not (tmp_path / "out.npy").exists()
    assert not (tmp_path / "out" / "model").exists()


def test_a_whole_model_is_taken_by_every_command(
    cli: Cli, verbs: dict[str, Callable[[Path], list[Any]]], encoder_folder: Path, tmp_path: Path
) -> None:
    for verb, arguments in verbs.items():
        ran = cli(*arguments(encoder_folder))
        assert ran.code == 0, (verb, ran)
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
