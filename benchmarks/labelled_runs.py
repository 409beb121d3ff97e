"""What the benchmarks with labels share: their datasets, and one short run of the loop without a folder to keep."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from mirrormask.core.framing import frame_of
from mirrormask.core.seeding import Seeds, derive
from mirrormask.core.storage import append_json
from mirrormask.data.batching import Batches
from mirrormask.data.text.sources import load_rows
from mirrormask.heads.held_out_labels import LabelledRows
from mirrormask.models.bulk import encode_tokens
from mirrormask.models.precision import varied_shapes
from mirrormask.training.loop import Result, fit
from mirrormask.training.settings import Settings

Rows = list[tuple[str, str]]
LENGTH = 64
"""Tokens of a text at most."""

NEWS = {"1": "World", "2": "Sports", "3": "Business", "4": "Sci/Tech"}
SINGLE = "goemotions"


@dataclass(frozen=True)
class Task:
    """Texts with one label each: to learn from, to choose by, to report on."""

    name: str
    train: Rows
    dev: Rows
    test: Rows

    @property
    def labels(self) -> list[str]:
        return sorted({label for _, label in self.train})

    def of(self, classes: Sequence[str]) -> Task:
        parts = ([row for row in part if row[1] in classes] for part in (self.train, self.dev, self.test))
        return Task(self.name, *parts)


def task(name: str) -> Task:
    """Return a dataset by name; where it has no splits of its own they are drawn once, the same for everyone."""
    if name == "sst2":  # the 6,920 sentences, which are those of SST-5 that are not neutral; not their phrases
        train = [
            (r["text"], "positive" if r["label"] > 2 else "negative")
            for r in _of("senteval/sst5", "train")
            if r["label"] != 2
        ]
        return Task(
            name, train, *(_plain("senteval/sst2", split, ("negative", "positive")) for split in ("validation", "test"))
        )
    if name == "sst5":
        return Task(name, *(_plain("senteval/sst5", split) for split in ("train", "validation", "test")))
    if name in ("mr", "cr"):
        return _cut(
            name, _plain(f"senteval/{name}", "all", ("negative", "positive")), 500, 2000 if name == "mr" else 1500
        )
    if name == "ag":
        rest = _cut(name, [(r["text"], r["label"]) for r in _of("ag_news", "train")], 500, 0)
        test = [(f"{r['title']} {r['description']}", NEWS[r["label_1to4"]]) for r in _of("ag_news", "test")]
        return Task(name, rest.train, rest.dev, _cut(name, test, 2000, 0).dev)
    if name == "emoint":
        return Task(
            name,
            *(
                [(r["tweet"], r["emotion"]) for r in _of("emotion/emoint", split)]
                for split in ("train", "validation", "test")
            ),
        )
    if name == "goemotions":  # texts of one label, neutral left out: 27 classes
        return Task(
            name,
            *(
                [
                    (r["text"], r["labels"])
                    for r in _of("emotion/goemotions", split)
                    if "," not in r["labels"] and r["labels"] != "neutral"
                ]
                for split in ("train", "validation", "test")
            ),
        )
    raise SystemExit(f"There is no task {name}.")


def _of(name: str, split: str) -> list[dict[str, Any]]:
    return list(load_rows(name, split))


def _plain(name: str, split: str, names: Sequence[str] = ()) -> Rows:
    return [(r["text"], names[int(r["label"])] if names else str(r["label"])) for r in _of(name, split)]


def _cut(name: str, rows: Rows, dev: int, test: int) -> Task:
    order = np.random.default_rng(derive(0, "cut", name)).permutation(len(rows)).tolist()
    some = [[rows[i] for i in part] for part in (order[dev + test :], order[:dev], order[dev : dev + test])]
    return Task(name, *some)


class Prepared:
    """The rows of a task as an encoder's tokens, made once for many runs."""

    def __init__(self, data: Task, tokenizer: Any, frame: Any) -> None:
        self.labels, self.frame = data.labels, frame
        self.train, self.dev, self.test = (self._rows(part, tokenizer) for part in (data.train, data.dev, data.test))

    def _rows(self, part: Rows, tokenizer: Any) -> LabelledRows:
        place = {label: number for number, label in enumerate(self.labels)}
        numbers = np.array([place[label] for _, label in part], dtype=np.int64)
        return LabelledRows(tokenizer, [text for text, _ in part], numbers)

    @classmethod
    def of(cls, data: Task, encoder: Any) -> Prepared:
        return cls(data, encoder.tokenizer, frame_of(encoder.tokenizer))


def some_of(rows: LabelledRows, chosen: NDArray[np.int64]) -> LabelledRows:
    """Return some rows of prepared ones."""
    found = LabelledRows.__new__(LabelledRows)
    found.rows, found.classes = [rows.rows[i] for i in chosen.tolist()], rows.classes[chosen]
    return found


def trained(
    model: nn.Module,
    rows: LabelledRows,
    frame: Any,
    *,
    seed: int,
    evaluate: Callable[[], Any] | None = None,
    **settings: Any,
) -> Result:
    """Train for a moment in a folder that is thrown away."""
    chosen = Settings(
        **{"max_length": LENGTH, "warmup": 0.1, "weight_decay": 0.01, "checkpoint_every": 10**9, **settings},
        seeds=Seeds.all(seed),
    )
    batches: Any = rows
    if isinstance(rows, LabelledRows):
        batches = Batches(
            rows,
            frame,
            batch_size=chosen.batch_size,
            max_length=LENGTH,
            seed=seed,
            min_rows=1,
            drop_last=len(rows) >= 2 * chosen.batch_size,
        )
    torch.manual_seed(derive(seed, "weights"))
    with tempfile.TemporaryDirectory() as folder, varied_shapes():
        return fit(model, batches, chosen, Path(folder), evaluate=evaluate)


def vectors_of(encoder: Any, rows: LabelledRows) -> NDArray[np.float32]:
    """Return the vectors of prepared rows."""
    return encode_tokens(encoder, rows.tokens(encoder, LENGTH))


class Records:
    """Lines of JSON, one a finished run, and the time that is left for more."""

    def __init__(self, path: Path, seconds: float) -> None:
        self.path, self.end = path, time.monotonic() + seconds
        path.parent.mkdir(parents=True, exist_ok=True)

    @property
    def over(self) -> bool:
        return time.monotonic() > self.end

    def add(self, row: dict[str, Any]) -> None:
        append_json(self.path, [row])
        print(row, flush=True)
