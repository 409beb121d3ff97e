from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from mirrormask.attack.edited_text import CutText, Edit, EditedText
from mirrormask.attack.fluency import perplexities
from mirrormask.attack.neighbor_proposals import NeighborProposer
from mirrormask.attack.proposals import MaskedProposer, Slot, whole_words
from mirrormask.attack.word_vectors import WordVectors, counter_fitted, open_vectors, read_lexicon
from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.models.masked_lm import MaskedLM


@pytest.fixture(scope="module")
def lm(tiny_folder: Path) -> MaskedLM:
    return MaskedLM.load(tiny_folder, device="cpu")


def slot(text: str, kind: str, place: int, *edits: Edit) -> Slot:
    return Slot(EditedText(CutText.of(text), edits), kind, place)


def by_the_library(lm: MaskedLM, masked: str, count: int) -> list[str]:
    """The likeliest tokens at the mask that are words, as the library ranks the whole text."""
    tokenizer = lm.tokenizer
    inputs = tokenizer(masked, return_tensors="pt")
    with torch.no_grad():
        logits = lm.model(**inputs).logits[0]
    (place,) = torch.nonzero(inputs["input_ids"][0] == tokenizer.mask_token_id)[0].tolist()
    ranked = tokenizer.convert_ids_to_tokens(logits[place].topk(count).indices.tolist())
    return [token for token in ranked if token.isalpha() and (len(token) > 1 or token in "ai")]


def test_candidates_are_the_likeliest_words_at_a_mask(lm: MaskedLM) -> None:
    text = "the old baker finds some bread."
    slots = [slot(text, "replace", 2), slot(text, "left", 3), slot(text, "right", 5)]
    masked = [
        "the old [MASK] finds some bread.",
        "the old baker [MASK] finds some bread.",
        "the old baker finds some bread [MASK].",
    ]
    for found, one, each in zip(MaskedProposer(lm, candidates=20)(slots), slots, masked, strict=True):
        assert found == [word for word in by_the_library(lm, each, 20) if word != one.word]


def test_counting_words_gives_more(lm: MaskedLM) -> None:
    one = slot("the old baker finds some bread.", "replace", 2)
    (tokens,), (words,) = (MaskedProposer(lm, candidates=30, counted=how)([one]) for how in ("tokens", "words"))
    assert len(tokens) < len(words) and len(words) in (29, 30)
    assert words[: len(tokens)] == tokens


def test_many_slots_are_as_one_at_a_time(lm: MaskedLM) -> None:
    proposer = MaskedProposer(lm, candidates=10)
    slots = [slot("the gray cat watches " + "two red apples " * n, "replace", 2) for n in range(5)]
    assert proposer(slots) == [proposer([each])[0] for each in slots]
    assert proposer([]) == []


def test_long_texts_are_cut_around_the_mask(lm: MaskedLM) -> None:
    words = ["the", "gray", "cat", "watches", "some", "bread"] * 40
    found = MaskedProposer(lm, candidates=5)([slot(" ".join(words), "replace", place) for place in (0, 120, 239)])
    assert all(found)


def test_capitals_are_kept(lm: MaskedLM) -> None:
    (found,) = MaskedProposer(lm)([slot("Baker finds bread", "replace", 0)])
    assert found and all(word[0].isupper() for word in found)


def test_pieces_and_special_tokens_are_no_words(lm: MaskedLM) -> None:
    known = whole_words(lm.tokenizer)
    tokens = lm.tokenizer.convert_ids_to_tokens(np.flatnonzero(known).tolist())
    assert "baker" in tokens and "a" in tokens
    assert not {"[MASK]", "##a", ".", "b"} & set(tokens)


def test_perplexity_is_that_of_each_token_hidden(lm: MaskedLM) -> None:
    text = "the old baker finds"
    ids = lm.tokenizer(text)["input_ids"]
    losses = []
    for place in range(1, len(ids) - 1):  # four tokens: no two are hidden together
        row = torch.tensor([ids])
        row[0, place] = lm.tokenizer.mask_token_id
        with torch.no_grad():
            losses.append(-lm.model(row).logits[0, place].log_softmax(-1)[ids[place]].item())
    found = perplexities(lm, [text, "", text + " some bread near the river before sunrise"])
    assert found[0] == pytest.approx(float(np.exp(np.mean(losses))), rel=1e-4)
    assert found[1] == float("inf") and found[2] > 1


TABLE = WordVectors.of(
    ["good", "fine", "bad", "table"], np.array([[1, 0, 0], [0.6, 0, 0.8], [1, 0.3, 0], [0, -1, 0.1]])
)


def test_neighbors_are_the_nearest_words() -> None:
    assert TABLE.neighbors("good", 2, 0.5) == ["bad", "fine"]
    assert TABLE.neighbors("good", 9, -1.0) == ["bad", "fine", "table"]
    assert TABLE.neighbors("unknown", 2, 0.5) == []
    (found,) = NeighborProposer(TABLE)([slot("A Good film", "replace", 1)])
    assert found == ["Bad", "Fine"]
    with pytest.raises(MirrormaskError, match="TextFooler only replaces words"):
        NeighborProposer(TABLE)([slot("a good film", "left", 1)])


def test_counter_fitting_pulls_synonyms_and_pushes_antonyms() -> None:
    fitted = counter_fitted(TABLE, [("fine", "good"), ("good", "nowhere")], [("bad", "good")])

    def near(vectors: WordVectors, one: str, other: str) -> float:
        places = [vectors.words.index(each) for each in (one, other)]
        return float(vectors.matrix[places[0]] @ vectors.matrix[places[1]])

    assert near(fitted, "good", "fine") > near(TABLE, "good", "fine")
    assert near(fitted, "good", "bad") < 0.5 < near(TABLE, "good", "bad")
    assert fitted.neighbors("good", 1, 0.5) == ["fine"] and "bad" not in fitted.neighbors("good", 3, 0.5)


def test_vectors_of_files_and_models(tmp_path: Path, tiny_folder: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("2 2\ngood 1 0\nGood 0 1\nbad 0 2\n")
    found = open_vectors(path)
    assert found.words == ["good", "bad"] and found.matrix.tolist() == [[1, 0], [0, 1]]
    path.write_text("good 1 0\nbad 1\n")
    with pytest.raises(DataError, match="line 2, is no word vector"):
        open_vectors(path)
    assert "baker" in open_vectors(tiny_folder).words


def test_a_lexicon_has_words_and_antonyms(tmp_path: Path) -> None:
    path = tmp_path / "lexicon.jsonl"
    path.write_text(
        '{"words": ["good", "Fine"], "antonyms": [["good", "bad"]]}\n{"words": ["up"], "antonyms": ["down"]}\n'
    )
    assert read_lexicon(path) == ([("fine", "good")], [("good", "bad"), ("up", "down")])
    path.write_text('{"word": "good"}\n')
    with pytest.raises(DataError, match="A lexicon has 'words' and 'antonyms'"):
        read_lexicon(path)
