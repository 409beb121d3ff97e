"""What an index begins with, in a folder or in a database: how long passages are, and what it may be added to with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.data.text.sentences import count_words
from mirrormask.search.documents import Document, Reading
from mirrormask.search.storing import Storing
from mirrormask.search.text_encoder import TextEncoder

Progress = Callable[[str, int, int | None], None]
"""Called with a stage, how much of it was just done, and how much it is, where that is known."""

JUDGED = 200
"""Documents by which tokens of a word are counted."""

_TOKENS = 256  # of a passage at most, however much an encoder reads: longer ones say too much at once


def check_same(out: Any, made_with: dict[str, Any], storing: Storing | None, given: dict[str, Any]) -> None:
    """Refuse what an index that is there cannot be added to with.

    Args:
        out: where it is.
        made_with: its record.
        storing: how vectors are to be kept, where that was said.
        given: options by name, None where they were not given.
    """
    made: dict[str, Any] = {
        "tokens": "equal",
        **made_with["encoder"],
        "passage_words": made_with["passages"]["words"],
    }
    made |= {"vectors": made_with["vectors"]["kind"], "dimensions": made_with["vectors"]["dimensions"]}
    if storing is not None:
        given = {**given, "vectors": storing.kind, "dimensions": storing.dimensions}
    for name, value in given.items():
        if value is not None and value != made[name]:
            option = "--" + name.replace("_", "-")
            raise MirrormaskError(
                f"{out} was made with {option} {made[name]!r}, not {value!r}. Leave it out, or begin with --anew."
            )


def words_for(encoder: TextEncoder, documents: Sequence[Document]) -> int:
    """Return how many words of such documents fill what the encoder reads, its prompt left out."""
    texts = [document.text[:2000] for document in documents]
    tokens = sum(
        len(row) for row in encoder.model.tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]
    )
    each = max(1.0, tokens / max(1, sum(map(count_words, texts))))
    prompt = len(encoder.model.tokenizer(encoder.facts.document_prompt or "", add_special_tokens=False)["input_ids"])
    room = min(_TOKENS, encoder.facts.length) - 2 - prompt
    return max(8, int(0.95 * room / each))


def nothing_in(source: Any, reading: Reading) -> DataError:
    """Return the sentence for a source without a text."""
    left = f" ({'; '.join(reading.sentences())})" if reading.sentences() else ""
    return DataError(f"{source if isinstance(source, (str, Path)) else 'The source'} holds no text to index{left}.")
