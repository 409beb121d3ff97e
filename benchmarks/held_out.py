"""Masked-token loss and accuracy of masked LMs on held-out tokens, which `mirrormask pretrain` leaves in its folder.

    python benchmarks/held_out.py mini --stream runs/mini/held-out.npy --texts 944 --length 128

The same tokens are hidden for every model, 15 % of each row, so that models with one tokenizer compare.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch

from mirrormask.core.framing import frame_of
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.models.precision import best_precision
from mirrormask.pretraining.held_out_score import RATE, HeldOutScore
from mirrormask.pretraining.masking import Masking
from mirrormask.pretraining.model import Pretraining
from mirrormask.pretraining.packing import PackedRows
from mirrormask.pretraining.plan import Plan


def measure(name: str, stream: Path, texts: int, length: int, precision: str) -> dict[str, float]:
    """Return loss, accuracy and perplexity over the first texts of the stream (0: all)."""
    lm = MaskedLM.load(name)
    tokenizer = lm.tokenizer
    ids = np.load(stream)
    ends = np.flatnonzero(ids == tokenizer.sep_token_id)
    ids = ids[: ends[min(texts or len(ends), len(ends)) - 1] + 1]
    masking = Masking.of(tokenizer, rate=RATE).to(lm.device)
    model = Pretraining(lm, masking, Plan(), torch.zeros(len(tokenizer))).to(lm.device).eval()
    rows = PackedRows(ids, frame_of(tokenizer), length=length, batch_size=64, seed=1)
    score = HeldOutScore(model, rows, best_precision(lm.device, precision), seed=7, most_rows=rows.units)
    return {"tokens": len(ids), **score().details}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--stream", type=Path, required=True, help="the .npy of token ids")
    parser.add_argument("--texts", type=int, default=0, help="only the first so many (0: all)")
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--precision", default="auto")
    asked = parser.parse_args()
    found = {name: measure(name, asked.stream, asked.texts, asked.length, asked.precision) for name in asked.models}
    accuracies = [each["accuracy"] for each in found.values()]
    ratio = round(accuracies[0] / accuracies[-1], 3)  # of the first model's accuracy to the last one's
    print(json.dumps({"name": "held_out", "ratio": ratio, "length": asked.length, "models": found}))


if __name__ == "__main__":
    main()
