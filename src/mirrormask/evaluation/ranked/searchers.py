"""What can be asked for documents: an encoder, words alone, an index, or anything of one's own with one method."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import DataError
from mirrormask.data.tasks.retrieval_collection import Collection
from mirrormask.evaluation.ranked.ranking import Hits, as_hits, nearest
from mirrormask.evaluation.vectors import Progress, prompts_of, vectors_of

BM25 = "BM25"
MAX_LENGTH = 256
"""Tokens that an encoder reads of a query or document, where it would read more."""

_BLOCK = 4096  # documents encoded at once
_LOOKED_FOR = 50  # documents of a collection that are looked for in an index


class Searcher(Protocol):
    """Anything that ranks documents: the ids of the best for each query, with scores that fall."""

    def search(self, queries: Sequence[str], top: int) -> Iterable[Hits]:
        """Yield for every query the ids of at most `top` documents, and their scores."""
        ...


def as_words(model: Any) -> Any:
    """Return what was given as a model, "bm25" in any spelling being BM25."""
    return BM25 if isinstance(model, str) and model.lower() == BM25.lower() else model


def opened(model: Any) -> Any:
    """Return the encoder or the index that a name or folder means; BM25 and objects stay as they are."""
    if not isinstance(model, (str, Path)) or as_words(model) == BM25:
        return as_words(model)
    from mirrormask.search.opening import is_index, open_index

    if is_index(model):
        return open_index(model)
    from mirrormask.models.encoder import load

    return load(model)


def is_searcher(model: Any) -> bool:
    """Say whether a model ranks documents itself and gives no vectors."""
    return isinstance(model, str) or (hasattr(model, "search") and not hasattr(model, "encode"))


def searcher_of(
    model: Any, collection: Collection, *, max_length: int, name: str, progress: Progress | None = None
) -> Searcher:
    """Return how a model that was opened ranks the documents of a collection."""
    if not is_searcher(model):
        return EncoderSearcher(model, collection, max_length=max_length, name=name, progress=progress)
    if isinstance(model, str):
        return WordSearcher(collection)
    return IndexSearcher(model, collection, name) if hasattr(model, "rank") else cast(Searcher, model)


class EncoderSearcher:
    """All documents of a collection by the cosine of their vectors, of which only a block is held at once.

    Args:
        encoder: a SentenceTransformer, anything with its `encode`, or a function from texts to vectors.
        collection: what to search in.
        max_length: tokens to read of a text.
        name: what to call the encoder in messages.
        progress: called as texts are encoded.
    """

    def __init__(
        self,
        encoder: Any,
        collection: Collection,
        *,
        max_length: int = MAX_LENGTH,
        name: str = "the model",
        progress: Progress | None = None,
    ) -> None:
        self._encoder, self._collection, self._prompts = encoder, collection, prompts_of(encoder)
        self._max_length, self._name, self._progress = max_length, name, progress

    def search(self, queries: Sequence[str], top: int) -> Iterator[Hits]:
        """Yield for every query the documents with the highest cosines."""
        asked = self._encode(list(queries), "query")
        rows, scores = nearest(asked, self._documents(), top)
        return as_hits(rows, scores, self._collection.documents)

    def _documents(self) -> Iterator[NDArray[np.float32]]:
        block: list[str] = []
        for text in self._collection.texts():
            block.append(text)
            if len(block) == _BLOCK:
                yield self._encode(block, "document")
                block = []
        if block:
            yield self._encode(block, "document")

    def _encode(self, texts: list[str], role: str) -> NDArray[np.float32]:
        prompt = self._prompts.get(role, "")
        return vectors_of(
            self._encoder,
            [prompt + text for text in texts],
            name=self._name,
            max_length=self._max_length,
            progress=None if self._progress is None else self._tick,
        )

    def _tick(self, done: int) -> None:
        assert self._progress is not None
        one = self._collection
        self._progress(f"{self._name} on {one.name}", done, len(one.documents) + len(one.queries))


class IndexSearcher:
    """An index that was made of the documents of a collection, in the way it searches by default.

    Args:
        index: that was opened.
        collection: whose documents it holds, under the same ids.
        name: what to call it in messages.

    Raises:
        DataError: it holds other documents.
    """

    def __init__(self, index: Any, collection: Collection, name: str) -> None:
        if all(index.id_of(document) != document for document in collection.documents[:_LOOKED_FOR]):
            raise DataError(
                f"The index {name} does not hold the documents of {collection.source}. Make it with: mirrormask index "
                f"{collection.file} --out {name}"
            )
        self._index = index

    def search(self, queries: Sequence[str], top: int) -> Iterator[Hits]:
        """Yield for every query what the index finds."""
        for found in self._index.rank(queries, top=top):
            yield [document for document, _ in found], np.array([score for _, score in found], dtype=np.float32)


class WordSearcher:
    """The documents of a collection by BM25 over their words, whose postings lie on disk while they are searched.

    Args:
        collection: what to search in.
    """

    def __init__(self, collection: Collection) -> None:
        self._collection = collection

    def search(self, queries: Sequence[str], top: int) -> Iterator[Hits]:
        """Yield for every query the documents that share a word with it, best first."""
        from mirrormask.search.analysis import Analyzer
        from mirrormask.search.bm25 import BM25 as Words
        from mirrormask.search.postings import PostingsWriter

        ids, texts = self._collection.documents, self._collection.texts
        with TemporaryDirectory(prefix="mirrormask-words-") as folder:
            writer = PostingsWriter(Path(folder) / "words", Analyzer.for_texts(texts()))
            for text in texts():
                writer.add(text)
            words = Words([writer.finish()], writer.analyzer)
            for query in queries:
                scores = words.scores([query])[0]
                found = np.flatnonzero(scores > 0)
                if len(found) > top:
                    found = found[np.argpartition(-scores[found], top - 1)[:top]]
                found = found[np.argsort(-scores[found], kind="stable")]
                yield [ids[row] for row in found.tolist()], scores[found]
