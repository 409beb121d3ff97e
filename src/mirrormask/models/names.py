"""Where a model name leads: the shipped models, a folder, a local root that mirrors hub names, or the hub."""

from __future__ import annotations

import os
from pathlib import Path
from textwrap import shorten

from mirrormask.core.errors import ModelError, did_you_mean

DEFAULT_MODEL = "mini"
"""The masked LM that recipes and probes take when none is named."""

DEFAULT_START = "mini-sentence"
"""The encoder that a user's own text goes on from: it has learned from general text what little text cannot teach."""

CHINESE_MODEL = "mini-zh"
"""The masked LM for Chinese text."""

SHIPPED = Path(__file__).parent / "default"


def model_roots() -> list[Path]:
    """Return the folders named in MIRRORMASK_MODELS, in order."""
    value = os.environ.get("MIRRORMASK_MODELS", "")
    return [Path(part).expanduser() for part in value.split(os.pathsep) if part]


def resolve(name: str | Path) -> str:
    """Return the local folder a name leads to, or the name itself when only the hub can know it.

    Shipped names come first, then an existing folder, then every root in MIRRORMASK_MODELS.
    """
    try:
        return _resolved(str(name))
    except OSError as error:
        raise ModelError(
            f"The model {name} cannot be opened ({error.strerror}). Check the path and its permissions."
        ) from error


def unreachable(name: str, reason: Exception) -> ModelError:
    """Return the one sentence for a hub name that could not be fetched."""
    places = [SHIPPED, Path(), *model_roots()]
    models = [f"*/{inside}{file}" for inside in ("", "model/") for file in ("config.json", "modules.json")]
    local = {found.relative_to(place).parts[0] for place in places for each in models for found in place.glob(each)}
    first = str(reason).strip().splitlines()[0] if str(reason).strip() else type(reason).__name__
    first = shorten(first.split(". ")[0].rstrip("."), width=200, placeholder=" …")
    return ModelError(
        f"The model {name!r} is no local folder and could not be fetched from the hub ({first}). "
        f"Connect to the network, or put the model under a folder named in MIRRORMASK_MODELS."
        f"{_searched()}{did_you_mean(name, sorted(local))}"
    )


def _resolved(text: str) -> str:
    path = Path(text).expanduser()
    if path.name == text and (SHIPPED / text / "config.json").is_file():
        return str(SHIPPED / text)
    if path.is_dir():
        return str(_checked(path))
    if path.exists():
        raise ModelError(f"{text} is a file, and a model is a folder with a config.json. Give the folder's path.")
    for root in model_roots():
        if (root / text).is_dir():
            return str(_checked(root / text))
    if text.startswith((".", "/", "~")) or text.count("/") > 1:
        raise ModelError(f"There is no model folder {text}. Check the path, or name a model of the hub.")
    return text


def _checked(folder: Path) -> Path:
    if (folder / "adapter_config.json").is_file():
        raise ModelError(
            f"{folder} holds adapters for another model (adapter_config.json). "
            "Merge them into that model with peft's merge_and_unload, and give the folder of the result."
        )
    if (folder / "config.json").is_file() or (folder / "modules.json").is_file():
        return folder
    inside = folder / "model"
    if (inside / "modules.json").is_file() or (inside / "config.json").is_file():
        return inside
    raise ModelError(
        f"{folder} is no model: it has neither config.json nor modules.json. "
        "Give the folder that a training run or save_pretrained wrote."
    )


def _searched() -> str:
    roots = model_roots()
    return f" Searched: {', '.join(map(str, roots))}." if roots else ""
