"""A stream of texts in blocks, as they are tokenized, written and handed to workers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

BLOCK, BLOCK_SIZE = 20_000, 1 << 22
"""Texts of a block, and their characters; bounds memory and lets lengths be sorted over a long stretch."""


def in_blocks(texts: Iterable[str], rows: int | None = None) -> Iterator[list[str]]:
    """Yield the texts in lists of at most `rows` (`BLOCK`), and of at most `BLOCK_SIZE` characters where none has more.

    Example:
        >>> list(in_blocks("abc", 2))
        [['a', 'b'], ['c']]
    """
    block: list[str] = []
    size = 0
    for text in texts:
        if block and (len(block) == (rows or BLOCK) or size + len(text) > BLOCK_SIZE):
            yield block
            block, size = [], 0
        block.append(text)
        size += len(text)
    if block:
        yield block
