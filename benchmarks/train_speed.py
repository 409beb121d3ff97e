"""Training speed against what a careful user has without us: the same model, texts, batches, precision and machine.

    python benchmarks/train_speed.py --model mini --corpus wiki100k
    python benchmarks/train_speed.py --shape base --steps 200 --warm 40      # a GPU, a random 12x768 BERT

Peers, turn by turn with ours in one process:
- `trainer`: `SentenceTransformerTrainer` with `MultipleNegativesRankingLoss`, the fused optimizer and, on a GPU,
  workers for its data. It needs the package `datasets`.
- `loop`: a bare eager loop without any data loading: texts tokenized once ahead, batches padded to their longest row
  and kept in pinned memory, both views in one pass, scaled-dot-product attention, fused AdamW, autocast.
- `loop_compiled`: the same loop under `torch.compile`; on a GPU, or with --compiled.

`ratio` is ours over `peer`, which is the trainer where there is one and the loop otherwise; `ratios` has all of them.
Both sides compute in the precision the device is good at. Where that is not float32, `--float32` adds both in float32,
and `defaults`, ours against the peer in float32, which is what the trainer does unless asked.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from timed_training import SHAPES, device_name, random_model, read_texts, updates_per_second, wait

from mirrormask.models.encoder import build_encoder
from mirrormask.models.precision import best_precision

LEARNING_RATE, TEMPERATURE = 3e-5, 0.05


def ours(
    model: str, texts: list[str], batch: int, length: int, steps: int, warm: int, *, precision: str, compile: str
) -> float:
    rate = updates_per_second(
        model,
        texts,
        steps=steps,
        warm=warm,
        batch_size=batch,
        max_length=length,
        precision=precision,
        compile=compile,
        learning_rate=LEARNING_RATE,
    )
    return rate * batch


def trainer(model: str, texts: list[str], batch: int, length: int, steps: int, warm: int, *, precision: str) -> float:
    from datasets import Dataset
    from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
    from transformers import TrainerCallback

    encoder = build_encoder(model, pooling="mean")
    encoder.max_seq_length = length
    stamps: list[float] = []

    class Stamp(TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, _arguments: Any, state: Any, *_: Any, **__: Any) -> None:
            if state.global_step in (warm, warm + steps):
                wait()
                stamps.append(time.perf_counter())

    data = Dataset.from_dict({"anchor": texts, "positive": texts})
    with tempfile.TemporaryDirectory() as folder:
        arguments = SentenceTransformerTrainingArguments(
            output_dir=folder,
            use_cpu=not torch.cuda.is_available(),  # or bf16 is refused where a GPU is hidden
            per_device_train_batch_size=batch,
            max_steps=steps + warm,
            learning_rate=LEARNING_RATE,
            bf16=precision == "bf16",
            optim="adamw_torch_fused",
            dataloader_pin_memory=torch.cuda.is_available(),
            dataloader_num_workers=4 if torch.cuda.is_available() else 0,
            dataloader_persistent_workers=torch.cuda.is_available(),
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
            logging_strategy="no",
        )
        SentenceTransformerTrainer(
            model=encoder,
            args=arguments,
            train_dataset=data,
            loss=MultipleNegativesRankingLoss(encoder, scale=1 / TEMPERATURE),
            callbacks=[Stamp()],
        ).train()
    return batch * steps / (stamps[1] - stamps[0])


def padded_batches(
    encoder: Any, texts: list[str], batch: int, length: int, count: int, widths: int
) -> list[dict[str, torch.Tensor]]:
    """Return `count` batches, tokenized and padded, each row twice for its two views; pinned where there is a GPU."""
    tokenizer = encoder.tokenizer
    rows = tokenizer(texts, truncation=True, max_length=length)["input_ids"]
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(0)).tolist()
    found = []
    for number in range(count):
        chosen = [rows[order[(number * batch + i) % len(rows)]] for i in range(batch)]
        made = tokenizer.pad({"input_ids": chosen * 2}, pad_to_multiple_of=widths, return_tensors="pt")
        kept = {name: made[name] for name in ("input_ids", "attention_mask")}
        found.append({name: t.pin_memory() for name, t in kept.items()} if torch.cuda.is_available() else kept)
    return found


def loop(
    model: str,
    texts: list[str],
    batch: int,
    length: int,
    steps: int,
    warm: int,
    *,
    precision: str,
    compiled: bool = False,
) -> float:
    encoder = build_encoder(model, pooling="mean").train()
    device = encoder.device
    widths = 8 if torch.cuda.is_available() else 1
    batches = padded_batches(encoder, texts, batch, length, steps + warm, 16 if compiled else widths)
    if compiled:
        encoder[0].model.compile(dynamic=False)
    optimizer = torch.optim.AdamW(encoder.parameters(), lr=LEARNING_RATE, fused=True)
    labels = torch.arange(batch, device=device)
    chosen = best_precision(device, precision)
    begun = 0.0
    for step, made in enumerate(batches):
        if step == warm:
            wait()
            begun = time.perf_counter()
        given = {name: tensor.to(device, non_blocking=True) for name, tensor in made.items()}
        with chosen.autocast(device):
            vectors = encoder(given)["sentence_embedding"]
        vectors = torch.nn.functional.normalize(vectors.float(), dim=-1)
        loss = torch.nn.functional.cross_entropy(vectors[:batch] @ vectors[batch:].T / TEMPERATURE, labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
        optimizer.step()
    wait()
    return batch * steps / (time.perf_counter() - begun)


def contestants(peer: str, best: str, *, compiled: bool, float32: bool) -> dict[str, Callable[..., float]]:
    """Return what is measured, by name; `peer` and `ours` are always there."""
    gpu = torch.cuda.is_available()
    found: dict[str, Callable[..., float]] = {
        "peer": partial(trainer if peer == "trainer" else loop, precision=best),
        "ours": partial(ours, precision=best, compile="on" if gpu else "off"),
    }
    if peer == "trainer":
        found["loop"] = partial(loop, precision=best)
    if gpu or compiled:
        found["loop_compiled"] = partial(loop, precision=best, compiled=True)
    if gpu:
        found["ours_eager"] = partial(ours, precision=best, compile="off")
    if float32 and best != "fp32":
        found["peer_float32"] = partial(trainer if peer == "trainer" else loop, precision="fp32")
        found["ours_float32"] = partial(ours, precision="fp32", compile="off")
    return found


def ratios(rates: dict[str, float]) -> dict[str, float]:
    """Return ours over each peer, like with like."""
    pairs = {name: ("ours", name) for name in ("peer", "loop", "loop_compiled")}
    pairs |= {"eager": ("ours_eager", "peer"), "float32": ("ours_float32", "peer_float32")}
    pairs["defaults"] = ("ours", "peer_float32")
    return {name: round(rates[a] / rates[b], 3) for name, (a, b) in pairs.items() if a in rates and b in rates}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="mini", help="also whose tokenizer a random BERT has")
    parser.add_argument("--shape", choices=["model", *SHAPES], default="model", help="a random BERT instead")
    parser.add_argument("--corpus", default="wiki100k")
    parser.add_argument("--peer", choices=["auto", "trainer", "loop"], default="auto")
    parser.add_argument("--precision", choices=["auto", "fp32", "bf16"], default="auto", help="of both sides")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--max-length", type=int, default=32)
    parser.add_argument("--steps", type=int, default=12, help="timed updates in each round")
    parser.add_argument("--warm", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--compiled", action="store_true", help="also the compiled loop on a CPU")
    parser.add_argument("--float32", action="store_true", help="also both in float32")
    options = parser.parse_args()
    peer = options.peer
    if peer == "auto":
        peer = "trainer" if importlib.util.find_spec("datasets") else "loop"
    best = best_precision("cuda" if torch.cuda.is_available() else "cpu", options.precision).name
    measured = contestants(peer, best, compiled=options.compiled, float32=options.float32)
    rates: dict[str, list[float]] = {name: [] for name in measured}
    with tempfile.TemporaryDirectory() as folder:
        model = options.model
        if options.shape != "model":
            model = random_model(Path(folder) / "random", options.shape, options.model)
        # so few that ours, too, tokenizes them all before it begins
        enough = min(20_000, 9 * options.batch_size * (options.steps + options.warm))
        texts = read_texts(options.corpus, Path(folder) / "corpus", enough)
        shape = (model, texts, options.batch_size, options.max_length, options.steps, options.warm)
        for number in range(options.rounds):
            for name, run in measured.items():
                rates[name].append(run(*shape))
            print(f"round {number + 1}:", {name: round(values[-1], 1) for name, values in rates.items()}, flush=True)
    median = {name: statistics.median(values) for name, values in rates.items()}
    found = ratios(median)
    figures = {
        "name": "train_speed",
        "ratio": found["peer"],
        "ratios": found,
        "peer": {"trainer": "SentenceTransformerTrainer", "loop": "eager loop"}[peer],
        "sentences_per_second": {name: round(value, 1) for name, value in median.items()},
        "precision": best,
        "device": device_name(),
        "batch_size": options.batch_size,
        "max_length": options.max_length,
        "shape": options.shape,
        "rounds": options.rounds,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
