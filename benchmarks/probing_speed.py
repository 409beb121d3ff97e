"""Impact matrices against the straightforward computation, on the same model, sentences and machine, interleaved.

    python benchmarks/probing_speed.py --treebank en_pud.conllu.gz --sentences 200
    python benchmarks/probing_speed.py --shape base --device cuda --sentences 1000 --ours-only

The straightforward computation runs the encoder alone, without LM head, in float32: for each sub-word i one batch with
one row for each sub-word j, in which the words of both are masked. Ours runs in float32, where its matrices must be the
same, and in the precision the device is fast at, where nearly all induced heads must be the same. The sentences are
dealt out to turns so that each turn has short and long ones; in a turn every contestant runs the same sentences.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mirrormask.core.errors import DataError
from mirrormask.data.tasks.conllu import read_conllu
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.models.precision import best_precision
from mirrormask.probing.dependency import DependencyParser
from mirrormask.probing.impact import impact_matrices

Matrices = list[NDArray[np.float32]]


@torch.inference_mode()
def straightforward(lm: MaskedLM, words: list[str]) -> NDArray[np.float32]:
    """Return the impact matrix of one sentence, one batch for each of its sub-words."""
    pieces = [
        lm.tokenizer(word, add_special_tokens=False)["input_ids"] or [lm.tokenizer.unk_token_id] for word in words
    ]
    owner = np.array([number for number, piece in enumerate(pieces) for _ in piece])
    ids = np.array([lm.tokenizer.cls_token_id, *itertools.chain(*pieces), lm.tokenizer.sep_token_id])
    impact = np.zeros((len(owner), len(owner)), dtype=np.float32)
    for i in range(len(owner)):
        batch = np.tile(ids, (len(owner), 1))
        masked = (owner[None, :] == owner[:, None]) | (owner == owner[i])  # row j: the words of i and j
        batch[:, 1:-1][masked] = lm.tokenizer.mask_token_id
        states = lm.model.base_model(torch.from_numpy(batch).to(lm.device)).last_hidden_state[:, 1 + i]
        impact[i] = torch.linalg.vector_norm(states - states[i], dim=-1).cpu().numpy()
    first = np.searchsorted(owner, np.arange(len(words)))
    return np.stack([impact[owner == number].mean(0) for number in range(len(words))])[:, first]


def timed(run: Callable[[], Matrices]) -> tuple[float, Matrices]:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    start = time.perf_counter()
    found = run()
    return time.perf_counter() - start, found


def same_heads(one: Matrices, other: Matrices) -> float:
    """Return the share of words whose induced head is the same."""
    parser = DependencyParser(root="found")
    pairs = zip(one, other, strict=True)
    return float(np.mean(np.concatenate([parser.parse(a) == parser.parse(b) for a, b in pairs])))


def find(treebank: str) -> Path:
    roots = [Path(root) for root in os.environ.get("MIRRORMASK_DATA", "").split(os.pathsep) if root]
    for path in (Path(treebank), *(root / "treebanks" / treebank for root in roots)):
        if path.is_file():
            return path
    raise DataError(f"There is no file {treebank}, here or in the folder 'treebanks' under MIRRORMASK_DATA.")


def random_model(folder: Path, tokenizer_of: str) -> str:
    """Save a random BERT of base shape with the tokenizer of another model."""
    from transformers import AutoTokenizer, BertConfig, BertForMaskedLM

    from mirrormask.models.names import resolve

    BertForMaskedLM(BertConfig(vocab_size=30_522)).save_pretrained(folder)
    AutoTokenizer.from_pretrained(resolve(tokenizer_of)).save_pretrained(folder)
    return str(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="mini")
    parser.add_argument("--shape", choices=["model", "base"], default="model", help="base: a random 12x768 BERT")
    parser.add_argument("--treebank", default="en_pud.conllu.gz", help="a CoNLL-U file")
    parser.add_argument("--sentences", type=int, default=200, help="the first so many")
    parser.add_argument("--turns", type=int, default=10, help="parts the sentences are dealt out to")
    parser.add_argument("--device", default=None)
    parser.add_argument("--ours-only", action="store_true", help="time all sentences at the best precision, no peer")
    asked = parser.parse_args()
    sentences = [each.forms for each in itertools.islice(read_conllu(find(asked.treebank)), asked.sentences)]
    with tempfile.TemporaryDirectory() as folder:
        name = random_model(Path(folder) / "base", asked.model) if asked.shape == "base" else asked.model
        lm = MaskedLM.load(name, device=asked.device)
    chosen = best_precision(lm.device)
    figures: dict[str, Any] = {
        "name": "probing_speed",
        "sentences": len(sentences),
        "masked_inputs": sum(len(words) * (len(words) + 1) // 2 for words in sentences),
        "precision": chosen.name,
        "device": torch.cuda.get_device_name() if lm.device.type == "cuda" else "cpu",
        "threads": torch.get_num_threads(),
        "shape": asked.shape,
    }
    contestants: dict[str, Callable[[list[list[str]]], Matrices]] = {
        "ours": lambda some: list(impact_matrices(lm, some)),
        "ours_fp32": lambda some: list(impact_matrices(lm, some, precision="fp32")),
        "peer": lambda some: [straightforward(lm, words) for words in some],
    }
    warm = sorted(sentences, key=len)[:3]
    for run in contestants.values():
        run(warm)
    if asked.ours_only:
        seconds = [timed(lambda: contestants["ours"](sentences))[0] for _ in range(3)]
        print(json.dumps({**figures, "seconds": round(statistics.median(seconds), 2)}))
        return
    parts = [sentences[turn :: asked.turns] for turn in range(asked.turns)]
    taken: dict[str, list[float]] = {name: [] for name in contestants}
    found: dict[str, Matrices] = {name: [] for name in contestants}
    for turn, part in enumerate(parts):
        for name, run in contestants.items():
            seconds_taken, matrices = timed(lambda run=run, part=part: run(part))  # type: ignore[misc]
            taken[name].append(seconds_taken)
            found[name] += matrices
        print(f"turn {turn + 1}:", {name: round(values[-1], 2) for name, values in taken.items()}, flush=True)
    ratios = {
        name: [peer / ours for peer, ours in zip(taken["peer"], taken[name], strict=True)]
        for name in ("ours", "ours_fp32")
    }
    apart = max(float(np.abs(a - b).max()) for a, b in zip(found["ours_fp32"], found["peer"], strict=True))
    figures |= {
        "ratio": round(statistics.median(ratios["ours"]), 3),
        "ratio_fp32": round(statistics.median(ratios["ours_fp32"]), 3),
        "ratio_turns": [round(value, 2) for value in ratios["ours"]],
        "ratio_fp32_turns": [round(value, 2) for value in ratios["ours_fp32"]],
        "seconds": {name: round(sum(values), 1) for name, values in taken.items()},
        "largest_difference_fp32": apart,
        "equal_to_1e-4": apart <= 1e-4,
        "heads_unchanged_percent": round(100 * same_heads(found["ours"], found["peer"]), 2),
        "turns": asked.turns,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
