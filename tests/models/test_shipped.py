"""The models inside the package: whole, small, open to the ecosystem, and as good as their cards say."""

from __future__ import annotations

import hashlib
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from transformers import pipeline

import mirrormask
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.models.model_files import weight_files
from mirrormask.models.names import SHIPPED, resolve

MEGABYTES = {"mini": 42, "mini-zh": 32, "mini-sentence": 29}
GOOD, BAD = ["good", "great"], ["bad", "terrible"]


def sums() -> dict[str, str]:
    lines = (SHIPPED / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    return {name: sha for sha, name in (line.split("  ") for line in lines)}


def test_every_file_is_the_one_that_was_recorded() -> None:
    there = {path.relative_to(SHIPPED).as_posix(): path for path in SHIPPED.rglob("*") if path.is_file()}
    there.pop("SHA256SUMS")
    assert sums() == {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in there.items()}


@pytest.mark.parametrize("name", MEGABYTES)
def test_it_is_small_and_has_a_card(name: str) -> None:
    folder = SHIPPED / name
    assert sum(path.stat().st_size for path in folder.glob("*.safetensors")) <= MEGABYTES[name] * 1e6
    card = (folder / "README.md").read_text(encoding="utf-8")
    made = "mirrormask run" if name == "mini-sentence" else "mirrormask pretrain"
    for what in ("CC BY-SA", made, "tokens", "Held-out", "Limits"):
        assert what in card
    assert resolve(name) == str(folder)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [("mini", "The capital of France is [MASK].", "paris"), ("mini-zh", "北京是中国的首[MASK]。", "都")],
)
def test_plain_transformers_fills_its_masks(name: str, text: str, expected: str) -> None:
    found = pipeline("fill-mask", model=str(SHIPPED / name), device="cpu")(text, top_k=5)
    assert expected in [each["token_str"] for each in found]


def test_bad_words_gain_on_good_ones_where_something_is_hated() -> None:
    """By their odds: which of them is the more frequent word is for calibration to say."""
    lm = MaskedLM.load("mini", device="cpu")

    def odds(text: str) -> float:
        found = dict(lm.fill(text, top=len(lm.tokenizer))[0])
        return sum(found[word] for word in BAD) / sum(found[word] for word in GOOD)

    assert odds("It was a [MASK] movie, I hated it.") > 3 * odds("It was a [MASK] movie, I loved it.")


@pytest.mark.parametrize("name", MEGABYTES)
def test_plain_sentence_transformers_opens_it(name: str) -> None:
    texts = ["a cat sat on the mat", "the river was wide", "今天下雨"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it makes the pooling itself
        plain = SentenceTransformer(str(SHIPPED / name), device="cpu", model_kwargs={"dtype": torch.float32})
    np.testing.assert_allclose(plain.encode(texts), mirrormask.load(name, device="cpu").encode(texts), atol=1e-5)


def test_the_sentence_encoder_has_the_vocabulary_and_embeddings_of_mini() -> None:
    one, other = (MaskedLM.load(name, device="cpu") for name in ("mini", "mini-sentence"))
    assert one.tokenizer.get_vocab() == other.tokenizer.get_vocab()
    assert one.layers == other.layers == 8
    embeddings = [lm.model.get_input_embeddings().weight for lm in (one, other)]
    assert torch.equal(*embeddings)
    shared = [file for file in weight_files(SHIPPED / "mini-sentence") if file.parent.name != "mini-sentence"]
    assert [file.name for file in shared] == ["common.safetensors"]


def test_the_sentence_encoder_knows_like_from_unlike() -> None:
    """Sentences of the same meaning in other words, each nearest to its own among all."""
    pairs = [
        ("A man is playing a guitar.", "Someone plays an instrument with strings."),
        ("The stock market fell sharply today.", "Share prices dropped a lot this afternoon."),
        ("She cut the onion with a knife.", "A woman is slicing vegetables."),
        ("The children went swimming in the lake.", "Kids bathed in the water."),
        ("The soldiers attacked the town at night.", "Troops raided the city after dark."),
    ]
    encoder = mirrormask.load("mini-sentence", device="cpu")
    first, second = (encoder.encode(list(side), normalize_embeddings=True) for side in zip(*pairs, strict=True))
    assert (first @ second.T).argmax(axis=1).tolist() == list(range(len(pairs)))


def test_nothing_in_it_is_a_pickle() -> None:
    names: set[str] = {path.suffix for path in Path(SHIPPED).rglob("*") if path.is_file()}
    assert names <= {".json", ".md", ".safetensors", ".txt", ""}
