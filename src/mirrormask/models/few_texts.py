"""Vectors of a few texts from a model's files: BERT in numpy, for who would wait longer for libraries than for a model.

Importing what runs any model takes seconds, two sentences take milliseconds. So a plain BERT that mirrormask itself
saved or ships is read and run here; for everything else `few_vectors` says None, and the libraries do it.

Paper: Devlin et al. 2019, "BERT: Pre-training of deep bidirectional transformers for language understanding"
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

from mirrormask.core.storage import read_json
from mirrormask.core.unknown import BareTokenizer, UnknownCount
from mirrormask.models.model_files import EXPORT, FACTS, settings, weight_files
from mirrormask.models.names import resolve
from mirrormask.models.runtimes import encode_exported

Floats = NDArray[np.float32]

_NORM, _DENSE = ("LayerNorm.weight", "LayerNorm.bias"), ("dense.weight", "dense.bias")
_EMBEDDINGS = ("word_embeddings.weight", "position_embeddings.weight", "token_type_embeddings.weight", *_NORM)
_LAYER = (
    *(f"attention.self.{name}.{kind}" for name in ("query", "key", "value") for kind in ("weight", "bias")),
    *(f"{place}.{name}" for place in ("attention.output", "output") for name in (*_DENSE, *_NORM)),
    *(f"intermediate.{name}" for name in _DENSE),
)
_erf = np.frompyfunc(math.erf, 1, 1)


def encode_few(model: str, texts: Sequence[str]) -> Floats:
    """Return the vectors (n, d) of a few texts by any model, the quickest way there is.

    Args:
        model: name or folder.
        texts: what to encode.
    """
    found = few_vectors(resolve(model), texts)
    if found is None:
        from mirrormask.models.bulk import encode_texts
        from mirrormask.models.encoder import load

        found = encode_texts(load(model), texts, precision="fp32")
    return found


def few_vectors(folder: str | Path, texts: Sequence[str], weights: Floats | None = None) -> Floats | None:
    """Return the vectors (n, d) of a few texts, or None where the model or a text asks for more than is known here.

    Args:
        folder: where the model is.
        texts: what to encode.
        weights: how much each token of the vocabulary counts in a mean (v,); None: all the same.
    """
    folder = Path(folder)
    try:
        if (folder / EXPORT).is_file():
            return encode_exported(folder, texts)
        mode = _pooling_mode(folder)
        config = settings(folder, "config.json")
        if mode is None or not _is_plain_bert(config) or _width(folder, config) != config["hidden_size"]:
            return None
        own = _weights(folder, int(config["num_hidden_layers"]))
        rows = _rows(folder, texts)
        if own is None or max(map(len, rows)) > _longest(folder, config):
            return None
        states = [_states(own, config, row) for row in rows]
    except Exception:  # what is wrong with a model, its loader says
        return None
    found = np.stack([_pooled(mode, each, row, weights) for each, row in zip(states, rows, strict=True)])
    return found if np.isfinite(found).all() else None


def _pooled(mode: str, states: Floats, row: list[int], weights: Floats | None) -> Floats:
    """Return the vector (d,) of a row's states."""
    if mode == "cls":
        return states[0]
    counted = np.ones(len(row), np.float32) if weights is None else weights[row]
    pooled: Floats = counted @ states / counted.sum()
    return pooled


def _pooling_mode(folder: Path) -> str | None:
    """Return `mean` or `cls` where that is all that follows the transformer in a model of our own."""
    if not (folder / FACTS).is_file():
        return None
    if not (folder / "modules.json").is_file():
        return "mean"
    kinds = [str(module["type"]).rpartition(".")[2] for module in read_json(folder / "modules.json")]
    mode = settings(folder / "1_Pooling", "config.json").get("pooling_mode")
    lower = settings(folder, "sentence_bert_config.json").get("do_lower_case")
    return mode if kinds == ["Transformer", "Pooling"] and mode in ("mean", "cls") and not lower else None


def _width(folder: Path, config: Mapping[str, Any]) -> Any:
    """Return how many numbers the pooling says that vectors have."""
    return settings(folder / "1_Pooling", "config.json").get("embedding_dimension", config["hidden_size"])


def _is_plain_bert(config: Mapping[str, Any]) -> bool:
    plain = {"model_type": "bert", "hidden_act": "gelu", "is_decoder": False, "position_embedding_type": "absolute"}
    return all(config.get(key, value) == value for key, value in plain.items()) and "model_type" in config


def _longest(folder: Path, config: Mapping[str, Any]) -> int:
    own = settings(folder, "sentence_bert_config.json").get("max_seq_length")
    said = (own, settings(folder, "tokenizer_config.json").get("model_max_length"), config["max_position_embeddings"])
    return min(int(limit) for limit in said if limit)


def _weights(folder: Path, layers: int) -> dict[str, Floats] | None:
    """Return the encoder's weights by their names in it, or None where one is missing or too many are there."""
    wanted = {f"embeddings.{name}" for name in _EMBEDDINGS}
    wanted |= {f"encoder.layer.{layer}.{name}" for layer in range(layers) for name in _LAYER}
    found: dict[str, Floats] = {}
    for file in weight_files(folder):
        with safe_open(file, framework="np") as stored:
            for name in stored.keys():  # noqa: SIM118
                own = name.removeprefix("bert.")
                if own in wanted:
                    found[own] = stored.get_tensor(name).astype(np.float32)
                elif own.startswith("encoder."):
                    return None
    return found if wanted == set(found) else None


def _rows(folder: Path, texts: Sequence[str]) -> list[list[int]]:
    """Return the token ids of each text with its special tokens."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    found = tokenizer.encode_batch(list(texts))
    unknown = tokenizer.token_to_id(getattr(tokenizer.model, "unk_token", None) or "")
    own = [
        number for each in found for number, added in zip(each.ids, each.special_tokens_mask, strict=True) if not added
    ]
    UnknownCount(BareTokenizer(unknown, str(folder))).add(np.array(own, dtype=np.int64), texts)
    return [each.ids for each in found]


def _states(weights: Mapping[str, Floats], config: Mapping[str, Any], ids: list[int]) -> Floats:
    """Return the last layer's states of a row (length, d)."""
    epsilon = float(config["layer_norm_eps"])

    def linear(x: Floats, name: str) -> Floats:
        product: Floats = x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]
        return product

    def normed(x: Floats, name: str) -> Floats:
        x = x - x.mean(-1, keepdims=True)
        scaled: Floats = x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon)
        return scaled * weights[f"{name}.LayerNorm.weight"] + weights[f"{name}.LayerNorm.bias"]

    of_words, of_places, of_types = (weights[f"embeddings.{name}"] for name in _EMBEDDINGS[:3])
    states = normed(of_words[ids] + of_places[: len(ids)] + of_types[0], "embeddings")
    heads, length = int(config["num_attention_heads"]), len(ids)
    for layer in range(int(config["num_hidden_layers"])):
        own = f"encoder.layer.{layer}"
        q, k, v = (
            linear(states, f"{own}.attention.self.{name}").reshape(length, heads, -1).transpose(1, 0, 2)
            for name in ("query", "key", "value")
        )
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1])  # (heads, length, length)
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (shares / shares.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(length, -1)
        states = normed(states + linear(mixed, f"{own}.attention.output.dense"), f"{own}.attention.output")
        wide = linear(states, f"{own}.intermediate.dense")
        wide = wide * (1 + _erf(wide / math.sqrt(2)).astype(np.float32)) / 2
        states = normed(states + linear(wide, f"{own}.output.dense"), f"{own}.output")
    return states
