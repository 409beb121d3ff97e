from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.models.bulk import tokenize
from mirrormask.views import Vocabulary
from mirrormask.views.synonyms import Synonyms, nearest_ids, read_synonyms

Tiny = Callable[..., Any]


def rewritten(view: Synonyms, encoder: Any, texts: list[str], seed: int = 1) -> list[str]:
    vocabulary = Vocabulary.of(encoder)
    view.attach(encoder, None)
    rows = view.rewrite(tokenize(encoder, texts), np.random.default_rng(seed), vocabulary)
    return [vocabulary.text_of(row[1:-1]) for row in rows.rows]


def test_lexicons_of_every_kind(tmp_path: Path) -> None:
    sets = tmp_path / "sets.jsonl"
    sets.write_text(json.dumps({"words": ["Boat", "ship", "floating_thing"]}) + '\n{"words": ["alone"]}\n', "utf-8")
    found = read_synonyms(sets)
    assert found == {"boat": ["ship", "floating thing"], "ship": ["boat", "floating thing"]}
    lines = tmp_path / "lines.csv"
    lines.write_text("boat,ship\ncalm\tquiet\tstill\n", encoding="utf-8")
    assert read_synonyms(lines)["calm"] == ["quiet", "still"]
    (tmp_path / "none.txt").write_text("boat\nship\n", encoding="utf-8")
    with pytest.raises(DataError, match="names no synonyms"):
        read_synonyms(tmp_path / "none.txt")
    with pytest.raises(DataError, match="nowhere"):
        read_synonyms(tmp_path / "nowhere.csv")


def test_words_are_replaced_by_their_synonyms(tiny: Tiny, tmp_path: Path) -> None:
    lexicon = tmp_path / "lines.csv"
    lexicon.write_text("boat,long letter\ngray,red\nqqq###,bread\n", encoding="utf-8")
    texts = ["the gray cat paints a wooden boat.", "the old baker"]
    found = rewritten(Synonyms(str(lexicon), rate=0.999), tiny(), texts)
    assert found == ["the red cat paints a wooden long letter.", "the old baker"]
    assert rewritten(Synonyms(str(lexicon), rate=0.0), tiny(), texts)[0].startswith("the gray cat")


def test_without_a_lexicon_the_model_says_what_is_near(tiny: Tiny) -> None:
    encoder = tiny()
    table = encoder[0].model.get_input_embeddings().weight
    cat, boat = encoder.tokenizer.convert_tokens_to_ids(["cat", "boat"])
    with torch.no_grad():
        table[boat] = 1.01 * table[cat]
    changed = {rewritten(Synonyms(rate=0.999), encoder, ["cat"], seed)[0] for seed in range(12)}
    assert "boat" in changed and "cat" not in changed
    assert all(not word.startswith(("[", "##")) for word in changed)


def test_nearest_are_those_of_the_largest_cosine() -> None:
    table = torch.nn.functional.normalize(torch.tensor([[1.0, 0.0], [1.0, 0.1], [0.9, 0.5], [-1.0, 0.0]]), dim=-1)
    assert nearest_ids(table, 0, torch.tensor([True, True, True, True])) == [1, 2]
    assert nearest_ids(table, 0, torch.tensor([True, False, True, True])) == [2]


def test_the_rate_is_a_share() -> None:
    with pytest.raises(MirrormaskError, match="'rate' of synonyms"):
        Synonyms(rate=1.5)
