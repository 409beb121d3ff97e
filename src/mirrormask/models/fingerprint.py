"""Which encoder made some vectors: a digest of a model's files, read without the libraries that would run it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from mirrormask.core.errors import ModelError
from mirrormask.models.model_files import FACTS, HEAD, weight_files
from mirrormask.models.names import resolve, unreachable

_ENDINGS = {".json", ".safetensors", ".bin", ".txt", ".model", ".onnx", ".xml"}
_NO_MATTER = {FACTS, HEAD, "training_args.bin", "model.safetensors.index.json"}


def model_folder(name: str) -> Path:
    """Return where a model's files are; one of the hub lies in the library's cache once it was loaded.

    Raises:
        ModelError: it is neither here nor in the cache.
    """
    found = resolve(name)
    if Path(found).is_dir():
        return Path(found)
    from huggingface_hub import try_to_load_from_cache

    for file in ("modules.json", "config.json"):
        cached = try_to_load_from_cache(found, file)
        if isinstance(cached, str):
            return Path(cached).parent
    raise unreachable(name, FileNotFoundError("it is not in the cache"))


def stamp(folder: Path) -> str:
    """Return a digest of where a model's files are, how large, and when they were changed: if it is the same, they are.

    Args:
        folder: of the model.
    """
    whole = hashlib.blake2b(str(folder.resolve()).encode("utf-8", "surrogateescape"), digest_size=16)
    for name, path in _files(folder):
        facts = path.stat()
        whole.update(f"{name}\0{facts.st_size}\0{facts.st_mtime_ns}\0".encode())
    return whole.hexdigest()


def fingerprint(folder: Path) -> str:
    """Return a digest of everything that decides a model's vectors: weights, tokenizer, settings of every module.

    Copies have the same one, wherever they lie.

    Args:
        folder: of the model.
    """
    whole = hashlib.blake2b(digest_size=16)
    try:
        for name, path in _files(folder):
            with path.open("rb") as stream:
                whole.update(f"{name}\0".encode() + hashlib.file_digest(stream, "blake2b").digest())
    except OSError as error:
        raise ModelError(f"The model {folder} cannot be read ({error.strerror}). Copy it again.") from error
    return whole.hexdigest()


def _files(folder: Path) -> list[tuple[str, Path]]:
    """Return the files that count, by their names in the folder; some weights lie beside it, shared by two models."""
    inside = {
        path.relative_to(folder).as_posix(): path
        for path in folder.rglob("*")
        if path.suffix in _ENDINGS and path.name not in _NO_MATTER and path.is_file()
    }
    return sorted((inside | {path.name: path for path in weight_files(folder)}).items())
