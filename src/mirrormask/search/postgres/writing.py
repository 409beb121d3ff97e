"""Making and changing an index in a database: documents by their ids, a batch in one transaction."""

from __future__ import annotations

import contextlib
import itertools
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mirrormask.core.engines import Engine
from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.core.wording import counted
from mirrormask.models.names import DEFAULT_START
from mirrormask.search.analysis import Analyzer
from mirrormask.search.beginning import JUDGED, Progress, check_same, nothing_in, words_for
from mirrormask.search.documents import Document, Reading, Source, read_documents
from mirrormask.search.library import LibraryWriter
from mirrormask.search.passages import Cutting, cut
from mirrormask.search.postgres.address import Address
from mirrormask.search.postgres.batches import Batches
from mirrormask.search.postgres.connecting import check_pgvector, connect, refused, speaking
from mirrormask.search.postgres.index_tables import FORMAT, NEXT, State, Tables, read_state
from mirrormask.search.postgres.settling import settle
from mirrormask.search.storing import Storing
from mirrormask.search.text_encoder import TextEncoder
from mirrormask.search.token_weights import SAMPLE

_NOTICED = "SET client_connection_check_interval = '2s'"  # so that a writer that was killed holds nothing
_DECISIVE = ("fingerprint", "width", "length", "document_prompt", "cosine", "tokens")


def build_tables(
    source: Source,
    address: Address,
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
    """Make an index of a source in a database, or add to the one that is there, and return its record.

    Args:
        source: as for `read_documents`; a document whose id is there replaces it, an unchanged one is passed over.
        address: of the database and the tables.
        reading: how the source is read.
        model, storing, passage_words, query_prompt, document_prompt, tokens: of a new index; one that is there must
            have been made with the same, where any is given.
        anew: leave nothing of an index that is there; it stays until the new one is whole.
        progress: told of every stage.
        engine: as for an index in a folder; passages are encoded in this process alone.
    """
    if engine is not None and engine.remote:
        raise MirrormaskError(
            "Workers write folders: with --engine ray give --out. Into a database, index in one process, without it."
        )
    if storing is not None and storing.kind != "fp16":
        raise MirrormaskError(
            f"PostgreSQL keeps vectors as fp16, and --vectors {storing.kind} was asked for. Leave it out, or write a "
            "folder with --out."
        )
    report = progress or (lambda stage, done, total: None)
    with writing(address) as cursor:
        tables, unfinished = Tables(address.table), Tables(address.table + NEXT)
        if tables.there(cursor) and not anew:
            unfinished.drop(cursor)
            state = read_state(cursor, address)
            given = {"query_prompt": query_prompt, "document_prompt": document_prompt, "tokens": tokens}
            check_same(address, state.record, storing, {"passage_words": passage_words, **given})
            encoder = TextEncoder.known(state.record["encoder"], model, state.arrays.get("weights"))
            batches = Batches(cursor, tables, state, encoder, report)
            cutting = Cutting(**state.record["passages"])
            documents = read_documents(source, reading)
            batches.put((document, cut(document.text, cutting)) for document in documents)
            return _told(settle(cursor, tables, batches.state, report), batches, reading)
        documents = read_documents(source, reading)
        first = list(itertools.islice(documents, JUDGED))
        if not first:
            raise nothing_in(source, reading)
        encoder = TextEncoder.load(
            model or DEFAULT_START, query_prompt=query_prompt, document_prompt=document_prompt, tokens=tokens
        )
        cutting = Cutting(passage_words or words_for(encoder, first))
        stem = Analyzer.for_texts(document.text for document in first).stem
        record = _record(encoder, cutting, storing or Storing(), stem)
        documents = itertools.chain(first, documents)
        begun = _begun(cursor, unfinished, record)
        with _placed(documents, cutting, encoder, begun, report) as (placed, encoder):
            if begun is None:
                arrays = {} if encoder.weights is None else {"weights": encoder.weights}
                begun = State("", record, arrays)
                with cursor.connection.transaction():
                    unfinished.drop(cursor)
                    unfinished.create(cursor, record["vectors"]["width"])
                    begun.write(cursor, unfinished, arrays=True)
            batches = Batches(cursor, unfinished, begun, encoder, report)
            batches.put(placed)
        batches.remove_others()
        state = settle(cursor, unfinished, batches.state, report)
        with cursor.connection.transaction():
            unfinished.take_place_of(tables, cursor)
        return _told(state, batches, reading)


def delete_rows(address: Address, ids: Sequence[str], progress: Progress | None = None) -> dict[str, Any]:
    """Take documents out of an index in a database by their ids and return its record.

    Raises:
        DataError: there is no such id; nothing is deleted then.
    """
    wanted = list(dict.fromkeys(ids))
    with writing(address) as cursor:
        state, tables = read_state(cursor, address), Tables(address.table)
        found = cursor.execute(f"SELECT DISTINCT id FROM {tables.passages} WHERE id = ANY(%s)", (wanted,)).fetchall()
        missing = [each for each in wanted if (each,) not in found]
        if missing:
            raise DataError(
                f"The index {address} has no document {missing[0]!r}, so nothing was deleted. Check the id."
            )
        if len(wanted) == state.record["counts"]["documents"]:
            raise MirrormaskError(f"These are all documents of {address}. Drop its tables, or keep one.")
        batches = Batches(cursor, tables, state, None, progress or (lambda stage, done, total: None))
        batches.remove(wanted)
        state = settle(cursor, tables, batches.state, batches.report)
    return {**shown(state), "deleted": len(wanted)}


@contextlib.contextmanager
def writing(address: Address) -> Iterator[Any]:
    """Hold an index, or the place for one, for writing.

    Raises:
        MirrormaskError: another process is writing there.
        DataError: the database is down, has no pgvector, or fails meanwhile.
    """
    from pgvector.psycopg import register_vector

    with speaking(address), connect(address) as connection:
        check_pgvector(connection, address, create=True)
        register_vector(connection)
        with contextlib.suppress(Exception):  # an old server, or one of another system
            connection.execute(_NOTICED)
        with connection.cursor(binary=True) as cursor:
            lock = cursor.execute(
                "SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", (f"mirrormask {address.table}",)
            )
            if not lock.fetchone()[0]:
                raise refused(address)
            yield cursor


def shown(state: State) -> dict[str, Any]:
    """Return the record of an index as it is told."""
    own = ("format", "encoder", "vectors", "passages", "words", "counts", "columns")
    return {"generation": state.version, **{name: state.record[name] for name in own}}


def _told(state: State, batches: Batches, reading: Reading) -> dict[str, Any]:
    counts = {"added": batches.added, "replaced": batches.replaced, "unchanged": batches.unchanged}
    notes = reading.sentences()
    if batches.resumed:
        notes.append(f"{counted(batches.resumed, 'document')} had been written by a run that was stopped")
    return {**shown(state), **counts, "notes": notes, "skipped": sum(reading.skipped.values())}


def _record(encoder: TextEncoder, cutting: Cutting, storing: Storing, stem: bool) -> dict[str, Any]:
    width = encoder.facts.width
    if storing.dimensions is not None and storing.dimensions > width:
        raise MirrormaskError(f"Vectors of this encoder have {width} numbers. Got --dimensions {storing.dimensions}.")
    kept = {"kind": "fp16", "dimensions": storing.dimensions, "width": storing.dimensions or width, "loss": 0.0}
    return {
        "format": FORMAT,
        "encoder": encoder.to_dict(),
        "vectors": kept,
        "passages": {"words": cutting.words, "overlap": cutting.overlap},
        "words": {"stem": stem},
        "counts": {"documents": 0, "passages": 0, "deleted": 0},
        "columns": [],
        "numeric": [],
        "settled": False,
    }


def _begun(cursor: Any, tables: Tables, record: dict[str, Any]) -> State | None:
    """Return what a build that was stopped left, if it was made in the same way."""
    if not tables.there(cursor):
        return None
    state = State.read(cursor, tables)
    if not state.record or state.record["format"] != FORMAT:
        return None
    same = all(state.record["encoder"][name] == record["encoder"][name] for name in _DECISIVE)
    kept, asked = ({**each["vectors"], "loss": 0.0} for each in (state.record, record))
    same &= kept == asked and all(state.record[name] == record[name] for name in ("passages", "words"))
    return State(state.version, {**state.record, "encoder": record["encoder"]}, state.arrays) if same else None


@contextlib.contextmanager
def _placed(
    documents: Iterable[Document], cutting: Cutting, encoder: TextEncoder, begun: State | None, report: Progress
) -> Iterator[tuple[Iterable[tuple[Document, list[tuple[int, int]]]], TextEncoder]]:
    """Give documents with the places of their passages, and the encoder with the weights of its tokens.

    Where these must be found first, everything is read once, and kept on disk meanwhile.
    """
    if begun is not None and "weights" in begun.arrays:
        encoder = TextEncoder(encoder.facts, encoder.folder, encoder.model, begun.arrays["weights"])
    if begun is not None or encoder.facts.tokens == "equal":
        yield ((document, cut(document.text, cutting)) for document in documents), encoder
        return
    with tempfile.TemporaryDirectory(prefix="mirrormask-") as folder:
        writer = LibraryWriter(Path(folder))
        try:
            for document in documents:
                writer.add(document, cut(document.text, cutting))
                report("reading", 1, None)
        except BaseException:
            writer.abandon()
            raise
        library = writer.finish()
        total = len(library.owners)
        some = np.unique(np.linspace(0, total - 1, min(SAMPLE, total)).astype(np.int64))
        fitted = encoder.fitted([library.titled(row) for row in some.tolist()])
        yield ((document, places) for document, places, _ in library.each(lambda number: True)), fitted
