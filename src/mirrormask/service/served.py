"""What is served: an index or a model, opened once, and an index again when it was replaced on disk."""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.batch import Tokens
from mirrormask.core.errors import MirrormaskError
from mirrormask.exporting.quickest import ENOUGH, quickest
from mirrormask.models.bulk import Tokenizing, encode_tokens, token_budget
from mirrormask.models.encoder import load
from mirrormask.search.opening import is_index, open_index
from mirrormask.search.postgres.address import is_address, read_address
from mirrormask.search.searching import SearchIndex
from mirrormask.search.text_encoder import TextEncoder

Floats = NDArray[np.float32]

_WORDS = """how do i get my money back when the parcel was opened on its way and the shop near the station does not
answer any letter although the clock that i bought there last winter has never told the right hour of the day"""
_LENGTHS = (2, 4, 6, 8, 12, 16, 24, 32)
_TRIED = [" ".join(_WORDS.split()[start : start + length]) for start in range(8) for length in _LENGTHS]
_ENOUGH = 2_000  # tokens before the log says that the model does not know them: one odd request says little
_SPARE = 32  # tokens whose computing costs about as much as beginning another forward
_SHARDS = 2  # forwards' worth of tokens taken at once: more would let who comes next wait longer


class PlainTexts:
    """Texts as `mirrormask encode` reads them.

    Args:
        model: a SentenceTransformer.
        backend: what computes, as for `quickest`.
    """

    def __init__(self, model: Any, backend: str = "torch") -> None:
        quick = quickest(model, _TRIED, ENOUGH, backend=backend)
        self.model, self._quick, self.backend = model, quick.encoder, quick.backend
        self._tokenizing = Tokenizing(quick.encoder, enough=_ENOUGH)
        self.budget = _SHARDS * token_budget(model.device)

    def rows(self, texts: Sequence[str]) -> Tokens:
        """Return the tokens of texts."""
        return self._tokenizing(texts)

    def vectors(self, texts: Sequence[str], tokens: Tokens) -> Floats:
        """Return one vector for each text."""
        return encode_tokens(self._quick, tokens, spare=_SPARE)


class Queries:
    """Queries as an index reads them: after its prompt, rare tokens weighing more.

    Args:
        encoder: of the index.
        backend: what computes, as for `quickest`.
    """

    def __init__(self, encoder: TextEncoder, backend: str = "torch") -> None:
        encoder.pooled = quickest(encoder.pooled, _TRIED, ENOUGH, backend=backend).encoder
        self._encoder, self._tokenizing = encoder, Tokenizing(encoder.pooled, enough=_ENOUGH)
        self.budget = _SHARDS * token_budget(encoder.model.device)

    def rows(self, texts: Sequence[str]) -> Tokens:
        """Return the tokens of queries."""
        return self._tokenizing([self._encoder.facts.query_prompt + text for text in texts])

    def vectors(self, texts: Sequence[str], tokens: Tokens) -> Floats:
        """Return one vector for each query."""
        if self._encoder.apart:
            return self._encoder.queries(texts)
        return self._encoder.scaled(encode_tokens(self._encoder.pooled, tokens, spare=_SPARE))


class Generation:
    """An index as it is at one time, ready to be asked.

    Args:
        index: opened.
        before: the generation that it follows, whose model it keeps where that is the same.
        backend: what computes vectors of queries.
    """

    def __init__(self, index: SearchIndex, before: Generation | None = None, *, backend: str = "torch") -> None:
        self.index = index
        encoder = index.encoder
        if before is not None and before.index.encoder.facts.fingerprint == encoder.facts.fingerprint:
            encoder.model = before.index.encoder.model
        self.queries, self.facets = Queries(encoder, backend), index.facets()  # now, since its files may go
        self._made: dict[str, Future[Any]] = {}
        self._asking, self._making = threading.Lock(), threading.Lock()

    def once(self, name: str, make: Callable[[], Any]) -> Future[Any]:
        """Return what is made of this generation when it is first asked for, and kept; one thing is made at a time.

        The thread is a daemon: nobody waits for a map when the service ends.
        """
        with self._asking:
            if name not in self._made or (self._made[name].done() and self._made[name].exception()):
                done: Future[Any] = Future()
                self._made[name] = done
                threading.Thread(target=self._make, args=(make, done), name=name, daemon=True).start()
            return self._made[name]

    def _make(self, make: Callable[[], Any], done: Future[Any]) -> None:
        with self._making:
            try:
                done.set_result(make())
            except BaseException as error:
                done.set_exception(error)


class Served:
    """One argument of `serve`.

    Args:
        argument: the folder of an index, or a model's name or folder.
        name: by which requests know it.
        model: where the index's encoder is, if it was moved.
        backend: what computes: `torch`, `openvino`, `onnx`, or `auto`, the quickest that gives the same vectors.
    """

    def __init__(self, argument: str, name: str, *, model: str | None = None, backend: str = "torch") -> None:
        argument = argument if is_address(argument) else str(Path(argument).expanduser())
        self.name, self._argument, self._model, self._backend = name, argument, model, backend
        self.generation: Generation | None = None
        self.reloads = self.failures = 0
        self._told = ""
        if is_index(argument):
            self.generation = Generation(open_index(argument, model=model), backend=backend)
            self.encoder_name = _shown(self.generation.index.encoder.facts.name)
        else:
            self._loaded = load(argument)
            self.encoder_name = name
        self.texts = PlainTexts(self.model, backend)  # how texts are encoded that are no queries of an index

    @property
    def model(self) -> Any:
        """Return the sentence encoder."""
        return self._loaded if self.generation is None else self.generation.index.encoder.model

    @property
    def model_folder(self) -> str:
        """Return where the sentence encoder is."""
        return self._argument if self.generation is None else str(self.generation.index.encoder.folder)

    def refresh(self) -> None:
        """Open the index again if it was replaced; where that fails, the one that is open goes on."""
        if self.generation is None:
            return
        try:
            if not self.generation.index.changed():
                return
            opened = open_index(self._argument, model=self._model)
            self.generation = Generation(opened, self.generation, backend=self._backend)
            self.encoder_name = _shown(self.generation.index.encoder.facts.name)
            if self.texts.model is not self.model:
                self.texts = PlainTexts(self.model, self._backend)
        except (MirrormaskError, OSError) as error:
            if str(error) != self._told:  # once, however often it is tried
                self.failures += 1
                self._told = str(error)
                sys.stderr.write(f"{self.name} was replaced and cannot be opened, so the one before stays: {error}\n")
            return
        self._told = ""
        self.reloads += 1

    def about(self) -> dict[str, Any]:
        """Return what there is to know of it, without a path."""
        found: dict[str, Any] = {
            "name": self.name,
            "kind": "model" if self.generation is None else "index",
            "model": self.encoder_name,
            "dimension": int(self.model.get_embedding_dimension()),
            "backend": self.texts.backend,
        }
        if self.generation is not None:
            record = self.generation.index.record
            found |= {"documents": record["counts"]["documents"], "passages": record["counts"]["passages"]}
            found |= {"generation": record["generation"], "modes": ["both", "words", "vectors"]}
            found["columns"] = self.generation.facets
        return found

    def hidden(self) -> dict[str, str]:
        """Return the paths that no answer may name, and what is said instead."""
        paths = {self._argument, str(Path(self._argument).resolve()), self.model_folder}
        if self.generation is not None:
            paths |= {self.generation.index.encoder.facts.name, self.generation.index.name}
        return {path: _shown(path) for path in paths}


def open_all(arguments: Sequence[str], *, model: str | None = None, backend: str = "torch") -> list[Served]:
    """Open everything that is served, each under a name of its own.

    Args:
        arguments: folders of indexes, names or folders of models.
        model: where the encoder of the indexes is, if it was moved.
        backend: what computes, as for `Served`.
    """
    names: list[str] = []
    for argument in arguments:
        own = _shown(argument)
        free = (own if number == 1 else f"{own}-{number}" for number in itertools.count(1))
        names.append(next(name for name in free if name not in names))
    options: dict[str, Any] = {"model": model, "backend": backend}
    return [Served(argument, name, **options) for argument, name in zip(arguments, names, strict=True)]


def _shown(name: str) -> str:
    """Return a name without the folders above it, which say nothing about what is served."""
    if is_address(name):
        return read_address(name).table
    path = Path(name).expanduser()
    if path.is_dir():
        path = path.resolve()
        return path.parent.name if path.name == "model" else path.name
    return name if len(path.parts) <= 2 and not path.is_absolute() else path.name
