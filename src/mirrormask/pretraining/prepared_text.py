"""The text of a pretraining, prepared once: corpus, tokenizer and streams of ids on disk, found again by a resume."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mirrormask.core.errors import TrainingError
from mirrormask.core.storage import atomic_folder, read_json, remove_folder, write_json
from mirrormask.data.text.corpus import Corpus, build_corpus
from mirrormask.models.loading import quiet_loading
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.pretraining.packing import ASIDE, TRAIN, open_packed, pack
from mirrormask.pretraining.plan import Plan
from mirrormask.pretraining.tokenizer import load_tokenizer, train_tokenizer
from mirrormask.training.loop import Reporter

WHOLE = ("text.json", "tokenizer/tokenizer.json", f"packed/{TRAIN}", f"packed/{ASIDE}")
"""What is there where the text was prepared to the end, and nobody has begun to remove it."""


class PreparedText:
    """The prepared text: a tokenizer and two streams of ids, made once and found again when resuming.

    Args:
        plan: what is to be made.
        source: the corpus, as `build_corpus` takes it.
        data: how to read it, likewise.
        folder: where it is kept.
        start: the model that is continued, whose tokenizer is taken.
        reporter: is told how it goes.
    """

    def __init__(
        self, plan: Plan, source: Any, data: dict[str, Any], folder: Path, start: MaskedLM | None, reporter: Reporter
    ) -> None:
        from transformers import AutoTokenizer

        made = folder / "text.json"
        asked = _asked(plan, source, data)
        if all((folder / name).is_file() for name in WHOLE):
            _check_asked(read_json(made)["asked"], asked, folder)
        else:
            remove_folder(folder)  # what a kill left of it
            source = str(source) if isinstance(source, Path) else source
            corpus = build_corpus(source, folder / "corpus", **data)
            reporter.say(f"{corpus.report}.")
            tokenizer = start.tokenizer if start is not None else self._tokenizer(plan, corpus, reporter)
            with atomic_folder(folder / "tokenizer") as unfinished:
                tokenizer.save_pretrained(str(unfinished))
            pack(corpus, tokenizer, folder / "packed", one_in=plan.held_out)
            facts = {"fingerprint": corpus.fingerprint, "texts": len(corpus), **dataclasses.asdict(corpus.report)}
            facts["asked"] = asked
            del corpus  # closes its files
            remove_folder(folder / "corpus")
            write_json(made, facts)
        self.facts: dict[str, Any] = {name: fact for name, fact in read_json(made).items() if name != "asked"}
        with quiet_loading():
            self.tokenizer: Any = AutoTokenizer.from_pretrained(folder / "tokenizer")
        self.train, self.aside = open_packed(folder / "packed")

    @staticmethod
    def _tokenizer(plan: Plan, corpus: Corpus, reporter: Reporter) -> Any:
        if plan.tokenizer:
            return load_tokenizer(plan.tokenizer)
        begun = time.monotonic()
        tokenizer = train_tokenizer(
            _Texts(corpus), vocabulary=plan.vocabulary, cased=plan.cased, longest=plan.positions
        )
        reporter.say(f"A tokenizer of {len(tokenizer):,} pieces, learned in {time.monotonic() - begun:.0f} s.")
        return tokenizer


def _asked(plan: Plan, source: Any, data: dict[str, Any]) -> dict[str, Any]:
    """Return what the prepared text depends on, as JSON would give it back."""
    files = [source] if isinstance(source, str | Path) else source if isinstance(source, Sequence) else []
    named = isinstance(source, str) or all(isinstance(each, Path) for each in files)
    corpus = [str(each) for each in files] if named else []  # texts have no name
    made_of = {name: getattr(plan, name) for name in ("init", "tokenizer", "vocabulary", "cased", "held_out")}
    asked: dict[str, Any] = json.loads(json.dumps({"corpus": corpus, **data, **made_of}, default=str))
    return asked


def _check_asked(before: dict[str, Any], now: dict[str, Any], folder: Path) -> None:
    """Refuse to go on with prepared text that is not what the command asks for."""
    changed = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    if changed:
        told = ", ".join(f"{name}: {before.get(name)}, now {now.get(name)}" for name in changed)
        raise TrainingError(
            f"{folder} was prepared from other text or otherwise ({told}). Resume with the settings the run was "
            "started with, or give another --out."
        )


class _Texts:
    """The texts of a corpus, read from disk each time they are gone through."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus

    def __iter__(self) -> Iterator[str]:
        for start, stop in self.corpus.blocks(4096, 1 << 20):
            yield from self.corpus.column(0, start, stop)
