"""The tables of an index in a database, and what it says of itself.

`NAME` holds passages, one a row: what the document is called, where the passage stands in it, its text, the document's
columns, its words as a tsvector of our own terms, its vector. `NAME_words` holds postings: for a term and a part of the
rows which of them hold it, how often, and how long they are. `NAME_parts` knows the parts, and `NAME_index`, of one
row, the encoder, the counts and arrays. A new index is written under `NAME_next` and renamed when it is whole.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import DataError
from mirrormask.search.postgres.address import Address
from mirrormask.search.storing import Storing

FORMAT = 1
NEXT = "_next"
_PARTS = ("", "_words", "_parts", "_index")
_WIDEST = 4000  # numbers of a half vector that pgvector builds a graph of

_CREATE = """
CREATE TABLE {passages} (
    row bigint PRIMARY KEY, document bigint NOT NULL, id text NOT NULL, begins integer NOT NULL, ends integer NOT NULL,
    text text NOT NULL, metadata jsonb NOT NULL, numbers jsonb NOT NULL, content bigint NOT NULL, said bigint NOT NULL,
    length integer NOT NULL, words tsvector NOT NULL, embedding halfvec({width}) NOT NULL
);
CREATE INDEX ON {passages} USING hash (id);
CREATE TABLE {words} (
    term text COLLATE "C" NOT NULL, part bigint NOT NULL, holding integer NOT NULL, rows bigint[] NOT NULL,
    times integer[] NOT NULL, lengths integer[] NOT NULL, PRIMARY KEY (term, part)
);
CREATE TABLE {parts} (
    part bigint PRIMARY KEY, last bigint NOT NULL, passages bigint NOT NULL, terms bigint NOT NULL
);
CREATE TABLE {index} (version uuid NOT NULL, record jsonb NOT NULL, arrays bytea NOT NULL);
INSERT INTO {index} VALUES (gen_random_uuid(), '{{}}', '');
"""


@dataclass(frozen=True)
class Tables:
    """The names of an index's tables, quoted.

    Args:
        name: what they are named after, perhaps after a schema and a dot.
    """

    name: str

    def __getattr__(self, part: str) -> str:
        ending = "" if part == "passages" else f"_{part}"
        if ending not in _PARTS:
            raise AttributeError(part)
        return ".".join(f'"{each}"' for each in (self.name + ending).split("."))

    def there(self, cursor: Any) -> bool:
        """Say whether an index has these tables."""
        return cursor.execute("SELECT to_regclass(%s)", (self.index,)).fetchone()[0] is not None

    def create(self, cursor: Any, width: int) -> None:
        """Create them, empty."""
        if width > _WIDEST:
            raise DataError(
                f"PostgreSQL searches vectors of at most {_WIDEST:,} numbers, and these have {width:,}. Keep fewer "
                "with --dimensions."
            )
        names = {part: getattr(self, part) for part in ("passages", "words", "parts", "index")}
        cursor.connection.execute(_CREATE.format(width=width, **names))

    def drop(self, cursor: Any) -> None:
        """Remove them, where they are there."""
        cursor.execute(f"DROP TABLE IF EXISTS {self.passages}, {self.words}, {self.parts}, {self.index}")

    def take_place_of(self, old: Tables, cursor: Any) -> None:
        """Take the names of others, which are gone then."""
        old.drop(cursor)
        for ending in _PARTS:
            own = ".".join(f'"{each}"' for each in (self.name + ending).split("."))
            new = (old.name + ending).rpartition(".")[2]
            cursor.execute(f'ALTER TABLE {own} RENAME TO "{new}"')


@dataclass(frozen=True)
class State:
    """What an index says of itself.

    Args:
        version: another one after every change.
        record: encoder, counts, columns and the like.
        arrays: by name: `weights` of the encoder's tokens, `directions` of vectors that are cut short, `moments` and
            `concentration` of the vectors.
    """

    version: str
    record: dict[str, Any]
    arrays: dict[str, NDArray[Any]]

    @classmethod
    def read(cls, cursor: Any, tables: Tables) -> State:
        """Return what an index says."""
        found = cursor.execute(f"SELECT version::text, record, arrays FROM {tables.index}").fetchone()
        if found is None:  # its tables came after the moment that is looked at
            raise DataError("Another index has taken the place of this one just now. Ask again.")
        version, record, arrays = found
        with np.load(io.BytesIO(arrays)) if arrays else _nothing() as held:
            return cls(version, record, {name: held[name] for name in held})

    def write(self, cursor: Any, tables: Tables, *, arrays: bool = False) -> None:
        """Put it in place of what is there, under a new version; arrays only where they have changed."""
        cursor.execute(
            f"UPDATE {tables.index} SET version = gen_random_uuid(), record = %s", (json.dumps(self.record),)
        )
        if arrays:
            stream = io.BytesIO()
            np.savez(stream, **self.arrays)  # type: ignore[arg-type]
            cursor.execute(f"UPDATE {tables.index} SET arrays = %s", (stream.getvalue(),))

    @property
    def storing(self) -> Storing:
        """Return how vectors are kept."""
        kept = self.record["vectors"]
        return Storing(kept["kind"], kept["dimensions"], width=kept["width"], directions=self.arrays.get("directions"))

    @property
    def numeric(self) -> dict[str, bool]:
        """Return the columns, and whether all values of each are numbers."""
        return {name: name in self.record["numeric"] for name in self.record["columns"]}


def read_state(cursor: Any, address: Address) -> State:
    """Return what the index at an address says of itself.

    Raises:
        DataError: there is none, it is not finished, or a newer version wrote it.
    """
    tables = Tables(address.table)
    if not tables.there(cursor):
        if Tables(address.table + NEXT).there(cursor):
            raise DataError(f"The index {address} is not finished. Repeat the command that made it, and it goes on.")
        raise DataError(f"There is no index {address}. Make one with: mirrormask index TEXTS --to '{address}'")
    state = State.read(cursor, tables)
    if state.record.get("format", 0) > FORMAT:
        raise DataError(
            f"{address} was written by a newer version of mirrormask (format {state.record['format']}; this one reads "
            f"{FORMAT}). Upgrade mirrormask, or index the texts again with --anew."
        )
    return state


def _nothing() -> Any:
    import contextlib

    return contextlib.nullcontext({})
