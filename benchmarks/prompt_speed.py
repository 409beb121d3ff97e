"""Cloze questions against the straightforward computation, on the same model, texts and machine, interleaved.

    python benchmarks/prompt_speed.py --task mr --texts 128

The straightforward computation asks one pattern at a time, pads every row to 256 tokens, and lets the library's model
score the whole vocabulary at every position, as published code does. Ours sends all patterns of a batch through the
model together, in shards of similar length, and runs the LM head at the masks alone. Both give the same scores.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np
import torch
from numpy.typing import NDArray

from mirrormask.models.masked_lm import MaskedLM
from mirrormask.prompting.cloze import Cloze, Fields
from mirrormask.prompting.cloze_rows import load_examples
from mirrormask.prompting.cloze_task import open_task
from mirrormask.prompting.prompt_score import open_clozes
from mirrormask.prompting.zero_shot import scores_of_words

WIDTH, BATCH = 256, 8


@torch.inference_mode()
def straightforward(cloze: Cloze, fields: Fields) -> NDArray[np.float64]:
    """Return the word scores of one pattern, every position scored and every row padded."""
    found = []
    table = cloze.word_table()[0, :, 0]
    for start in range(0, len(fields), BATCH):
        rows = cloze.pattern.rows(fields[start : start + BATCH])
        ids = torch.full((len(rows), WIDTH), cloze.lm.tokenizer.pad_token_id or 0)
        mask = torch.zeros_like(ids)
        for number, row in enumerate(rows.tokens.rows):
            ids[number, : len(row)] = torch.from_numpy(row)
            mask[number, : len(row)] = 1
        logits = cloze.lm.model(ids.to(cloze.lm.device), attention_mask=mask.to(cloze.lm.device)).logits
        at = torch.tensor([int(places[0]) for places in rows.masks])
        scores = logits[torch.arange(len(rows)), at].float().log_softmax(-1)
        found.append(scores[:, table].double().cpu().numpy())
    return np.concatenate(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", default="mr")
    parser.add_argument("--model", default="mini")
    parser.add_argument("--texts", type=int, default=128)
    parser.add_argument("--turns", type=int, default=4)
    options = parser.parse_args()
    lm = MaskedLM.load(options.model, device="cpu")
    clozes = open_clozes(lm, open_task(options.task))
    fields = load_examples(open_task(options.task), "train").fields[: options.texts]
    scores_of_words(clozes, fields[:4])
    straightforward(clozes[0], fields[:4])
    ours = theirs = worst = 0.0
    for part in np.array_split(np.arange(len(fields)), options.turns):
        texts = [fields[i] for i in part]
        begun = time.perf_counter()
        found = scores_of_words(clozes, texts)
        middle = time.perf_counter()
        slow = [straightforward(each, texts) for each in clozes]
        ours, theirs = ours + middle - begun, theirs + time.perf_counter() - middle
        worst = max(worst, *(float(np.abs(a - b).max()) for a, b in zip(found, slow, strict=True)))
    tokens = float(np.mean(np.concatenate([each.pattern.rows(fields).tokens.lengths for each in clozes])))
    print(f"{len(fields)} texts, {len(clozes)} patterns, {tokens:.0f} tokens a row: {theirs:.1f} s, ours {ours:.1f} s")
    result = {
        "ratio": round(theirs / ours, 2),
        "texts": len(fields),
        "patterns": len(clozes),
        "tokens": round(tokens, 1),
    }
    print(json.dumps({**result, "seconds": round(ours, 2), "largest_difference": worst}))


if __name__ == "__main__":
    main()
