"""What the files of a model say, read without the libraries that would run it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from safetensors import safe_open

from mirrormask.core.errors import MirrormaskError, ModelError
from mirrormask.core.storage import read_json

FACTS, HEAD = "mirrormask.json", "lm_head.safetensors"
"""The files in a saved encoder that say how it was made, and that hold its LM head."""

EXPORT = "export.json"
"""The file that says how an exported encoder is run; what torch would need is not beside it."""

PROMPT = "soft_prompt.safetensors"
"""The file that holds the learned words of a template, beside the transformer that sees them."""

MODULES = "modules.json"
"""The list of a sentence encoder's modules."""

INDEX, WHOLE = "model.safetensors.index.json", "model.safetensors"
"""The list of a model's files of weights, and the only one where there is no list."""


@contextlib.contextmanager
def readable(folder: Path | str) -> Iterator[None]:
    """Turn what goes wrong while a model's files are read into one sentence."""
    try:
        yield
    except MirrormaskError:
        raise
    except Exception as error:  # a damaged file can make the libraries fail in any way there is
        if isinstance(error, MemoryError) or "out of memory" in str(error).lower():
            raise ModelError(f"There is no memory left to load {folder} into. Stop what else uses it.") from error
        raise ModelError(
            f"{folder} could not be read as a model: it is damaged or incomplete ({_reason(error)}). "
            "Copy it again, or name another model."
        ) from error


def settings(folder: Path, name: str) -> dict[str, Any]:
    """Return a file of settings, or nothing where there is none."""
    found = read_json(folder / name) if (folder / name).is_file() else {}
    if not isinstance(found, dict):
        raise TypeError(f"{name} holds no table")
    return found


def modules_of(folder: Path) -> list[dict[str, Any]]:
    """Return the modules of a saved sentence encoder with their types and folders; none for any other model."""
    found: list[dict[str, Any]] = read_json(folder / MODULES) if (folder / MODULES).is_file() else []
    return found


def opens_plainly(folder: Path) -> bool:
    """Say whether sentence-transformers opens a saved encoder alone: all of its modules are the library's own."""
    modules = modules_of(folder)
    return bool(modules) and all(str(each["type"]).startswith("sentence_transformers.") for each in modules)


def weight_files(folder: Path) -> list[Path]:
    """Return the files that hold a model's weights; none where they are in no file of safetensors."""
    if (folder / INDEX).is_file():
        return [folder / name for name in sorted(set(read_json(folder / INDEX)["weight_map"].values()))]
    return [folder / WHOLE] if (folder / WHOLE).is_file() else []


def weight_shapes(folder: Path, *beside: str) -> dict[str, tuple[int, ...]]:
    """Return the shape of every weight of a model; only the heads of its files are read.

    Args:
        folder: of the model.
        beside: names of further files that may lie there.
    """
    found: dict[str, tuple[int, ...]] = {}
    for file in [*weight_files(folder), *(folder / name for name in beside if (folder / name).is_file())]:
        with safe_open(file, framework="np") as stored:
            found |= {name: tuple(stored.get_slice(name).get_shape()) for name in stored.keys()}  # noqa: SIM118
    return found


def _reason(error: Exception) -> str:
    """Return the first sentence of an error, without its full stop."""
    line = (str(error).strip().splitlines() or [""])[0]
    line = line.split(". ")[0][:200].rstrip(".: ")
    return line if " " in line else f"{type(error).__name__} {line}".strip()
