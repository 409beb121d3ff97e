"""Making and changing an index: documents are read and cut, passages encoded, words counted, then all of it counts."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.engines import Engine, PlainEngine
from mirrormask.core.errors import DataError, MirrormaskError, TrainingError
from mirrormask.core.overwriting import spare_inputs
from mirrormask.core.wording import counted
from mirrormask.data.text.origin import paths_in
from mirrormask.models.names import DEFAULT_START
from mirrormask.search.analysis import Analyzer
from mirrormask.search.beginning import JUDGED, Progress, check_same, nothing_in, words_for
from mirrormask.search.bm25 import BM25
from mirrormask.search.dense import Dense, DenseWriter, linked
from mirrormask.search.documents import Document, Reading, Source, read_documents
from mirrormask.search.encoded import Encoded
from mirrormask.search.encoding_elsewhere import encode_elsewhere
from mirrormask.search.generations import ENCODED, is_index, next_generation, read_manifest, writing
from mirrormask.search.library import Library, LibraryWriter, content_of, digest
from mirrormask.search.passages import Cutting, cut
from mirrormask.search.postings import Postings, PostingsWriter, merge
from mirrormask.search.storing import Storing
from mirrormask.search.text_encoder import TextEncoder
from mirrormask.search.token_weights import SAMPLE

LIBRARY, DENSE, WORDS, DEAD, WEIGHTS = "library", "dense", "words", "dead.npy", "weights.npy"

_GONE = 0.2  # share of passages that may be marked as deleted before everything is written anew
_BLOCK = 4096  # passages encoded between two reports
_PARTS = 8  # of the words at most, each from one addition


def build_index(
    source: Source,
    out: Path,
    reading: Reading,
    *,
    model: str | None = None,
    storing: Storing | None = None,
    passage_words: int | None = None,
    query_prompt: str | None = None,
    document_prompt: str | None = None,
    tokens: str | None = None,
    anew: bool = False,
    progress: Progress | None = None,
    engine: Engine | None = None,
) -> dict[str, Any]:
    """Make an index of a source at `out`, or add to the one that is there, and return its record.

    Args:
        source: as for `read_documents`; a document whose id is there replaces it, an unchanged one is passed over.
        out: the folder of the index.
        reading: how the source is read.
        model, storing, passage_words, query_prompt, document_prompt, tokens: of a new index; one that is there must
            have been made with the same, where any is given.
        anew: leave nothing of an index that is there.
        progress: told of every stage.
        engine: where passages are encoded; by default in this process.
    """
    spare_inputs(paths_in(source), into=out, replaced=[out])
    with writing(out):
        if is_index(out) and not anew:
            old = Opened(out)
            encoder = TextEncoder.known(old.manifest["encoder"], model, old.weights)
            given = {"query_prompt": query_prompt, "document_prompt": document_prompt, "tokens": tokens}
            check_same(out, old.manifest, storing, {"passage_words": passage_words, **given})
            writer = _Writing(out, encoder, Cutting(**old.manifest["passages"]), old, engine=engine)
            changed = _changed(source, reading, old, writer)
            some = next(changed, None)
            if some is None:
                return writer.told(old.manifest, reading)
            return writer.write(itertools.chain([some], changed), reading, progress)
        documents = read_documents(source, reading)
        first = list(itertools.islice(documents, JUDGED))
        if not first:
            raise nothing_in(source, reading)
        encoder = TextEncoder.load(
            model or DEFAULT_START, query_prompt=query_prompt, document_prompt=document_prompt, tokens=tokens
        )
        cutting = Cutting(passage_words or words_for(encoder, first))
        stem = Analyzer.for_texts(document.text for document in first).stem
        writer = _Writing(out, encoder, cutting, storing=storing or Storing(), stem=stem, engine=engine)
        return writer.write(itertools.chain(first, documents), reading, progress)


def delete_documents(out: Path, ids: Sequence[str], progress: Progress | None = None) -> dict[str, Any]:
    """Take documents out of an index by their ids and return its record.

    They are marked, and once a fifth of the passages is, everything left is written anew.

    Raises:
        DataError: there is no such id; nothing is deleted then.
    """
    with writing(out):
        old = Opened(out)
        dead = np.array(old.dead)
        for identity in dict.fromkeys(ids):
            number = old.library.find(identity, ~dead)
            if number is None:
                raise DataError(f"The index {out} has no document {identity!r}, so nothing was deleted. Check the id.")
            dead[number] = True
        if dead.all():
            raise MirrormaskError(f"These are all documents of {out}. Remove the folder, or keep one.")
        return _mark(out, old, dead, progress)


class Opened:
    """The files of an index, opened for reading.

    Args:
        folder: of the index.
    """

    def __init__(self, folder: Path) -> None:
        self.manifest = read_manifest(folder)
        self.generation = folder / self.manifest["generation"]
        self.library = Library(self.generation / LIBRARY)
        self.dense = Dense(self.generation / DENSE, Storing.read(self.manifest["vectors"], self.generation / DENSE))
        self.dead: NDArray[np.bool_] = np.load(self.generation / DEAD)
        weights = self.generation / WEIGHTS
        self.weights: NDArray[np.float32] | None = np.load(weights) if weights.is_file() else None
        self.analyzer = Analyzer(stem=self.manifest["words"]["stem"])
        self.postings = [Postings.open(path) for path in sorted((self.generation / WORDS).iterdir())]

    @property
    def words(self) -> BM25:
        """Return the scores of passages by their words."""
        return BM25(self.postings, self.analyzer)

    def kept(self, dead: NDArray[np.bool_]) -> list[NDArray[np.bool_]]:
        """Return for each part of the words which of its passages stay where some documents are taken out."""
        stay = ~dead[self.library.owners]
        ends = np.cumsum([0, *map(len, self.postings)]).tolist()
        return [stay[a:b] for a, b in itertools.pairwise(ends)]


class _Writing:
    """One new generation: what it is made with, and how much was added, replaced or left as it was."""

    def __init__(
        self,
        out: Path,
        encoder: TextEncoder,
        cutting: Cutting,
        old: Opened | None = None,
        *,
        storing: Storing | None = None,
        stem: bool = True,
        engine: Engine | None = None,
    ) -> None:
        self.engine = engine or PlainEngine()
        self.out, self.encoder, self.cutting, self.old = out, encoder, cutting, old
        self.storing = storing if old is None else old.dense.storing
        self.dead: list[int] = [] if old is None else np.flatnonzero(old.dead).tolist()
        self.stem = stem if old is None else old.analyzer.stem
        self.added = self.replaced = self.unchanged = self.resumed = 0
        self.backend = ""

    def write(self, documents: Iterable[Document], reading: Reading, progress: Progress | None) -> dict[str, Any]:
        report = progress or (lambda stage, done, total: None)
        record: dict[str, Any] = {}
        with next_generation(self.out, record) as folder:
            library = self._library(folder / LIBRARY, documents, report)
            if self.old is None and not len(library):
                raise nothing_in("the source", reading)
            dense, loss = self._vectors(folder / DENSE, library, report)
            dead = np.zeros(len(library), dtype=bool)
            dead[self.dead] = True
            self._words(folder / WORDS, library, report)
            np.save(folder / DEAD, dead)
            if self.encoder.weights is not None:
                np.save(folder / WEIGHTS, self.encoder.weights)
            record |= _record(self.encoder.to_dict(), self.cutting, self.stem, dense, library, dead)
            record["vectors"] |= {"loss": loss if self.old is None else self.old.manifest["vectors"]["loss"]}
        if _share(dead, library) > _GONE:
            record = _mark(self.out, Opened(self.out), dead, progress)
        return self.told(record, reading)

    def told(self, record: dict[str, Any], reading: Reading) -> dict[str, Any]:
        """Return a record with what was done."""
        counts = {"added": self.added, "replaced": self.replaced, "unchanged": self.unchanged}
        notes = reading.sentences()
        if self.resumed:
            notes.append(f"{counted(self.resumed, 'passage')} had been encoded by a run that was stopped")
        return {**record, **counts, "notes": notes, "backend": self.backend, "skipped": sum(reading.skipped.values())}

    def _library(self, folder: Path, documents: Iterable[Document], report: Progress) -> Library:
        folder.mkdir()
        writer = LibraryWriter(folder)
        try:
            if self.old is not None:
                for document, places, _ in self.old.library.each(lambda number: True):
                    writer.add(document, places)
            for document in documents:
                writer.add(document, cut(document.text, self.cutting))
                self.added += 1
                report("reading", 1, None)
        except BaseException:
            writer.abandon()
            raise
        self.added -= self.replaced
        return writer.finish()

    def _vectors(self, folder: Path, library: Library, report: Progress) -> tuple[Dense, float]:
        """Encode the passages that are new, block by block; return all vectors, and what keeping them so loses."""
        first = len(self.old.dense) if self.old is not None else 0
        total = len(library.owners)
        writer = DenseWriter(folder, self.storing, self.old.dense) if self.old is not None else None  # type: ignore[arg-type]
        if self.old is None:
            some = np.unique(np.linspace(0, total - 1, min(SAMPLE, total)).astype(np.int64))
            self.encoder = self.encoder.fitted([library.titled(row) for row in some.tolist()])
        self.backend = "" if self.engine.remote else self.encoder.quickened(library.titled, range(first, total))
        kept, loss, new = Encoded(self.out / ENCODED, self.encoder.decisive()), 0.0, 0

        def tell(done: int) -> None:
            report("encoding", done, total - first)

        try:
            if self.engine.remote:
                kept, new = encode_elsewhere(self.engine, kept, library, first, self.encoder, tell)
            for start in range(first, total, _BLOCK):
                texts = [library.titled(row) for row in range(start, min(start + _BLOCK, total))]
                before = kept.found
                vectors = kept.vectors(texts, lambda some: self.encoder.documents(some, tell))
                if not self.engine.remote:
                    tell(kept.found - before)
                if writer is None:
                    fitted = self.storing.fit(vectors)  # type: ignore[union-attr]
                    loss = fitted.loss(vectors)
                    writer = DenseWriter(folder, fitted)
                writer.add(vectors)
            assert writer is not None
            dense = writer.finish()
        except BaseException as error:
            if isinstance(error, (OSError, TrainingError)) or not kept:  # on a full disk, room is what is wanted
                kept.remove()
            raise
        self.resumed = kept.found - new
        return dense, loss

    def _words(self, folder: Path, library: Library, report: Progress) -> None:
        """Count the words of passages that are new; what was counted before is linked."""
        old = [] if self.old is None else self.old.postings
        if len(old) < _PARTS and self.old is not None:
            _link(self.old.generation / WORDS, folder)
        folder.mkdir(exist_ok=True)
        _count_words(folder, Analyzer(stem=self.stem), library, old, report)


def _mark(out: Path, old: Opened, dead: NDArray[np.bool_], progress: Progress | None) -> dict[str, Any]:
    """Write a generation in which some documents are marked, or gone where they are many."""
    cutting = Cutting(**old.manifest["passages"])
    record: dict[str, Any] = {}
    deleted = int(dead.sum() - old.dead.sum())
    with next_generation(out, record) as folder:
        if _share(dead, old.library) > _GONE:
            library, dense = _compacted(folder, old, dead)
            (folder / WORDS / "0000").mkdir(parents=True)
            merge(old.postings, folder / WORDS / "0000", old.kept(dead))
            dead = np.zeros(len(library), dtype=bool)
        else:
            library, dense = old.library, old.dense
            for part in (LIBRARY, DENSE, WORDS):
                _link(old.generation / part, folder / part)
        np.save(folder / DEAD, dead)
        if old.weights is not None:
            np.save(folder / WEIGHTS, old.weights)
        record |= _record(old.manifest["encoder"], cutting, old.analyzer.stem, dense, library, dead)
        record["vectors"] |= {"loss": old.manifest["vectors"]["loss"]}
    return {**record, "deleted": deleted}


def _compacted(folder: Path, old: Opened, dead: NDArray[np.bool_]) -> tuple[Library, Dense]:
    (folder / LIBRARY).mkdir()
    writer = LibraryWriter(folder / LIBRARY)
    vectors = DenseWriter(folder / DENSE, old.dense.storing)
    held: list[NDArray[np.int64]] = []
    for document, places, rows in old.library.each(lambda number: not dead[number]):
        writer.add(document, places)
        held.append(rows)
        if len(held) == _BLOCK:
            vectors.add(old.dense.vectors(np.concatenate(held)))
            held.clear()
    if held:
        vectors.add(old.dense.vectors(np.concatenate(held)))
    return writer.finish(), vectors.finish()


def _link(source: Path, target: Path) -> None:
    """Let every file below one folder appear below another too; on a file system without links it is copied."""
    for path in source.rglob("*"):
        if path.is_file():
            place = target / path.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            linked(path, place)


def _count_words(folder: Path, analyzer: Analyzer, library: Library, old: list[Postings], report: Progress) -> None:
    """Write the postings of passages that `old` ones do not hold; of many parts one is made."""
    first, total = sum(map(len, old)), len(library.owners)
    writer = PostingsWriter(folder / f"{len(old):04d}", analyzer)
    for row in range(first, total):
        writer.add(library.titled(row))
        if (row - first) % _BLOCK == _BLOCK - 1 or row == total - 1:
            report("counting words", (row - first) % _BLOCK + 1, total - first)
    new = writer.finish()
    if len(old) + 1 > _PARTS:
        shutil.rmtree(folder / f"{len(old):04d}")
        (folder / "0000").mkdir()
        merge([*old, new], folder / "0000")


def _changed(source: Source, reading: Reading, old: Opened, writer: _Writing) -> Iterator[Document]:
    """Yield the documents that are new or say something else than before; mark those that they replace."""
    alive = np.flatnonzero(~old.dead)
    order = alive[np.argsort(old.library.keys[alive], kind="stable")]
    keys = old.library.keys[order]
    for document in read_documents(source, reading):
        key = np.uint64(digest(document.id))
        same = order[np.searchsorted(keys, key) : np.searchsorted(keys, key, side="right")]
        number = next((each for each in same.tolist() if old.library.id(each) == document.id), None)
        if number is None:
            yield document
        elif int(old.library.contents[number]) == content_of(document):
            writer.unchanged += 1
        else:
            writer.replaced += 1
            writer.dead.append(number)
            yield document


def _record(
    encoder: dict[str, Any],
    cutting: Cutting,
    stem: bool,
    dense: Dense,
    library: Library,
    dead: NDArray[np.bool_],
) -> dict[str, Any]:
    alive = int((~dead).sum())
    return {
        "encoder": encoder,
        "vectors": dense.storing.to_dict(),
        "passages": {"words": cutting.words, "overlap": cutting.overlap},
        "words": {"stem": stem},
        "counts": {
            "documents": alive,
            "passages": int((~dead)[library.owners].sum()),
            "deleted": len(dead) - alive,
        },
        "columns": library.columns,
    }


def _share(dead: NDArray[np.bool_], library: Library) -> float:
    return float(dead[library.owners].mean()) if len(library.owners) else 0.0
