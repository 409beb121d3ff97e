"""Our training, timed for the benchmarks: the updates between two batches, with a wait for the device at each end."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from mirrormask.core.batch import Batch
from mirrormask.data.batching import Batches
from mirrormask.data.text.corpus import build_corpus
from mirrormask.runs.recipe import build_recipe
from mirrormask.runs.runner import run_recipe

SHAPES = {
    "tiny": {"num_hidden_layers": 2, "hidden_size": 32, "num_attention_heads": 2, "intermediate_size": 64},
    "small": {"num_hidden_layers": 6, "hidden_size": 384, "num_attention_heads": 6, "intermediate_size": 1536},
    "base": {"num_hidden_layers": 12, "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072},
}
"""Random BERTs: what a step takes does not depend on the weights."""


def wait() -> None:
    """Let the GPU finish what it was given, where there is one."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def device_name() -> str:
    return torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"


def choose_device(asked: str) -> None:
    """Make everything run where it was asked for; training takes a GPU wherever there is one."""
    if asked == "cuda" and not torch.cuda.is_available():
        raise SystemExit("There is no GPU here. Leave out --device cuda.")
    if asked == "cpu" and torch.cuda.is_available():
        raise SystemExit(
            "Here is a GPU, which training would take. Hide it with CUDA_VISIBLE_DEVICES= for --device cpu."
        )


def random_model(folder: Path, shape: str, tokenizer_of: str) -> str:
    """Save a random BERT of a shape with the tokenizer of another model."""
    from transformers import AutoTokenizer, BertConfig, BertForMaskedLM

    from mirrormask.models.names import resolve

    tokenizer = AutoTokenizer.from_pretrained(resolve(tokenizer_of))
    vocabulary = max(30_522, len(tokenizer)) if shape == "base" else len(tokenizer)
    BertForMaskedLM(BertConfig(vocab_size=vocabulary, **SHAPES[shape])).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def read_texts(corpus: str, folder: Path, limit: int) -> list[str]:
    found = build_corpus(corpus, folder, limit=limit)
    return [str(text) for text in found.texts(0, len(found))]


def updates_per_second(
    model: str, texts: list[str], *, steps: int, warm: int, pairing: str = "self", **training: Any
) -> float:
    """Train with in-batch negatives for `warm` updates and then `steps` that count.

    Args:
        model: what to start from.
        texts: to train on.
        steps: timed updates.
        warm: updates before them, in which code is compiled and caches are filled.
        pairing: which texts belong together.
        training: settings of the run.
    """
    tables = {
        "model": {"name": model, "pooling": "mean"},
        "method": {"name": "simcse-unsup"},
        "pairing": {"name": pairing},
        "training": {"steps": warm + steps + 1, "evaluate_every": 10**9, **training},
    }
    stamps: list[float] = []
    stream = Batches.stream

    def stamped(self: Batches, start: int, stop: int, rank: int = 0, world: int = 1) -> Iterator[Batch]:
        for number, batch in enumerate(stream(self, start, stop, rank, world)):
            if number in (warm, warm + steps):
                wait()
                stamps.append(time.perf_counter())
            yield batch

    with tempfile.TemporaryDirectory() as folder:
        Batches.stream = stamped  # type: ignore[method-assign]
        try:
            run_recipe(build_recipe(tables), Path(folder) / "run", source=texts)
        finally:
            Batches.stream = stream  # type: ignore[method-assign]
    return steps / (stamps[1] - stamps[0])
