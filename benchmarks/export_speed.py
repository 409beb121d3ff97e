"""Exports against `SentenceTransformer.encode` in float32: sentences per second and STS-B test, in one run.

Every way encodes the same sentences of STS-B test in turns, one after the other, so that what else the machine does
strikes all of them; speeds are medians over the turns. Scores are of the whole test set. Where model2vec is installed
(with its extra for distilling), its table of the same encoder stands beside ours.

    MIRRORMASK_DATA=... python benchmarks/export_speed.py --threads 2
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

TEXTS = 45_000
"""Sentences that static learns from."""

EXACT = 0.3
"""STS points within which a backend is exact enough."""

_END = re.compile(r"(?<=[.!?])\s+")
FEW = 128  # sentences of a turn for what runs a transformer; a table runs all of them


def mixture(corpora: list[str]) -> list[str]:
    """Return sentences of several corpora, as many of each, drawn over their whole length and mixed."""
    from mirrormask.data.text.files import records
    from mirrormask.data.text.sources import find_corpus

    found: list[str] = []
    for name in corpora:
        path = Path(name) if Path(name).is_file() else find_corpus(name)
        if path is None:
            raise SystemExit(f"There is no corpus {name} under MIRRORMASK_DATA.")
        lines = [str(row["text"]) for row in records(path)]
        share = TEXTS // len(corpora)
        chosen = random.Random(1).sample(lines, min(share, len(lines)))
        found += [random.Random(place).choice(_END.split(line)) for place, line in enumerate(chosen)]
    found = [text for text in found if 4 <= len(text.split()) <= 40]
    random.Random(2).shuffle(found)
    return found


def ways(model: str, corpus: list[str], folder: Path, peer: str) -> dict[str, Callable[[list[str]], Any]]:
    """Return every way to encode texts by its name, the library's own first."""
    from mirrormask.exporting.export_model import export_model
    from mirrormask.models.bulk import encode_texts
    from mirrormask.models.encoder import load
    from mirrormask.models.names import resolve

    original = load(model, device="cpu")
    found: dict[str, Callable[[list[str]], Any]] = {
        "sentence-transformers": lambda texts: original.encode(texts, show_progress_bar=False),
        "mirrormask, torch": lambda texts: encode_texts(original, texts),
    }
    for to in ("onnx", "onnx-int8", "openvino", "static"):
        export_model(model, folder / to, to=to, corpus=corpus if to == "static" else None, max_loss=100)
        encoder = load(folder / to)
        found[to] = lambda texts, encoder=encoder: encode_texts(encoder, texts)
    try:
        from model2vec import StaticModel
        from model2vec.distill import distill

        static = StaticModel.from_pretrained(peer) if peer else distill(resolve(model))
        found["model2vec"] = lambda texts: static.encode(texts)
    except Exception as error:  # not there, or not for these versions of the libraries
        print(f"model2vec is left out: {type(error).__name__}: {error}")
    return found


def score(encode: Callable[[list[str]], Any]) -> float:
    """Return Spearman's correlation on STS-B test, in points."""
    from scipy.stats import spearmanr

    from mirrormask.core.similarity import paired_cosine
    from mirrormask.data.tasks.sts_tasks import load_sts

    task = load_sts("stsb")
    one, other = encode(list(task.sentence1)), encode(list(task.sentence2))
    return 100 * float(spearmanr(paired_cosine(one, other), task.scores).statistic)


def speeds(found: dict[str, Callable[[list[str]], Any]], texts: list[str], turns: int) -> dict[str, float]:
    """Return the sentences per second of every way, the median of its turns."""
    rates: dict[str, list[float]] = {name: [] for name in found}
    for turn in range(turns + 1):  # the first warms up
        for name, encode in found.items():
            table = name in ("static", "model2vec")
            start = (turn * FEW) % max(1, len(texts) - FEW)
            mine = texts if table else texts[start : start + FEW]
            begun = time.perf_counter()
            encode(mine)
            if turn:
                rates[name].append(len(mine) / (time.perf_counter() - begun))
    return {name: statistics.median(each) for name, each in rates.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="mini-sentence")
    names = ["wiki100k", "en-4", "en-6"]
    parser.add_argument(
        "--corpus", nargs="+", default=names, help="what static learns from: files or names in the data"
    )
    parser.add_argument("--peer", default="", help="a folder that model2vec distilled before; else it does so now")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    import torch

    from mirrormask.data.tasks.sts_tasks import load_sts

    torch.set_num_threads(options.threads)
    task = load_sts("stsb")
    texts = list(dict.fromkeys([*task.sentence1, *task.sentence2]))
    texts = [texts[place] for place in np.random.default_rng(0).permutation(len(texts))]
    with tempfile.TemporaryDirectory() as folder:
        found = ways(options.model, mixture(options.corpus), Path(folder), options.peer)
        rates = speeds(found, texts, options.turns)
        scores = {name: score(encode) for name, encode in found.items()}
    own = "sentence-transformers"
    figures = {
        name: {
            "sentences_per_second": round(rate, 1),
            "ratio": round(rate / rates[own], 2),
            "stsb_test": round(scores[name], 2),
            "loss": round(scores[own] - scores[name], 2),
        }
        for name, rate in rates.items()
    }
    for name, row in figures.items():
        print(f"{name:<24}" + "  ".join(f"{key} {value}" for key, value in row.items()))
    exact = {name: row for name, row in figures.items() if abs(row["loss"]) <= EXACT and name != "static"}
    best = max(exact, key=lambda name: exact[name]["ratio"])
    told = {"name": "export_speed", "ratio": exact[best]["ratio"], "best": best, "threads": options.threads}
    told |= {"static_ratio": figures["static"]["ratio"], "static_loss": figures["static"]["loss"], "figures": figures}
    print(json.dumps(told))


if __name__ == "__main__":
    main()
