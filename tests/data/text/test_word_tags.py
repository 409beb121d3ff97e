from __future__ import annotations

import builtins
from typing import Any

import pytest

from mirrormask.core.errors import MirrormaskError
from mirrormask.data.text.word_tags import WordTagger


def test_lemmas_come_with_fine_tags() -> None:
    tagger = WordTagger()
    assert tagger.lemmas(["He", "wrote", "books"]) == [("he", "PNP"), ("write", "VVD"), ("book", "NN2")]
    assert tagger.lemmas([]) == []


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any, **named: Any) -> Any:
        if name.startswith("HanTa"):
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(MirrormaskError, match=r"mirrormask\[attack\]"):
        WordTagger()
