"""Opening a model: quietly, from the disk where it lies there, with all of its weights, or not at all.

Every loader runs inside `opening`, so a folder that is damaged, incomplete or hostile is one sentence in every command.
"""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mirrormask.core.errors import MirrormaskError, ModelError
from mirrormask.models.model_files import EXPORT, readable, settings
from mirrormask.models.names import unreachable

if TYPE_CHECKING:
    from torch import nn

_PATIENCE = 5.0  # seconds the hub has to answer once

FRESH = re.compile(r"(^|\.)(pooler\.|position_ids$|token_type_ids$|inv_freq$)")
"""What of an encoder a checkpoint may lack: poolers, which nothing here reads, and buffers that are computed.

A head outside the encoder may be missing too: `MaskedLM` says itself when there is none.
"""


@contextlib.contextmanager
def opening(name: str | Path, folder: str, *, exported: bool = False) -> Iterator[None]:
    """Load a model inside the block; what fails there is a `ModelError` that says what is wrong with it.

    Args:
        name: what the user called the model.
        folder: where that leads, or the name itself when only the hub can know it.
        exported: an exported encoder will do: it is only to be read.
    """
    if not exported and (Path(folder) / EXPORT).is_file():
        source = settings(Path(folder), EXPORT).get("source")
        raise ModelError(
            f"{name} was exported: it encodes texts and can be neither trained nor probed. Name the encoder that it "
            f"was made of ({source})."
        )
    said = readable(folder) if Path(folder).is_dir() else _reachable(str(name))
    with said, quiet_loading(), cache_if_offline(folder), _all_weights(folder):
        yield


@contextlib.contextmanager
def _reachable(name: str) -> Iterator[None]:
    try:
        yield
    except MirrormaskError:
        raise
    except Exception as error:  # each version of the client has its own
        raise unreachable(name, error) from error


@contextlib.contextmanager
def quiet_loading() -> Iterator[None]:
    """Silence transformers' progress bars and load reports inside the block."""
    from transformers.utils import logging

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


@contextlib.contextmanager
def cache_if_offline(name: str) -> Iterator[None]:
    """Read only the disk inside the block for a folder, or where a hub name is asked for and the hub does not answer.

    The client's own retries would hold someone without a network for half a minute, and what a folder's files name
    (a base model, code) is not to be fetched unasked.
    """
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    if not before and (Path(name).is_dir() or not _hub_answers()):
        constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


def check_tokenizer(tokenizer: Any, folder: str, model: nn.Module | None = None) -> None:
    """Refuse a tokenizer without words, which is what the library makes of missing files, or with more than the model.

    Args:
        tokenizer: as it was loaded.
        folder: where from.
        model: a Hugging Face model whose word table must have a row for every token.
    """
    words = {} if tokenizer is None else tokenizer.get_vocab()
    if len(words) < 2 + len(set(getattr(tokenizer, "all_special_tokens", ()))):
        raise ModelError(
            f"{folder} has no tokenizer, or one without words. Copy the model again with tokenizer.json beside it."
        )
    rows = None if model is None else model.get_input_embeddings().weight.shape[0]  # type: ignore[operator]
    if rows is not None and max(words.values()) >= rows:
        raise ModelError(
            f"{folder} has a tokenizer of {max(words.values()) + 1:,} tokens, and its model knows {rows:,}. "
            "Copy the tokenizer that the model was trained with."
        )


def check_numbers(model: nn.Module, folder: str) -> None:
    """Refuse weights with NaN or infinity: everything computed with them would be no number either."""
    import torch

    for name, weight in model.state_dict().items():
        if weight.is_floating_point() and not torch.isfinite(weight.sum(dtype=torch.float32)):
            raise ModelError(
                f"{folder} has weights that are NaN or infinite ({name}): it is damaged, or its training diverged. "
                "Copy it again, or take an earlier checkpoint."
            )


@contextlib.contextmanager
def _all_weights(folder: str) -> Iterator[None]:
    """Let `from_pretrained` refuse, whoever calls it inside the block, what it would otherwise make up at random."""
    from transformers import PreTrainedModel

    original = PreTrainedModel.__dict__["from_pretrained"]

    def whole(cls: Any, /, *arguments: Any, output_loading_info: bool = False, **options: Any) -> Any:
        model, info = original.__func__(
            cls, *arguments, **{**options, "output_loading_info": True, "ignore_mismatched_sizes": True}
        )
        _check_info(model, info, folder)
        return (model, info) if output_loading_info else model

    PreTrainedModel.from_pretrained = classmethod(whole)  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        PreTrainedModel.from_pretrained = original  # type: ignore[method-assign]


def _check_info(model: Any, info: dict[str, Any], folder: str) -> None:
    wrong = sorted(str(name) for name, *_ in info["mismatched_keys"])
    if wrong:
        raise ModelError(
            f"{folder} has weights of another shape than its config.json says ({_some(wrong)}). "
            "Copy both from the same model."
        )
    prefix = "" if model.base_model is model else f"{model.base_model_prefix}."
    lost = sorted(name for name in info["missing_keys"] if name.startswith(prefix) and not FRESH.search(name))
    if lost:
        raise ModelError(
            f"{folder} lacks weights that its config.json asks for ({_some(lost)}), and made up at random they would "
            "mean nothing. Copy config and weights from the same model."
        )


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _hub_answers() -> bool:
    from huggingface_hub import constants, get_session

    try:
        get_session().head(constants.ENDPOINT, timeout=_PATIENCE)
    except Exception:  # each version of the client has its own errors for a network that is not there
        return False
    return True
