"""mirrormask turns a masked language model into a sentence encoder without labels, and measures it.

Example:
    >>> import mirrormask
    >>> encoder = mirrormask.load("mini")  # doctest: +SKIP
    >>> run = mirrormask.train("my.txt", out="my-encoder")  # doctest: +SKIP
    >>> report = mirrormask.evaluate(["mini", "my-encoder"], data="my-pairs.csv")  # doctest: +SKIP
    >>> mirrormask.classify("my-labels.csv", out="my-classifier")  # doctest: +SKIP
    >>> index = mirrormask.Index.build("my.txt", "my-index", model="my-encoder")  # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mirrormask.core.errors import MirrormaskError
    from mirrormask.evaluation.evaluate import evaluate
    from mirrormask.heads.classifier import Classifier
    from mirrormask.models.encoder import build_encoder, load, save_encoder
    from mirrormask.models.masked_lm import MaskedLM
    from mirrormask.prompting.saved_prompt import PromptModel
    from mirrormask.runs.classify import Classification, classify
    from mirrormask.runs.train import train
    from mirrormask.search.index import Index
    from mirrormask.search.opening import open_index
    from mirrormask.search.postgres.postgres_index import PostgresIndex

__version__ = "0.1.0"

__all__ = [
    "Classification",
    "Classifier",
    "Index",
    "MaskedLM",
    "MirrormaskError",
    "PostgresIndex",
    "PromptModel",
    "__version__",
    "build_encoder",
    "classify",
    "evaluate",
    "load",
    "open_index",
    "save_encoder",
    "train",
]

_WHERE = {
    "Classification": "mirrormask.runs.classify",
    "Classifier": "mirrormask.heads.classifier",
    "Index": "mirrormask.search.index",
    "MaskedLM": "mirrormask.models.masked_lm",
    "MirrormaskError": "mirrormask.core.errors",
    "PostgresIndex": "mirrormask.search.postgres.postgres_index",
    "PromptModel": "mirrormask.prompting.saved_prompt",
    "build_encoder": "mirrormask.models.encoder",
    "classify": "mirrormask.runs.classify",
    "evaluate": "mirrormask.evaluation.evaluate",
    "load": "mirrormask.models.encoder",
    "open_index": "mirrormask.search.opening",
    "save_encoder": "mirrormask.models.encoder",
    "train": "mirrormask.runs.train",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import mirrormask` costs nothing."""
    if name in _WHERE:
        return getattr(importlib.import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'mirrormask' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_WHERE])
