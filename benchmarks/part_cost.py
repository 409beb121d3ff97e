"""What a step costs with each part, as a multiple of a plain SimCSE step on the same machine, interleaved.

python benchmarks/part_cost.py --model mini --corpus wiki100k --batch 256
python benchmarks/part_cost.py --only stabilizers,negatives --compile
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mirrormask.core.batch import Batch, Tokens
from mirrormask.core.framing import frame_of
from mirrormask.data.text.corpus import build_corpus
from mirrormask.data.text.tokens import LazyTokens
from mirrormask.data.text.vocabulary import word_starts
from mirrormask.methods.composition import composition
from mirrormask.models.encoder import build_encoder
from mirrormask.models.precision import best_precision
from mirrormask.runs.catalogue import registries
from mirrormask.training.compiling import WIDTHS, compile_encoder
from mirrormask.training.method import Method
from mirrormask.training.optimizer import adamw
from mirrormask.views import Vocabulary

BARS = {"sam": 2.1, "awp": 2.1, "gaussian": 1.05, "covariance": 1.05, "memory-bank": 1.05, "mixture": 1.5}
BARS |= {"variational": 1.5}
"""The most a step may cost, for parts that have such a bar."""


def tables(only: set[str]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    if "stabilizers" in only:
        found |= {name: {"stabilizer": name} for name in registries()["stabilizer"].names() if name != "plain"}
        found["awp + fgsm"] = {"views": ["dropout", "fgsm"], "stabilizer": "awp"}
    if "negatives" in only:
        found |= {name: {"negatives": name} for name in registries()["negative source"].names()}
    if "views" in only:
        found |= {name: {"views": ["dropout", name]} for name in registries()["view"].names() if name != "dropout"}
    if "objectives" in only:
        found["contrastive-tension"] = {"objective": "contrastive-tension"}
        found["masked-lm"] = {"objective": ["info-nce", {"name": "masked-lm", "weight": 0.1}]}
    return found


def stepper(table: dict[str, Any], model: str, batches: list[Batch], compiled: bool) -> Callable[[int], float]:
    """Return a function that does one whole update and gives its seconds."""
    encoder, parts = build_encoder(model, pooling="mean"), composition(**table)
    tokenizer = encoder.tokenizer
    special = frozenset(tokenizer.all_special_ids)
    words = Vocabulary(frame_of(tokenizer), word_starts(tokenizer), tokenizer.mask_token_id, special)
    method = Method(encoder, parts, words, pad_to=WIDTHS if compiled else 1).train()
    device = next(encoder.parameters()).device
    method.to(device)
    if compiled:
        compile_encoder(encoder)
    optimizer = adamw(method, learning_rate=1e-4, weight_decay=0.0)
    weights = [p for p in method.parameters() if p.requires_grad]
    precision = best_precision(device)

    def update(number: int) -> float:
        def closure(draw: int = 0) -> Tensor:
            optimizer.zero_grad(set_to_none=True)
            torch.manual_seed(number + 1_000_000 * draw)
            with precision.autocast(device):
                loss: Tensor = method(batches[number % len(batches)], number)
            loss.backward()  # type: ignore[no-untyped-call]
            return loss.detach()

        wait(device)
        begun = time.perf_counter()
        parts.stabilizer.step(closure, method)
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        method.observe()
        wait(device)
        return time.perf_counter() - begun

    return update


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="mini")
    parser.add_argument("--corpus", default="wiki100k")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--length", type=int, default=32)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--warm", type=int, default=15)
    parser.add_argument("--only", default="stabilizers,negatives,views,objectives")
    parser.add_argument("--compile", action="store_true")
    arguments = parser.parse_args()
    encoder = build_encoder(arguments.model, pooling="mean")
    frame = frame_of(encoder.tokenizer)
    with tempfile.TemporaryDirectory() as folder:
        rows = 8 * arguments.batch
        corpus = build_corpus(arguments.corpus, Path(folder) / "corpus", limit=rows)
        tokens = LazyTokens(corpus, encoder.tokenizer, max_tokens=arguments.length)
        framed = [frame.around(np.asarray(ids), arguments.length) for ids in tokens.take(range(len(corpus)))]
    batches = [
        Batch((Tokens.of(framed[start : start + arguments.batch]),))
        for start in range(0, len(framed) - arguments.batch + 1, arguments.batch)
    ]
    found = {}
    for name, table in tables(set(arguments.only.split(","))).items():
        plain, other = (stepper(each, arguments.model, batches, arguments.compile) for each in ({}, table))
        times: dict[str, list[float]] = {"plain": [], "part": []}
        for number in range(arguments.warm + arguments.steps):
            for which, update in (("plain", plain), ("part", other)):
                seconds = update(number)
                if number >= arguments.warm:
                    times[which].append(seconds)
        base, cost = (statistics.median(times[which]) for which in ("plain", "part"))
        found[name] = {"plain_ms": round(1e3 * base, 2), "ms": round(1e3 * cost, 2), "ratio": round(cost / base, 3)}
        if name in BARS:
            found[name]["bar"] = BARS[name]
        print(json.dumps({name: found[name]}), flush=True)
    over = [name for name, row in found.items() if row["ratio"] > row.get("bar", float("inf"))]
    print(json.dumps({"device": str(next(encoder.parameters()).device), "over_the_bar": over}))


if __name__ == "__main__":
    main()
