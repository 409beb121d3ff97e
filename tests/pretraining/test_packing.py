from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirrormask.core.batch import Frame
from mirrormask.core.errors import DataError
from mirrormask.data.text.corpus import build_corpus
from mirrormask.pretraining.packing import PackedRows, open_packed, pack

FRAME = Frame(np.array([1_000]), np.array([1_001]))


def rows_of(tokens: int, *, length: int = 12, batch_size: int = 4, together: int = 1) -> PackedRows:
    return PackedRows(
        np.arange(tokens, dtype=np.uint16), FRAME, length=length, batch_size=batch_size, seed=3, together=together
    )


def contents(rows: PackedRows, epoch: int) -> list[list[int]]:
    """The rows of one epoch, in order, without their frame."""
    steps = -(-(epoch + 1) * rows.units * rows.together // rows.batch_size)
    every = np.concatenate([rows.at(step).numpy() for step in range(steps)])
    here = slice(epoch * rows.units * rows.together, (epoch + 1) * rows.units * rows.together)
    assert (every[:, 0] == 1_000).all()
    assert (every[:, -1] == 1_001).all()
    return [row.tolist() for row in every[here, 1:-1]]


@pytest.mark.parametrize("tokens", [100, 97, 10])
@pytest.mark.parametrize("epoch", [0, 1])
def test_every_token_is_in_a_row_of_every_epoch(tokens: int, epoch: int) -> None:
    rows = rows_of(tokens)
    seen = sorted(token for row in contents(rows, epoch) for token in row)
    repeated = rows.units * rows.content - tokens
    assert set(seen) == set(range(tokens))
    assert len(seen) == tokens + repeated
    assert repeated < rows.content, "only the last row goes on at the beginning"


def test_rows_keep_the_order_of_the_text() -> None:
    for row in contents(rows_of(100), 0):
        assert row == [(row[0] + i) % 100 for i in range(10)]


def test_epochs_are_shuffled_and_cut_elsewhere() -> None:
    rows = rows_of(100)
    first, second = contents(rows, 0), contents(rows, 1)
    assert sorted(map(tuple, first)) != sorted(map(tuple, second))
    assert first != sorted(first)


def test_neighbors_stay_side_by_side() -> None:
    rows = rows_of(400, together=2, batch_size=8)
    for step in range(3):
        batch = rows.at(step).numpy()[:, 1:-1]
        for left, right in zip(batch[::2], batch[1::2], strict=True):
            assert right[0] == (left[-1] + 1) % 400


def test_processes_share_a_batch_without_overlap() -> None:
    rows = rows_of(500, batch_size=6)
    for step in (0, 7, 20):
        shares = [rows.at(step, rank=rank, world=4).numpy() for rank in range(4)]
        np.testing.assert_array_equal(np.concatenate(shares), rows.at(step).numpy())


def test_the_stream_is_what_at_gives() -> None:
    rows = rows_of(100)
    for step, batch in enumerate(rows.stream(2, 6), start=2):
        np.testing.assert_array_equal(batch.numpy(), rows.at(step).numpy())


def test_too_little_text_is_said() -> None:
    with pytest.raises(DataError, match="The text has 9 tokens, and one row takes 10. Give more text, or lower"):
        rows_of(9)


def test_packing_loses_no_token_and_holds_out_whole_texts(tiny_folder: Path, sentences: Any, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny_folder)
    corpus = build_corpus(sentences, tmp_path / "corpus")
    train, aside = pack(corpus, tokenizer, tmp_path / "packed", one_in=7)
    end = tokenizer.sep_token_id
    texts = [*tokenizer(sentences, add_special_tokens=False)["input_ids"]]
    held = [ids for place, ids in enumerate(texts) if place % 7 == 0]
    kept = [ids for place, ids in enumerate(texts) if place % 7]
    assert train.tolist() == [token for ids in kept for token in [*ids, end]]
    assert aside.tolist() == [token for ids in held for token in [*ids, end]]
    again = open_packed(tmp_path / "packed")
    assert isinstance(again[0], np.memmap), "a corpus larger than memory is fine"


def test_a_torn_stream_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no finished token stream"):
        open_packed(tmp_path)
