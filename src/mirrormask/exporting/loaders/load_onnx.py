"""Sentence vectors without torch: `from loader import encode` and `encode(["a text", "another"])`."""

import json
import pathlib
from typing import Any

import numpy as np
import onnxruntime
import tokenizers

HERE = pathlib.Path(__file__).parent
HOW: dict[str, Any] = json.loads((HERE / "export.json").read_text(encoding="utf-8"))
TOKENIZER = tokenizers.Tokenizer.from_file(str(HERE / "tokenizer.json"))
SESSION = onnxruntime.InferenceSession(str(HERE / "model.onnx"))


def encode(texts: list[str], at_once: int = 32) -> Any:
    """Return the vectors (n, d) of texts, `at_once` of them in a run."""
    room = HOW["max_length"] - len(HOW["prefix"]) - len(HOW["suffix"])
    found = [np.empty((0, HOW["dimension"]), np.float32)]
    for start in range(0, len(texts), at_once):
        bare = TOKENIZER.encode_batch(texts[start : start + at_once], add_special_tokens=False)
        rows = [HOW["prefix"] + each.ids[:room] + HOW["suffix"] for each in bare]
        width = max(HOW["least_width"], 1, *map(len, rows))
        ids = np.array([row + [HOW["pad_id"]] * (width - len(row)) for row in rows])
        mask = np.array([[1] * len(row) + [0] * (width - len(row)) for row in rows])
        found.append(SESSION.run(None, {"input_ids": ids, "attention_mask": mask})[0])
    return np.concatenate(found)
