"""The LM head kept beside a trained encoder, so that it can still be probed and prompted."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from mirrormask.core.errors import ModelError
from mirrormask.models.model_files import HEAD


def copy_head(source: str, out: Path) -> bool:
    """Write the LM head of the model in `source` into the folder `out`; return False where there is none."""
    if (Path(source) / HEAD).is_file():
        shutil.copyfile(Path(source) / HEAD, out / HEAD)
        return True
    if not _is_masked_lm(source):
        return False
    try:
        model, info = _auto_model().from_pretrained(source, dtype="float32", output_loading_info=True)
    except (OSError, ValueError):
        return False
    tensors = head_weights(model)
    if not tensors or any(name in tensors for name in info["missing_keys"]):
        return False
    save_file(head_weights(model, without_tied=True), out / HEAD)
    return True


def head_weights(model: Any, *, without_tied: bool = False) -> dict[str, Tensor]:
    """Return the weights of a masked LM that are not its encoder's, each with memory of its own.

    Args:
        model: a Hugging Face masked LM.
        without_tied: leave out what is another weight under a second name, such as the embeddings.
    """
    prefix, tied = model.base_model_prefix + ".", _tied(model) if without_tied else set()
    return {
        name: value.detach().cpu().clone().contiguous()
        for name, value in model.state_dict().items()
        if not name.startswith(prefix) and name not in tied
    }


def is_tied(model: Any) -> bool:
    """Say whether the matrix that scores the vocabulary is the input embeddings."""
    matrix = model.get_output_embeddings()
    return matrix is not None and matrix.weight is model.get_input_embeddings().weight


def save_head(weights: dict[str, Tensor], out: Path) -> None:
    """Write an LM head that was trained, with an output matrix of its own, into the folder `out`."""
    save_file(weights, out / HEAD)


def load_masked_lm(folder: str) -> Any:
    """Return the `AutoModelForMaskedLM` of a masked LM folder, or of a saved encoder with its head."""
    beside = (Path(folder) / HEAD).is_file()
    if not beside and (Path(folder) / "modules.json").is_file() and not _is_masked_lm(folder):
        raise ModelError(f"{folder} is a sentence encoder without an LM head ({HEAD}). Name a masked language model.")
    if not beside:
        model, info = _auto_model().from_pretrained(folder, dtype="float32", output_loading_info=True)
        if any(not name.startswith(model.base_model_prefix + ".") for name in info["missing_keys"]):
            raise ModelError(f"{folder} has no LM head, so its masks cannot be read. Name a masked language model.")
        return model
    config = _config(folder)
    model = _auto_model().from_config(config)
    state: dict[str, Any] = {}
    prefix = model.base_model_prefix + "."
    with safe_open(Path(folder) / HEAD, framework="pt") as stored:
        if model.get_output_embeddings() is not None and _output_matrix(model) in stored.keys():  # noqa: SIM118
            config.tie_word_embeddings = False  # a head trained beside the encoder has an output matrix of its own
            model = _auto_model().from_config(config)
    for file, start in ((Path(folder) / "model.safetensors", prefix), (Path(folder) / HEAD, "")):
        with safe_open(file, framework="pt") as stored:
            state |= {start + name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
    missing, unexpected = model.load_state_dict(state, strict=False)
    model.tie_weights()
    lost = [name for name in missing if name not in _tied(model)]
    if lost or unexpected:
        raise ModelError(f"{folder}: the LM head does not fit the encoder ({', '.join([*lost, *unexpected][:3])}).")
    return model


def _output_matrix(model: Any) -> str:
    """Return the name of the weights that score the vocabulary."""
    matrix = model.get_output_embeddings()
    return next(f"{name}.weight" for name, module in model.named_modules() if module is matrix)


def _is_masked_lm(folder: str) -> bool:
    return any(name.endswith(("ForMaskedLM", "ForPreTraining")) for name in _config(folder).architectures or [])


def _tied(model: Any) -> set[str]:
    return set(model.all_tied_weights_keys)


def _auto_model() -> Any:
    from transformers import AutoModelForMaskedLM

    return AutoModelForMaskedLM


def _config(folder: str) -> Any:
    from transformers import AutoConfig

    return AutoConfig.from_pretrained(folder)
