"""Loading without noise: the libraries' bars and reports about heads we mean to leave out say nothing to a user."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from pathlib import Path

_PATIENCE = 5.0  # seconds the hub has to answer once


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
    """Read only the local cache inside the block where a hub name is asked for and the hub does not answer.

    The client's own retries would hold someone without a network for half a minute.
    """
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    if not before and not Path(name).is_dir() and not _hub_answers():
        constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


def _hub_answers() -> bool:
    from huggingface_hub import constants, get_session

    try:
        get_session().head(constants.ENDPOINT, timeout=_PATIENCE)
    except Exception:  # each version of the client has its own errors for a network that is not there
        return False
    return True
