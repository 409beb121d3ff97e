"""The encoder of an index: known by its fingerprint, asked with the prompts it wants, and loaded only when it must."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import MirrormaskError, ModelError, one_of
from mirrormask.models.few_texts import few_vectors
from mirrormask.models.fingerprint import fingerprint, model_folder, stamp
from mirrormask.models.model_files import settings
from mirrormask.models.names import SHIPPED, resolve
from mirrormask.search.token_weights import averages, token_weights, weighted

Floats = NDArray[np.float32]

FEW = 4
"""Texts up to which a model is run without the libraries, where it can be."""

TOKENS = ("idf", "equal")
"""How much the tokens of a text count in its vector."""

# What the cards of these families ask for, where the files of a model do not say it.
_FAMILIES = (
    (re.compile(r"(^|[/-])e5-(small|base|large)", re.IGNORECASE), "query: ", "passage: "),
    (
        re.compile(r"bge-(small|base|large)-en", re.IGNORECASE),
        "Represent this sentence for searching relevant passages: ",
        "",
    ),
)


@dataclass(frozen=True)
class EncoderFacts:
    """What an index remembers of its encoder.

    Args:
        name: by which it was given; a folder's path in full.
        fingerprint: of its files.
        stamp: of the same files, quickly compared.
        width: numbers of a vector.
        length: tokens that it reads of a text.
        query_prompt: put before every query.
        document_prompt: put before every passage.
        cosine: vectors are scaled to length 1.
        tokens: how much each counts in a vector: `equal`, or `idf`: rare ones more, by weights that the index keeps.
    """

    name: str
    fingerprint: str
    stamp: str
    width: int
    length: int
    query_prompt: str
    document_prompt: str
    cosine: bool
    tokens: str = "equal"


class TextEncoder:
    """Turns queries and passages into vectors.

    Args:
        facts: of the encoder.
        folder: where its files are.
        loaded: the encoder, where it is loaded already.
        weights: of its tokens (v,), where they are not equal.
    """

    def __init__(self, facts: EncoderFacts, folder: Path, loaded: Any = None, weights: Floats | None = None) -> None:
        self.facts, self.folder, self.weights = facts, folder, weights
        if loaded is not None:
            self.model = loaded

    @classmethod
    def load(
        cls,
        name: str,
        *,
        query_prompt: str | None = None,
        document_prompt: str | None = None,
        tokens: str | None = None,
    ) -> TextEncoder:
        """Load an encoder by name or folder, for an index that is to be made.

        Args:
            name: as for `mirrormask.load`.
            query_prompt, document_prompt: put before texts; by default what the model's files or its family say.
            tokens: one of `TOKENS`; by default `idf` where the encoder averages its tokens and wants no prompts.

        Raises:
            MirrormaskError: tokens are to be weighted that the encoder does not average.
        """
        from mirrormask.models.encoder import load

        model = load(name)
        folder = model_folder(name)
        query, document = prompts_of(folder, name)
        query = query if query_prompt is None else query_prompt
        document = document if document_prompt is None else document_prompt
        if tokens is None:
            tokens = "idf" if averages(model) and not query and not document else "equal"
        if one_of("tokens", tokens, TOKENS, of="an index") == "idf" and not averages(model):
            raise MirrormaskError(f"The vectors of {name} are no mean of tokens. Leave out --tokens idf.")
        path = Path(resolve(name))
        shipped = path.is_dir() and path.parent == SHIPPED
        facts = EncoderFacts(
            name=str(Path(name).expanduser().resolve()) if Path(name).is_dir() and not shipped else name,
            fingerprint=fingerprint(folder),
            stamp=stamp(folder),
            width=int(model.get_embedding_dimension()),
            length=int(model.max_seq_length or 512),
            query_prompt=query,
            document_prompt=document,
            cosine=settings(folder, "config_sentence_transformers.json").get("similarity_fn_name") != "dot",
            tokens=tokens,
        )
        return cls(facts, folder, model)

    @classmethod
    def known(cls, record: dict[str, Any], name: str | None = None, weights: Floats | None = None) -> TextEncoder:
        """Return the encoder that an index remembers, or the one named instead, if it is the same.

        Args:
            record: of its facts.
            name: of the one to take instead.
            weights: of its tokens, where the index keeps some.

        Raises:
            ModelError: it is not there any more, or it is another.
        """
        facts = EncoderFacts(**record)
        try:
            folder = model_folder(name or facts.name)
        except ModelError as error:
            raise ModelError(
                f"The encoder of this index, {name or facts.name}, is not there any more ({str(error).rstrip('.')}). "
                "Say where it is with --model, or search by --mode words."
            ) from error
        if stamp(folder) != facts.stamp and fingerprint(folder) != facts.fingerprint:
            raise ModelError(
                f"This index was made with another encoder than {name or facts.name} is now: its vectors cannot be "
                f"compared. Name the one it was made with ({facts.name}), search by --mode words, or index the texts "
                "again with --anew."
            )
        return cls(facts, folder, weights=weights)

    def fitted(self, texts: Sequence[str]) -> TextEncoder:
        """Return the encoder with weights of tokens by the passages of a collection, where it has any."""
        if self.facts.tokens == "equal":
            return self
        return TextEncoder(self.facts, self.folder, self.model, token_weights(self.model, texts))

    @cached_property
    def model(self) -> Any:
        """Return the encoder, loaded when it is first needed."""
        from mirrormask.models.encoder import load

        return load(str(self.folder) if self.folder.is_dir() else self.facts.name)

    @cached_property
    def pooled(self) -> Any:
        """Return the encoder with its tokens weighted, where they are."""
        return self.model if self.weights is None else weighted(self.model, self.weights)

    def quickened(self, text: Callable[[int], str], rows: range) -> str:
        """Let the quickest backend that gives the same vectors compute them, and return which.

        Args:
            text: from a passage's number to the passage.
            rows: the numbers of those that will be encoded.
        """
        from mirrormask.exporting.quickest import TRIED, quickest

        some = [self.facts.document_prompt + text(row) for row in rows[:: max(1, len(rows) // TRIED)][:TRIED]]
        quick = quickest(self.pooled, some, len(rows))
        self.pooled = quick.encoder
        return quick.backend

    def queries(self, texts: Sequence[str]) -> Floats:
        """Return the vectors (n, d) of queries."""
        prompted = [self.facts.query_prompt + text for text in texts]
        if "model" not in self.__dict__ and len(texts) <= FEW:
            quick = few_vectors(self.folder, prompted, self.weights)
            if quick is not None:
                return self.scaled(quick)
        return self._encoded(prompted, self.facts.query_prompt, "query", None)

    def documents(self, texts: Sequence[str], progress: Callable[[int], None] | None = None) -> Floats:
        """Return the vectors (n, d) of passages."""
        prompted = [self.facts.document_prompt + text for text in texts]
        return self._encoded(prompted, self.facts.document_prompt, "document", progress)

    def _encoded(self, prompted: list[str], prompt: str, task: str, progress: Callable[[int], None] | None) -> Floats:
        """Encode through our bulk pass, or through the library where a model treats queries or prompts apart."""
        model = self.pooled
        if self.apart:
            bare = [text.removeprefix(prompt) for text in prompted]
            encode = model.encode_query if task == "query" else model.encode_document
            found = encode(bare, prompt=prompt or None, show_progress_bar=False, convert_to_numpy=True)
            if progress is not None:
                progress(len(bare))
        else:
            from mirrormask.models.bulk import encode_texts

            found = encode_texts(model, prompted, progress=progress)
        return self.scaled(np.asarray(found, dtype=np.float32))

    @cached_property
    def apart(self) -> bool:
        """Say whether the model treats queries or prompts apart, so that only the library can ask it."""
        kinds = {type(module).__name__ for module in self.model}
        return "Router" in kinds or not all(getattr(module, "include_prompt", True) for module in self.model)

    def scaled(self, vectors: Floats) -> Floats:
        """Return vectors of length 1 where the encoder's are compared by cosine."""
        if not self.facts.cosine:
            return vectors
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return (vectors / np.where(norms > 0, norms, 1)).astype(np.float32)

    def to_dict(self) -> dict[str, Any]:
        """Return the facts, for a record."""
        return asdict(self.facts)

    def decisive(self) -> dict[str, Any]:
        """Return everything that decides a passage's vector, JSON-able."""
        own = {key: value for key, value in self.to_dict().items() if key not in ("name", "stamp", "query_prompt")}
        weights = b"" if self.weights is None else self.weights.tobytes()
        return {**own, "weights": hashlib.blake2b(weights, digest_size=16).hexdigest()}


def prompts_of(folder: Path, name: str) -> tuple[str, str]:
    """Return what an encoder wants before queries and before documents: as its files say, else as its family does.

    Example:
        >>> prompts_of(Path("nowhere"), "intfloat/multilingual-e5-small")
        ('query: ', 'passage: ')
    """
    said = settings(folder, "config_sentence_transformers.json").get("prompts") or {}
    query = said.get("query") or ""
    document = next((said[key] for key in ("document", "passage", "corpus") if said.get(key)), "")
    if not isinstance(query, str) or not isinstance(document, str):
        raise MirrormaskError(f"The prompts in {folder / 'config_sentence_transformers.json'} are no texts. Mend them.")
    if query or document:
        return query, document
    return next(((q, d) for family, q, d in _FAMILIES if family.search(name)), ("", ""))
