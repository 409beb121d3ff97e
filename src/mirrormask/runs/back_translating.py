"""Back-translation: sentences through another language and back, written as pairs that methods learn from.

Paper: Fang et al. 2020, "CERT: Contrastive Self-supervised Learning for Language Understanding", Section 3.2 (two
    languages, two paraphrases); Park 2023, Section 3.1.1

What is translated is kept: the file grows beside its place block by block, and a command that was stopped goes on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.core.storage import read_json, write_json
from mirrormask.models.translation import Translator

BLOCK = 256
"""Sentences that are translated before the file grows."""

Route = tuple[str, str]
"""The names of a model that translates there, and of one that translates back."""


@dataclass(frozen=True)
class BackTranslated:
    """What was made.

    Args:
        out: the file.
        pairs: its rows.
        before: rows of it that an earlier command had made.
        unchanged: rows whose two texts are the same.
        empty: rows of which nothing came back; they are left out where the file is read.
    """

    out: Path
    pairs: int
    before: int
    unchanged: int
    empty: int


def back_translate(
    texts: Sequence[str],
    routes: Sequence[Route],
    out: str | Path,
    *,
    device: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> BackTranslated:
    """Write pairs of texts as JSON lines with the columns `anchor` and `positive`.

    Args:
        texts: sentences.
        routes: one pairs each sentence with what comes back of it; two pair what comes back by each, as CERT does.
        out: the file; it takes its place when all is translated.
        device: where the models run.
        progress: called with how many sentences were just done, and how many there are.
    """
    if not 1 <= len(routes) <= 2:
        raise MirrormaskError(f"Back-translation takes one route there and back, or two. Got {len(routes)}.")
    if not texts:
        raise DataError("There is no text to translate. Give a file with at least one row.")
    out = Path(out)
    unfinished, plan = out.with_name(f"{out.name}.unfinished"), out.with_name(f"{out.name}.plan.json")
    wanted: dict[str, object] = {"routes": [list(route) for route in routes], "texts": _fingerprint(texts)}
    done = _done(out, unfinished, plan, wanted)
    if not out.exists():
        write_json(plan, wanted)
        models = (
            {name: Translator(name, device=device) for name in dict.fromkeys(sum(routes, ()))}
            if done < len(texts)
            else {}
        )
        with unfinished.open("a", encoding="utf-8") as file:
            for start in range(done, len(texts), BLOCK):
                block = list(texts[start : start + BLOCK])
                back = [models[home](models[away](block)) for away, home in routes]
                for one, other in zip(*(back if len(back) == 2 else (block, back[0])), strict=True):
                    file.write(json.dumps({"anchor": one, "positive": other}, ensure_ascii=False) + "\n")
                file.flush()
                if progress is not None:
                    progress(len(block), len(texts))
        unfinished.replace(out)
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    same = sum(row["anchor"] == row["positive"] for row in rows)
    return BackTranslated(out, len(rows), done, same, sum(not (row["anchor"] and row["positive"]) for row in rows))


def _done(out: Path, unfinished: Path, plan: Path, wanted: dict[str, object]) -> int:
    """Return how many rows there are already, of the same texts and models; a row that was cut is taken off.

    Raises:
        MirrormaskError: something else stands in the file's place.
    """
    if not plan.exists() and not out.exists() and not unfinished.exists():
        return 0
    if not plan.exists() or read_json(plan) != wanted:
        raise MirrormaskError(f"{out} was begun with other texts or models. Give another file, or remove it.")
    if out.exists():
        return len(out.read_text(encoding="utf-8").splitlines())
    if not unfinished.exists():
        return 0
    lines = unfinished.read_bytes().split(b"\n")[:-1]  # what follows the last end of a line was being written
    unfinished.write_bytes(b"".join(line + b"\n" for line in lines))
    return len(lines)


def _fingerprint(texts: Sequence[str]) -> str:
    found = hashlib.blake2b(digest_size=16)
    for text in texts:
        found.update(text.encode("utf-8", "replace") + b"\0")
    return found.hexdigest()
