"""Several models that keep what they have in common once: the embeddings in a file of the first, the rest in their own.

The files are shards as the ecosystem knows them, listed in an index. A second model's index leads to the first one's
file by a relative path, so that plain `AutoModel` and `SentenceTransformer` open both.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from mirrormask.core.errors import ModelError
from mirrormask.core.storage import atomic_folder, write_json
from mirrormask.models.model_files import HEAD, INDEX, WHOLE, weight_files

COMMON, LAYERS = "common.safetensors", "layers.safetensors"
WORDS = "bert.embeddings.word_embeddings.weight"


def read_weights(folder: Path | str) -> dict[str, Tensor]:
    """Return all weights of a model in one file or in shards."""
    found: dict[str, Tensor] = {}
    for file in weight_files(Path(folder)):
        with safe_open(file, framework="pt") as stored:
            found |= {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
    return found


def write_shared(source: Path | str, out: Path | str, *, like: Path | str | None = None) -> None:
    """Write a BERT, masked LM or encoder trained from one, as float16 shards.

    Args:
        source: the model's folder.
        out: the new folder.
        like: a folder beside `out`, written before: weights outside the layers that are the same there are not
            written again, and the word embeddings must be.

    Raises:
        ModelError: the word embeddings are not the same.
    """
    source, out = Path(source), Path(out)
    weights = {name: tensor.half().contiguous() for name, tensor in _as_masked_lm(source).items()}
    layers = {name: tensor for name, tensor in weights.items() if ".encoder.layer." in name}
    common = {name: tensor for name, tensor in weights.items() if name not in layers}
    where = COMMON
    if like is not None:
        common, own = _parted(common, read_weights(like), source, Path(like))
        layers |= own
        where = f"../{Path(like).name}/{COMMON}"
    with atomic_folder(out) as unfinished:
        for file in source.iterdir():
            if file.name not in (WHOLE, HEAD, INDEX) and file.suffix != ".safetensors":
                (shutil.copytree if file.is_dir() else shutil.copyfile)(file, unfinished / file.name)
        save_file(layers, unfinished / LAYERS, metadata={"format": "pt"})
        if like is None:
            save_file(common, unfinished / COMMON, metadata={"format": "pt"})
        config = json.loads((source / "config.json").read_text(encoding="utf-8"))
        write_json(unfinished / "config.json", {**config, "architectures": ["BertForMaskedLM"], "dtype": "float16"})
        places = {**dict.fromkeys(common, where), **dict.fromkeys(layers, LAYERS)}
        size = sum(tensor.numel() * tensor.element_size() for tensor in weights.values())
        write_json(unfinished / INDEX, {"metadata": {"total_size": size}, "weight_map": places})


def _as_masked_lm(folder: Path) -> dict[str, Tensor]:
    """Return the weights under the names a masked LM has them, with the head that lies beside an encoder."""
    weights = read_weights(folder)
    if not any(name.startswith("bert.") for name in weights):
        weights = {f"bert.{name}": tensor for name, tensor in weights.items()}
    if (folder / HEAD).is_file():
        with safe_open(folder / HEAD, framework="pt") as stored:
            weights |= {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
    return weights


def _parted(
    ours: dict[str, Tensor], theirs: dict[str, Tensor], source: Path, like: Path
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return our weights that the other model has too, and those that are ours alone, such as a head."""
    same = {name: tensor for name, tensor in ours.items() if name in theirs and torch.equal(tensor, theirs[name])}
    if WORDS not in same:
        raise ModelError(
            f"{source} does not share {WORDS} with {like}. Train it with 'freeze_embeddings', or write it whole."
        )
    return same, {name: tensor for name, tensor in ours.items() if name not in same}
