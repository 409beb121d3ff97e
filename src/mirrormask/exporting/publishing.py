"""Put an encoder on the hub: the files that make it up and its card, and nothing else that lies beside them."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mirrormask.core.errors import MirrormaskError, ModelError
from mirrormask.models.model_files import EXPORT, FACTS, modules_of, readable
from mirrormask.models.names import resolve

CARD = "README.md"

_NAMES = {
    *("config.json", "modules.json", "config_sentence_transformers.json", "sentence_bert_config.json"),
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
    *("vocab.txt", "vocab.json", "merges.txt", "spiece.model", "sentencepiece.bpe.model", "tokenizer.model"),
    *("model.onnx", "openvino_model.xml", "openvino_model.bin", "model.safetensors.index.json"),
    *(FACTS, EXPORT, CARD, "loader.py", "LICENSE", "classifier.json", "multitask.json"),
}
_SPOKEN = {FACTS, EXPORT, CARD}  # written for people, so that paths of a machine may stand in them
_PATH = re.compile(r"(?<![\w/:.~])(?:~|[A-Za-z]:)?[/\\](?:[^\s|\"'`(),/\\]+[/\\])+([^\s|\"'`(),/\\]+)")


@dataclass(frozen=True)
class Plan:
    """What would go to the hub.

    Args:
        folder: of the model.
        files: by their names there, with their sizes.
        left_out: names of what lies beside them and stays here.
    """

    folder: Path
    files: dict[str, int]
    left_out: list[str]


def plan_publishing(model: str) -> Plan:
    """Return which files of a model would go to the hub.

    Args:
        model: a saved encoder, a run's folder, or an export.

    Raises:
        ModelError: it is no encoder that was saved, or has no weights.
    """
    folder = Path(resolve(model))
    if not folder.is_dir():
        raise ModelError(f"There is no folder {model}. Give the folder of an encoder that was trained or exported.")
    with readable(folder):
        modules = modules_of(folder)
        inside = {str(each["path"]) for each in modules}
    if not modules:
        raise ModelError(f"{model} is a language model and no sentence encoder. Publish an encoder that was trained.")
    every = sorted(file for file in folder.rglob("*") if file.is_file())
    chosen = {file.relative_to(folder).as_posix(): file for file in every if _belongs(file, folder, inside)}
    if not any(name.endswith((".safetensors", ".onnx", ".xml")) for name in chosen):
        raise ModelError(f"{folder} holds no weights (.safetensors). Save the model again with mirrormask.")
    left = [name for file in every if (name := file.relative_to(folder).as_posix()) not in chosen]
    return Plan(folder, {name: file.stat().st_size for name, file in chosen.items()}, left)


def publish(
    model: str, name: str, *, private: bool = True, dry_run: bool = False, bars: bool = False
) -> dict[str, Any]:
    """Put an encoder on the hub and return what went there.

    Args:
        model: a saved encoder, a run's folder, or an export.
        name: on the hub, such as `me/my-encoder`.
        private: only who may see it sees it; one that is there and public is then left alone.
        dry_run: say what would go there, and send nothing.
        bars: show how far the files are.

    Raises:
        ModelError: the model cannot be published.
        MirrormaskError: the hub refuses, or does not answer.
    """
    plan = plan_publishing(model)
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils._validators import validate_repo_id

    try:
        validate_repo_id(name)
    except HFValidationError as error:
        raise MirrormaskError(
            f"{name!r} is no name for the hub ({_first(error)}). Give one such as me/my-encoder."
        ) from None
    told = {"model": model, "name": name, "private": private, "files": plan.files, "left_out": plan.left_out}
    if dry_run:
        return {**told, "dry_run": True}
    return {**told, "dry_run": False, "url": _send(plan, name, private, bars)}


def _send(plan: Plan, name: str, private: bool, bars: bool) -> str:
    from huggingface_hub import CommitOperationAdd, HfApi, constants
    from huggingface_hub.errors import HfHubHTTPError, LocalTokenNotFoundError
    from huggingface_hub.utils import disable_progress_bars  # type: ignore[attr-defined]

    if constants.HF_HUB_OFFLINE:
        raise MirrormaskError("HF_HUB_OFFLINE is set, so the hub is not asked. Unset it to publish.")
    if not bars:
        disable_progress_bars()
    api = HfApi()
    try:
        url = api.create_repo(name, private=private, exist_ok=True)
        if private and not api.model_info(url.repo_id).private:
            raise MirrormaskError(f"{name} is public already, and nothing was sent. Give --public, or another name.")
        added = [
            CommitOperationAdd(path_in_repo=each, path_or_fileobj=io.BytesIO(_content(plan.folder / each)))
            if Path(each).name in _SPOKEN
            else CommitOperationAdd(path_in_repo=each, path_or_fileobj=plan.folder / each)
            for each in plan.files
        ]
        api.create_commit(url.repo_id, added, commit_message="An encoder made with mirrormask")
    except (HfHubHTTPError, LocalTokenNotFoundError) as error:
        status = getattr(getattr(error, "response", None), "status_code", None)
        if status in (401, 403) or isinstance(error, LocalTokenNotFoundError):
            raise MirrormaskError(
                f"The hub does not let you write {name}. Log in (hf auth login), or set HF_TOKEN to a token that may."
            ) from error
        raise MirrormaskError(f"The hub refused {name} ({_first(error)}). Nothing was changed there.") from error
    except MirrormaskError:
        raise
    except Exception as error:  # each version of the client has its own errors for a network that is not there
        raise MirrormaskError(f"{name} could not be sent to the hub ({_first(error)}). Repeat the command.") from error
    return str(url)


def _belongs(file: Path, folder: Path, modules: set[str]) -> bool:
    """Say whether a file is part of the model: by its name, in the folder or in one of a module's."""
    place = file.parent.relative_to(folder).as_posix()
    return ("" if place == "." else place) in modules | {""} and (file.name in _NAMES or file.suffix == ".safetensors")


def _content(file: Path) -> bytes:
    """Return what is sent of a file for people: paths of this machine are cut to their last part."""
    return _PATH.sub(r"\1", file.read_text(encoding="utf-8")).encode()


def _first(error: Exception) -> str:
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return line.split(". ")[0][:200].rstrip(". ")
