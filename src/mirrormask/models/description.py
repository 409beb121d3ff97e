"""What can be said about a model without running it: its files are read, and nothing that takes seconds is imported."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from mirrormask.models.model_files import (
    EXPORT,
    FACTS,
    HEAD,
    PROMPT,
    modules_of,
    opens_plainly,
    readable,
    settings,
    weight_shapes,
)
from mirrormask.models.names import resolve, unreachable

_NOT_OURS = ("pooler.", "position_ids")  # heads that nothing here uses, and what is no parameter


def describe_model(name: str) -> dict[str, Any]:
    """Return the model's shape, modules, pooling, how it was made and how it opens."""
    folder = _local(name)
    with readable(folder):
        return _described(name, folder)


def _described(name: str, folder: Path) -> dict[str, Any]:
    facts = settings(folder, FACTS)
    if (folder / EXPORT).is_file():
        return _exported(name, folder, facts)
    modules = modules_of(folder)
    inside = folder / (modules[0]["path"] if modules else "")  # older encoders keep the transformer in a folder
    config = settings(inside, "config.json")
    settings(inside, "tokenizer.json")  # or say now that it is damaged
    masked = (folder / HEAD).is_file() or any("MaskedLM" in each for each in config.get("architectures") or [])
    later = [(str(each["type"]), settings(folder / each["path"], "config.json")) for each in modules[1:]]
    width = _first(config, "hidden_size", "dim", "d_model")
    loss = facts.get("chosen_by") == "held-out loss" and "score" in facts
    told = {key: value for key, value in facts.items() if key not in {"pooling", "lm_head", "edition"}}
    if loss:  # a score is better where it is higher, so that of a loss is negative
        told = {("held_out_loss" if key == "score" else key): value for key, value in told.items()}
        told["held_out_loss"] = -facts["score"]
    return {
        "name": name,
        **({"edition": facts["edition"]} if "edition" in facts else {}),
        "folder": str(folder),
        "kind": "sentence encoder" if modules else "masked language model" if masked else "plain encoder",
        "architecture": config.get("model_type"),
        "layers": _first(config, "num_hidden_layers", "n_layers", "num_layers"),
        "width": width,
        "vocabulary": config.get("vocab_size"),
        "parameters": _parameters(inside, [folder / each["path"] for each in modules[1:]]),
        "dimension": next((size for _, each in reversed(later) if (size := _dimension(each))), width),
        "longest_text": _longest(folder, inside, config),
        "pooling": _pooling(facts, later) if modules else "mean (the default: nothing was saved with the model)",
        **({"modules": " + ".join(_class(str(each["type"])) for each in modules)} if modules else {}),
        "lm_head": "kept" if masked else "none",
        "opens_with": f'SentenceTransformer("{folder}")' if opens_plainly(folder) else f'mirrormask.load("{name}")',
        "made_by": facts if modules else {},
        **{key: value for key, value in told.items() if not isinstance(value, (dict, list))},
    }


def _exported(name: str, folder: Path, facts: dict[str, Any]) -> dict[str, Any]:
    """Return what can be said about an export: what runs it, and how near it is to what it was made of."""
    how, check = settings(folder, EXPORT), facts.get("check") or {}
    lost = {"sts_loss": f"{check['sts_loss']:.2f} points of STS-B dev"} if check.get("sts_loss") is not None else {}
    return {
        "name": name,
        "folder": str(folder),
        "kind": "sentence encoder",
        "exported_to": f"{how['backend']}, {how['precision']}",
        "made_of": how["source"],
        "dimension": how["dimension"],
        "longest_text": f"{how['max_length']:,} tokens",
        "pooling": str(facts.get("pooling")),
        **{key: check[key] for key in ("lowest_cosine", "agreement") if check.get(key) is not None},
        **lost,
        "opens_with": f'SentenceTransformer("{folder}")' if opens_plainly(folder) else f'mirrormask.load("{name}")',
        "made_by": facts,
    }


def _local(name: str) -> Path:
    """Return the model's folder; what only the hub knows is fetched from there."""
    folder = resolve(name)
    if Path(folder).is_dir():
        return Path(folder)
    from huggingface_hub import snapshot_download

    from mirrormask.models.loading import cache_if_offline

    try:
        with cache_if_offline(folder):
            return Path(snapshot_download(folder, allow_patterns=["*.json", "*.safetensors"]))
    except Exception as error:  # each version of the hub's client has its own errors
        raise unreachable(name, error) from error


def _first(config: dict[str, Any], *names: str) -> Any:
    """Return what the configuration says under the first of the names that it knows."""
    return next((config[name] for name in names if name in config), None)


def _class(dotted: str) -> str:
    return dotted.rpartition(".")[2]


def _parameters(inside: Path, later: list[Path]) -> int | None:
    """Return the parameters of the encoder with what is kept on top of it, without LM head and pooler."""
    shapes = weight_shapes(inside)
    if not shapes and not any(inside.glob("*.bin")):
        raise ValueError("it has no weights")
    if not shapes:  # pickled: only a library could tell, by running what is in it
        return None
    words = next((name for name in shapes if "embeddings." in name), "")
    prefix = words[: words.index("embeddings.")] if words else ""  # "bert." where a head lies in the same file
    own = [size for name, size in shapes.items() if name.startswith(prefix) and not _unused(name, prefix)]
    own += [size for name, size in weight_shapes(inside, PROMPT).items() if name not in shapes]
    own += [size for folder in later if folder != inside for size in weight_shapes(folder).values()]
    return sum(math.prod(size) for size in own)


def _unused(name: str, prefix: str) -> bool:
    return any(part in name.removeprefix(prefix) for part in _NOT_OURS)


def _dimension(config: dict[str, Any]) -> int | None:
    """Return how many numbers a module gives, if its configuration says so."""
    found = _first(config, "out_features", "embedding_dimension", "word_embedding_dimension")
    modes = config.get("pooling_mode")
    count = sum(value is True for key, value in config.items() if key.startswith("pooling_mode_"))
    return None if found is None else int(found) * max(1, len(modes) if isinstance(modes, list) else count)


def _longest(folder: Path, inside: Path, config: dict[str, Any]) -> str:
    own = settings(folder, "sentence_bert_config.json").get("max_seq_length")
    tokenizer = settings(inside, "tokenizer_config.json").get("model_max_length")
    limits = [own] if own else [tokenizer, config.get("max_position_embeddings")]
    known = [int(limit) for limit in limits if limit]
    return f"{min(known):,} tokens" if known else "not limited by its files"


def _pooling(facts: dict[str, Any], later: list[tuple[str, dict[str, Any]]]) -> str:
    """Return the pooling that was recorded, or what the modules of a model from elsewhere say."""
    if "pooling" in facts:
        return str(facts["pooling"])
    if any(_class(kind) == "WeightedLayerPooling" for kind, _ in later):
        return "a weighted mean of layers"
    for kind, config in later:
        if _class(kind) == "Pooling":
            said = config.get("pooling_mode")
            old = {"cls_token": "cls", "mean_tokens": "mean", "max_tokens": "max"}  # how it was written before
            modes = [key.removeprefix("pooling_mode_") for key, on in config.items() if on is True and "mode_" in key]
            names = [old.get(mode, mode) for mode in modes] if said is None else said
            kept = any("Tanh" in str(each.get("activation_function")) for _, each in later)
            name = names if isinstance(names, str) else "+".join(names)
            return "cls-mlp-kept" if name == "cls" and kept else name
    return "unknown"
