"""Back-translation through tiny translation models built here: what is written, kept, gone on with and refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from mirrormask.cli import app
from mirrormask.core.errors import DataError, MirrormaskError, ModelError
from mirrormask.models.translation import Translator
from mirrormask.runs import back_translating
from mirrormask.runs.back_translating import back_translate
from mirrormask.runs.given_rows import given_for


def build_marian(folder: Path, words: list[str], seed: int) -> Path:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import MarianConfig, MarianMTModel, PreTrainedTokenizerFast

    vocabulary = {word: number for number, word in enumerate(["<pad>", "</s>", "<unk>", *words])}
    raw = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    raw.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw, pad_token="<pad>", eos_token="</s>", unk_token="<unk>", model_max_length=32
    )
    torch.manual_seed(seed)
    config = MarianConfig(
        vocab_size=len(vocabulary),
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        max_position_embeddings=64,
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
        forced_eos_token_id=1,
        init_std=0.5,
    )
    MarianMTModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def models(made_once: Callable[..., Path], sentences: list[str]) -> tuple[str, str]:
    words = sorted({word for text in sentences for word in text.replace(".", " .").split()})
    return tuple(str(made_once(f"marian-{n}", lambda at, n=n: build_marian(at, words, n))) for n in (1, 2))  # type: ignore[misc, return-value]


def rows_of(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_translation_is_the_models_own(models: tuple[str, str], sentences: list[str]) -> None:
    translator = Translator(models[0], device="cpu")
    found = translator([text[: 20 + i] for i, text in enumerate(sentences[:9])])
    for i, text in enumerate(sentences[:9]):
        given = translator.tokenizer(text[: 20 + i], return_tensors="pt")
        given.pop("token_type_ids", None)
        out = translator.model.generate(**given, max_new_tokens=30, num_beams=1, do_sample=False)
        alone = translator.tokenizer.decode(out[0], skip_special_tokens=True).strip()
        assert found[i].split()[:5] == alone.split()[:5]
    assert len(set(found)) > 1


def test_one_route_pairs_texts_and_two_pair_what_comes_back(
    models: tuple[str, str], sentences: list[str], tmp_path: Path
) -> None:
    there, back = (Translator(name, device="cpu") for name in models)
    texts = sentences[:6]
    made = back_translate(texts, [models], tmp_path / "one.jsonl", device="cpu")
    assert rows_of(made.out) == [
        {"anchor": text, "positive": home} for text, home in zip(texts, back(there(texts)), strict=True)
    ]
    two = back_translate(texts, [models, models[::-1]], tmp_path / "two.jsonl", device="cpu")
    assert [row["anchor"] for row in rows_of(two.out)] == back(there(texts))
    assert [row["positive"] for row in rows_of(two.out)] == there(back(texts))
    assert given_for(made.out, method="cert").columns == ("anchor", "positive"), "the methods find the columns"


def test_what_is_translated_is_kept(
    models: tuple[str, str], sentences: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(back_translating, "BLOCK", 4)
    whole = back_translate(sentences[:14], [models], tmp_path / "whole.jsonl", device="cpu").out.read_bytes()

    class Stopped(Exception):
        pass

    blocks: list[int] = []

    def stop(done: int, total: int) -> None:
        blocks.append(done)
        if sum(blocks) == 8:
            raise Stopped

    out = tmp_path / "pairs.jsonl"
    with pytest.raises(Stopped):
        back_translate(sentences[:14], [models], out, device="cpu", progress=stop)
    assert not out.exists()
    with (tmp_path / "pairs.jsonl.unfinished").open("a", encoding="utf-8") as file:
        file.write('{"anchor": "cut sho')  # as a kill leaves it
    seen: list[int] = []
    made = back_translate(sentences[:14], [models], out, device="cpu", progress=lambda done, _: seen.append(done))
    assert (made.before, seen) == (8, [4, 2])
    assert out.read_bytes() == whole
    monkeypatch.setattr(back_translating, "Translator", None)  # no model is opened again
    assert back_translate(sentences[:14], [models], out, device="cpu").before == 14
    with pytest.raises(MirrormaskError, match="was begun with other texts or models. Give another file"):
        back_translate(sentences[:13], [models], out, device="cpu")


def test_what_cannot_be_is_refused(models: tuple[str, str], tiny_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(MirrormaskError, match="takes one route there and back, or two. Got 0"):
        back_translate(["a text"], [], tmp_path / "x")
    with pytest.raises(DataError, match="There is no text to translate"):
        back_translate([], [models], tmp_path / "x")
    with pytest.raises(ModelError, match="is no translation model. Name one with an encoder and a decoder"):
        Translator(str(tiny_folder))
    out = tmp_path / "mine.jsonl"
    out.write_text("something of mine\n", encoding="utf-8")
    with pytest.raises(MirrormaskError, match="was begun with other texts or models"):
        back_translate(["a text"], [models], out)
    assert out.read_text(encoding="utf-8") == "something of mine\n"


def test_the_command(models: tuple[str, str], sentences: list[str], tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("\n".join(sentences[:5]), encoding="utf-8")
    given: list[Any] = ["back-translate", str(tmp_path / "text.txt"), "--out", str(tmp_path / "pairs.jsonl")]
    runner = CliRunner()
    done = runner.invoke(app, [*given, "--there", models[0], "--back", models[1], "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["pairs"] == 5
    wrong = runner.invoke(app, [*given, "--there", models[0], "--there", models[1], "--back", models[1]])
    assert isinstance(wrong.exception, MirrormaskError)
    assert "Name a --back for each --there. Got 2 and 1" in str(wrong.exception)
