"""Tokenized text that is there already, for objectives that read it."""

from __future__ import annotations

import numpy as np


class Rows:
    """Token ids that are there already."""

    max_tokens, truncated, width, tokenizer = 64, 0, 1, None

    def __init__(self, rows: list[list[int]], vocabulary: int) -> None:
        self.rows = [np.array(row, dtype=np.int64) for row in rows]
        self.starts = np.ones(vocabulary, dtype=np.bool_)

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, rows: list[int], column: int = 0) -> list[np.ndarray]:
        return [self.rows[row] for row in rows]
