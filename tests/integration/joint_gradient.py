"""Run by `accelerate launch`: a backward pass over each joint batch, the gradients written by the first process."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from safetensors.torch import save_file
from torch import nn

from mirrormask.core.batch import Batch
from mirrormask.core.framing import frame_of
from mirrormask.methods import methods
from mirrormask.models.bulk import tokenize
from mirrormask.models.encoder import build_encoder
from mirrormask.training.method import Method
from mirrormask.views import Vocabulary


def main(accelerator: Accelerator, model: str, texts: str, columns: int, both: bool, out: str) -> None:
    encoder = build_encoder(model, pooling="mean", device="cpu")
    for module in encoder.modules():  # dropout draws differ between processes by intent
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    encoder[0].model.config._attn_implementation = "eager"
    composition = methods.build("simcse-sup")
    if columns == 1:  # a sentence with itself, attacked at both ends, beside a twin's view of it
        attacks: list[Any] = [{"name": "fgsm", "epsilon": 0.001}, ["twin", {"name": "output-fgsm", "epsilon": 0.01}]]
        composition = methods.build("composition", views=attacks)
    composition.objective.both_directions = both  # type: ignore[assignment]
    size = len(encoder.tokenizer)
    vocabulary = Vocabulary(frame_of(encoder.tokenizer), np.ones(size, dtype=np.bool_), 4, frozenset(range(5)))
    method = Method(encoder, composition, vocabulary).train()
    lines = Path(texts).read_text(encoding="utf-8").splitlines()
    rows = len(lines) // columns
    rank, world = accelerator.process_index, accelerator.num_processes
    start, stop = rows * rank // world, rows * (rank + 1) // world
    parts = [lines[c * rows + start : c * rows + stop] for c in range(columns)]
    wrapped = accelerator.prepare(method)
    loss = wrapped(Batch(tuple(tokenize(encoder, part) for part in parts)), 0)
    accelerator.backward(loss)
    if accelerator.is_main_process:
        found = {n: p.grad.clone() for n, p in method.named_parameters() if p.grad is not None}
        save_file({**found, "loss": loss.detach(), "processes": torch.tensor(float(world))}, out)
    accelerator.wait_for_everyone()


if __name__ == "__main__":
    _, model, *cases = sys.argv
    accelerator = Accelerator(cpu=True)
    for texts, columns, directions, out in zip(*[iter(cases)] * 4, strict=True):
        main(accelerator, model, texts, int(columns), directions == "both", out)
