"""How fast Mirror-BERT trains on 10,000 sentences, against the same model with every text padded to 50 tokens.

python benchmarks/mirror_speed.py

Both are measured in one run, in turns, the same updates: spans masked, both views through the encoder, the loss over
2n - 1 candidates, backward and update. The padded one is what the published code does. The last line is JSON.
"""

from __future__ import annotations

import argparse
import copy
import json
import time
from typing import Any

import torch
from mirror_runs import Texts, lines_of
from timed_training import device_name, wait

from mirrormask.core.batch import Batch
from mirrormask.core.framing import frame_of
from mirrormask.data.batching import Batches
from mirrormask.methods import methods
from mirrormask.models.bulk import tokenize
from mirrormask.models.encoder import build_encoder
from mirrormask.models.precision import best_precision, varied_shapes
from mirrormask.training.method import Method
from mirrormask.training.quick_dropout import quickened
from mirrormask.views import Vocabulary

PADDED = 50


def method_of(encoder: Any, tokens: bool) -> Method:
    """Return Mirror-BERT on an encoder."""
    return Method(encoder, methods.build("mirror-bert", tokens=tokens), Vocabulary.of(encoder)).train()


class PaddedMethod(Method):
    """The same, every row through the encoder at one width and in one piece."""

    def _encode(self, view: Any, tokens: Any, words: Any, at: Any = None) -> Any:
        ids, mask = tokens.padded(0, range(len(tokens)), multiple_of=PADDED, at_most=PADDED)
        device = next(self.encoder.parameters()).device
        given = {"input_ids": ids.to(device), "attention_mask": mask.to(device)}
        vectors = self.encoder(given)["sentence_embedding"].float()
        return vectors, vectors[:0]


def seconds_of(method: Method, batches: list[Batch], optimizer: torch.optim.Optimizer, precision: Any) -> float:
    """Return what the updates take."""
    device = next(method.parameters()).device
    wait()
    begun = time.monotonic()
    for number, batch in enumerate(batches):
        optimizer.zero_grad(set_to_none=True)
        with precision.autocast(device):
            loss = method(batch, number)
        loss.backward()
        optimizer.step()
    wait()
    return time.monotonic() - begun


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="mini")
    parser.add_argument("--corpus", default="mirror_sentences_10k")
    parser.add_argument("--batch-size", type=int, default=200)
    parser.add_argument("--steps", type=int, default=6, help="timed updates of each kind and round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokens", action="store_true", help="spans of tokens, not of characters")
    given = parser.parse_args()
    encoder = build_encoder(given.model, pooling="mean")
    precision = best_precision(encoder.device, "auto")
    frame = frame_of(encoder.tokenizer)
    cut = (len(frame.prefix), len(frame.suffix))
    rows = [row[cut[0] : len(row) - cut[1]] for row in tokenize(encoder, lines_of(given.corpus)).rows]
    source = Batches(Texts(rows), frame, batch_size=given.batch_size, max_length=PADDED, seed=1)
    ours = method_of(encoder, given.tokens)
    other = copy.deepcopy(encoder)
    theirs = PaddedMethod(other, methods.build("mirror-bert", tokens=given.tokens), Vocabulary.of(other)).train()
    optimizers = [torch.optim.AdamW(each.parameters(), lr=2e-5) for each in (ours, theirs)]
    found: dict[str, float] = {"ours": 0.0, "padded": 0.0}
    for turn in range(given.rounds + 1):  # the first turn warms up and is not counted
        batches = [source.at(turn * given.steps + step) for step in range(given.steps if turn else 1)]
        with quickened(encoder), varied_shapes():
            quick = seconds_of(ours, batches, optimizers[0], precision)
        slow = seconds_of(theirs, batches, optimizers[1], precision)
        if turn:
            found["ours"] += quick
            found["padded"] += slow
    texts = given.rounds * given.steps * given.batch_size
    result = {
        "name": "mirror_speed",
        "ratio": found["padded"] / found["ours"],
        "sentences_per_second": texts / found["ours"],
        "padded_sentences_per_second": texts / found["padded"],
        "ten_thousand_in_seconds": 10_000 * found["ours"] / texts,
        "mean_tokens": float(sum(min(PADDED, len(row) + len(frame)) for row in rows) / len(rows)),
        "device": device_name(),
        "threads": torch.get_num_threads(),
    }
    print(f"{result['sentences_per_second']:,.0f} sentences/s, padded {result['padded_sentences_per_second']:,.0f}")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
