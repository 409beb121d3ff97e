"""Training speed against sentence-transformers' own trainer, on the same model, batches and machine, interleaved.

    python benchmarks/train_speed.py --model mini --corpus wiki100k
    python benchmarks/train_speed.py --shape base --corpus wiki100k      # a GPU, a random 12x768 BERT

Ours runs with its defaults (the precision the device is good at), then once more in float32. The peer is
`SentenceTransformerTrainer` with `MultipleNegativesRankingLoss` and its defaults; where `datasets` is not installed,
a plain eager loop over padded batches of the library's own model stands in for it.
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

import torch

from mirrormask.data.text.corpus import build_corpus
from mirrormask.models.encoder import build_encoder
from mirrormask.models.precision import best_precision
from mirrormask.runs.recipe import build_recipe
from mirrormask.runs.runner import Reporter, run_recipe


class Clock(Reporter):
    """Adds up the time of the updates after the first `warm`."""

    def __init__(self, warm: int) -> None:
        self.warm = warm
        self.seconds: list[float] = []

    def step(self, step: int, metrics: dict[str, float]) -> None:
        if step > self.warm:
            self.seconds.append(1 / metrics["steps_per_second"])

    @property
    def rate(self) -> float:
        """Return updates per second."""
        return len(self.seconds) / sum(self.seconds)


def ours(model: str, texts: list[str], batch: int, length: int, steps: int, warm: int, precision: str) -> float:
    recipe = build_recipe(
        {
            "model": {"name": model, "pooling": "mean"},
            "method": {"name": "simcse-unsup"},
            "training": {
                "batch_size": batch,
                "max_length": length,
                "steps": steps + warm,
                "precision": precision,
                "evaluate_every": 10**9,
                "compile": "on" if torch.cuda.is_available() and precision != "fp32" else "off",
            },
        }
    )
    clock = Clock(warm)
    with tempfile.TemporaryDirectory() as folder:
        import mirrormask.runs.runner as runner
        from mirrormask.evaluation.selection import Selection

        kept = runner.choose_selection
        runner.choose_selection = lambda *_: Selection("last", "", None)
        try:
            run_recipe(recipe, Path(folder) / "run", source=texts, reporter=clock)
        finally:
            runner.choose_selection = kept
    return clock.rate * batch


def trainer(model: str, texts: list[str], batch: int, length: int, steps: int, warm: int) -> float:
    from datasets import Dataset
    from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
    from transformers import TrainerCallback

    encoder = build_encoder(model, pooling="mean")
    encoder.max_seq_length = length
    times: list[float] = []

    class Stamp(TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, *_: Any, **__: Any) -> None:
            times.append(time.perf_counter())

    data = Dataset.from_dict({"anchor": texts, "positive": texts})
    with tempfile.TemporaryDirectory() as folder:
        arguments = SentenceTransformerTrainingArguments(
            output_dir=folder,
            per_device_train_batch_size=batch,
            max_steps=steps + warm,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
            logging_strategy="no",
        )
        SentenceTransformerTrainer(
            model=encoder,
            args=arguments,
            train_dataset=data,
            loss=MultipleNegativesRankingLoss(encoder),
            callbacks=[Stamp()],
        ).train()
    return batch * steps / (times[-1] - times[warm - 1])


def plain_loop(model: str, texts: list[str], batch: int, length: int, steps: int, warm: int) -> float:
    """An eager loop at the device's best precision: two forwards over padded batches."""
    encoder = build_encoder(model, pooling="mean")
    encoder.max_seq_length = length
    encoder.train()
    precision = best_precision(encoder.device)
    optimizer = torch.optim.AdamW(encoder.parameters(), lr=3e-5)
    begun = 0.0
    for step in range(steps + warm):
        if step == warm:
            _wait()
            begun = time.perf_counter()
        rows = [texts[(step * batch + i) % len(texts)] for i in range(batch)]
        with precision.autocast(encoder.device):
            views = [
                encoder({k: v.to(encoder.device) for k, v in encoder.preprocess(rows).items() if k != "modality"})
                for _ in range(2)
            ]
        one, two = (torch.nn.functional.normalize(v["sentence_embedding"].float(), dim=-1) for v in views)
        loss = torch.nn.functional.cross_entropy(one @ two.T / 0.05, torch.arange(batch, device=one.device))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
        optimizer.step()
    _wait()
    return batch * steps / (time.perf_counter() - begun)


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def random_model(folder: Path, tokenizer_of: str) -> str:
    """Save a random BERT of base shape with the tokenizer of another model."""
    from transformers import AutoTokenizer, BertConfig, BertForMaskedLM

    from mirrormask.models.names import resolve

    tokenizer = AutoTokenizer.from_pretrained(resolve(tokenizer_of))
    BertForMaskedLM(BertConfig(vocab_size=30_522)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="mini")
    parser.add_argument("--shape", choices=["model", "base"], default="model", help="base: a random 12x768 BERT")
    parser.add_argument("--corpus", default="wiki100k")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--max-length", type=int, default=32)
    parser.add_argument("--steps", type=int, default=12, help="timed updates in each round")
    parser.add_argument("--warm", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = random_model(Path(folder) / "base", options.model) if options.shape == "base" else options.model
        corpus = build_corpus(options.corpus, Path(folder) / "corpus", limit=20_000)
        texts = [str(text) for text in corpus.texts(0, len(corpus))]
        shape = (model, texts, options.batch_size, options.max_length, options.steps, options.warm)
        try:
            import datasets  # noqa: F401

            peer: Callable[..., float] = trainer
            peer_name = "SentenceTransformerTrainer"
        except ImportError:
            peer, peer_name = plain_loop, "eager loop"
        rates: dict[str, list[float]] = {"peer": [], "ours": [], "ours_fp32": []}
        for number in range(options.rounds):
            rates["peer"].append(peer(*shape))
            rates["ours"].append(ours(*shape, "auto"))
            rates["ours_fp32"].append(ours(*shape, "fp32"))
            print(f"round {number + 1}:", {name: round(values[-1], 1) for name, values in rates.items()}, flush=True)
    median = {name: statistics.median(values) for name, values in rates.items()}
    print(
        json.dumps(
            {
                "name": "train_speed",
                "ratio": round(median["ours"] / median["peer"], 3),
                "ratio_fp32": round(median["ours_fp32"] / median["peer"], 3),
                "peer": peer_name,
                "sentences_per_second": {name: round(value, 1) for name, value in median.items()},
                "precision": best_precision("cuda" if torch.cuda.is_available() else "cpu").name,
                "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
                "batch_size": options.batch_size,
                "max_length": options.max_length,
                "shape": options.shape,
            }
        )
    )


if __name__ == "__main__":
    main()
