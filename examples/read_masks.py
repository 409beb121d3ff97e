"""Ask a masked language model what stands behind a mask, and read its states at positions of your choice.

python examples/read_masks.py --model mini

An encoder trained from a masked LM keeps its head, so its folder works here too.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch

from mirrormask import MaskedLM
from mirrormask.core.batch import Tokens

TEXTS = ("The river froze in winter.", "She repaired the clock.")


def main() -> None:
    """Fill one mask, then read states and scores at every word of two texts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="mini", help="name or folder of a masked LM, or of an encoder made from one")
    parser.add_argument("--text", default="The old [MASK] crossed the river.")
    arguments = parser.parse_args()

    lm = MaskedLM.load(arguments.model)
    text = arguments.text.replace("[MASK]", lm.tokenizer.mask_token)
    print(text)
    for guesses in lm.fill(text, top=3):
        print("  " + ", ".join(f"{token} ({probability:.3f})" for token, probability in guesses))

    tokens = Tokens.of([np.asarray(lm.tokenizer(text)["input_ids"]) for text in TEXTS])
    inside = [np.arange(1, len(row) - 1) for row in tokens.rows]  # all but the special tokens
    with torch.inference_mode():
        for layer in (0, -1):
            states = lm.states(tokens, inside, layer=layer)  # (positions of all texts, width)
            print(f"layer {layer:>2}: {tuple(states.shape)}, mean norm {states.norm(dim=-1).mean():.2f}")
        scores = lm.logits(tokens, inside).log_softmax(-1)  # the head runs at these positions only
    own = torch.from_numpy(np.concatenate([row[at] for row, at in zip(tokens.rows, inside, strict=True)]))
    likelihood = scores.cpu().gather(1, own[:, None])[:, 0]
    for text, part in zip(TEXTS, likelihood.split([len(at) for at in inside]), strict=True):
        print(f"{part.mean():7.3f}  mean log-likelihood of the words, unmasked: {text}")


if __name__ == "__main__":
    main()
