"""Heads beside the encoder they stand on: two files in its folder, which stays a sentence encoder like any other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from safetensors.torch import load_file, save_file
from torch import nn

from mirrormask.core.errors import ModelError
from mirrormask.core.storage import read_json, write_json
from mirrormask.models.encoder import load
from mirrormask.models.names import resolve

Model = TypeVar("Model", bound=nn.Module)


@dataclass(frozen=True)
class KeptHeads:
    """The files of one kind of heads.

    Args:
        facts: name of the file that says what they are.
        weights: name of the file with their weights.
        missing: what is said of a folder without them, and how they are made.
        damaged: what is said where they cannot be read.
    """

    facts: str
    weights: str
    missing: str
    damaged: str

    def write(self, folder: Path, heads: nn.Module, facts: dict[str, Any]) -> None:
        """Write them into the folder of their encoder."""
        weights = {name: value.detach().cpu().contiguous() for name, value in heads.state_dict().items()}
        save_file(weights, folder / self.weights)
        write_json(folder / self.facts, facts)

    def open(
        self,
        name: Path | str,
        make: Callable[[Any, dict[str, Any]], Model],
        heads_of: Callable[[Model], nn.Module],
        device: str | None,
    ) -> Model:
        """Open encoder and heads.

        Args:
            name: of the model, or its folder.
            make: the model with fresh heads, from the encoder and the facts.
            heads_of: where their weights belong in it.
            device: where it shall compute.

        Raises:
            ModelError: they are not there, or damaged.
        """
        folder = Path(resolve(name))
        if not (folder / self.facts).is_file():
            raise ModelError(f"{name} {self.missing}")
        encoder = load(name, device=device)
        try:
            found = make(encoder, read_json(folder / self.facts))
            heads_of(found).load_state_dict(load_file(folder / self.weights))
        except Exception as error:
            raise ModelError(f"{self.damaged.format(folder)} ({error}). Train again.") from error
        return found.eval()
