"""What training takes with pairs that are drawn from texts, as a multiple of training on the texts themselves.

    python benchmarks/pairing_cost.py --model mini --corpus wiki100k
    python benchmarks/pairing_cost.py --device cuda --steps 300 --warm 40

Every pairing trains the same model with the same batch size, turn by turn with `self`. A step holds as many rows either
way, of fewer tokens where passages are shorter than texts; `batches_per_second` is what one thread draws by itself.
The last line is one JSON object: `ratio` is the time with `keywords` over that with `self`, with a bar of 1.5.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

from timed_training import SHAPES, choose_device, device_name, random_model, read_texts, updates_per_second

from mirrormask.core.framing import frame_of
from mirrormask.data.batching import Batches
from mirrormask.data.pairs import pairings
from mirrormask.data.text.corpus import build_corpus
from mirrormask.data.text.tokens import build_tokens
from mirrormask.models.encoder import build_encoder

BAR = 1.5


def drawing(model: str, texts: list[str], names: list[str], batch: int, length: int, folder: Path) -> dict[str, float]:
    """Return the batches a second that one thread makes of each pairing, medians taken turn by turn."""
    tokenizer = build_encoder(model, pooling="mean").tokenizer
    frame = frame_of(tokenizer)
    corpus = build_corpus(texts, folder / "corpus")
    made = {}
    for name in names:
        pairing = pairings.build(name)
        kept = pairing.max_tokens_needed(length - len(frame))
        tokens = build_tokens(corpus, tokenizer, folder / f"tokens-{kept}", max_tokens=kept)
        examples = pairing.index(corpus, tokens, folder / name)
        made[name] = Batches(examples, frame, batch_size=batch, max_length=length, seed=1)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for step in range(60):
        for name, batches in made.items():
            begun = time.thread_time()
            batches.at(step)
            seconds[name].append(time.thread_time() - begun)
    return {name: round(1 / statistics.median(values[10:]), 1) for name, values in seconds.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="mini", help="also whose tokenizer a random BERT has")
    parser.add_argument("--shape", choices=["model", *SHAPES], default="model", help="a random BERT instead")
    parser.add_argument("--corpus", default="wiki100k")
    parser.add_argument("--pairings", default="keywords", help="names, separated by commas")
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto")
    parser.add_argument("--compile", choices=["auto", "on", "off"], default="auto", help="auto: where training would")
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--max-length", type=int, default=32)
    parser.add_argument("--steps", type=int, default=10, help="timed updates in each round")
    parser.add_argument("--warm", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    choose_device(options.device)
    names = ["self", *options.pairings.split(",")]
    seconds: dict[str, list[float]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as folder:
        model = options.model
        if options.shape != "model":
            model = random_model(Path(folder) / "random", options.shape, options.model)
        enough = min(50_000, 9 * options.batch_size * (options.steps + options.warm))
        texts = read_texts(options.corpus, Path(folder) / "corpus", enough)
        drawn = drawing(model, texts, names, options.batch_size, options.max_length, Path(folder) / "drawing")
        print("batches per second of one thread:", drawn, flush=True)
        for number in range(options.rounds):
            for name in names:
                rate = updates_per_second(
                    model,
                    texts,
                    steps=options.steps,
                    warm=options.warm,
                    pairing=name,
                    batch_size=options.batch_size,
                    max_length=options.max_length,
                    compile=options.compile,
                )
                seconds[name].append(1 / rate)
            print(f"round {number + 1}:", {n: f"{1 / v[-1]:.2f} updates/s" for n, v in seconds.items()}, flush=True)
    median = {name: statistics.median(values) for name, values in seconds.items()}
    ratios = {name: round(median[name] / median["self"], 3) for name in names[1:]}
    figures = {
        "name": "pairing_cost",
        "ratio": ratios[names[1]],
        "bar": BAR,
        "ratios": ratios,
        "updates_per_second": {name: round(1 / value, 2) for name, value in median.items()},
        "batches_per_second": drawn,
        "compile": options.compile,
        "device": device_name(),
        "batch_size": options.batch_size,
        "max_length": options.max_length,
        "shape": options.shape,
        "rounds": options.rounds,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
