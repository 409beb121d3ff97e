from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from tests.methods.whole_step import ROWS, batch_of, built, cos
from torch import Tensor

from mirrormask.core.framing import frame_of
from mirrormask.methods import methods
from mirrormask.models.embeddings import word_table
from mirrormask.models.soft_template import SoftPromptedTransformer
from mirrormask.views.other_template import OTHER


def at_mask(encoder: Any, frame: Any, text: Any, *, learned: Tensor | None = None, alone: bool = False) -> Tensor:
    """Return the state of the mask in a template around a text, or in the template alone at the same positions."""
    prefix, suffix = frame.prefix, frame.suffix
    ids = np.concatenate([prefix, suffix] if alone else [prefix, text, suffix])
    gap = len(text) if alone else 0
    positions = np.concatenate([np.arange(len(prefix)), np.arange(len(prefix) + gap, len(ids) + gap)])
    x = word_table(encoder)(torch.from_numpy(ids))[None]
    if learned is not None:  # in place of the template's words, special tokens left out
        special = encoder.tokenizer.all_special_ids
        places = [i for i in range(len(prefix)) if prefix[i] not in special]
        start = len(ids) - len(suffix)
        places += [start + i for i in range(len(suffix)) if suffix[i] not in special]
        x = x.clone()
        for place, value in zip(places, learned, strict=True):
            x[0, place] = value
    states: Tensor = encoder[0].model(inputs_embeds=x, position_ids=torch.from_numpy(positions)[None])[0]
    mask = len(ids) - len(suffix) + suffix.tolist().index(encoder.tokenizer.mask_token_id)
    return states[0, mask]


def test_a_step_is_the_papers_formula(tiny: Callable[..., Any], sentences: list[str]) -> None:
    """Two templates, each without what it says alone at the positions it has around the text."""
    for name, denoise in (("promptbert", True), ("promptbert", False), ("promptbert-continuous", True)):
        method = built(tiny, name, temperature=0.3, denoise=denoise)
        encoder = method.encoder
        learned = None
        if isinstance(encoder[0], SoftPromptedTransformer):
            with torch.no_grad():
                encoder[0].prompt.embeddings.add_(0.1 * torch.randn_like(encoder[0].prompt.embeddings))
            learned = encoder[0].prompt()
        batch = batch_of(encoder, sentences)
        found = method(batch, 0)
        own, other = encoder[0].frame, frame_of(encoder.tokenizer, OTHER)
        texts = [row[len(own.prefix) : len(row) - len(own.suffix)] for row in batch.columns[0].rows]
        sides = []
        for frame, values in ((own, learned), (other, None)):
            vectors = []
            for text in texts:
                vector = at_mask(encoder, frame, text, learned=values)
                if denoise:
                    vector = vector - at_mask(encoder, frame, text, learned=values, alone=True)
                vectors.append(method.head(vector))  # type: ignore[misc]
            sides.append(vectors)
        a, p = sides
        expected = 0.0
        for i in range(ROWS):
            total = sum(torch.exp(cos(a[i], p[j]) / 0.3) for j in range(ROWS))
            expected -= torch.log(torch.exp(cos(a[i], p[i]) / 0.3) / total).item() / ROWS
        assert abs(found.item() - expected) < 1e-10, name


def test_learned_words_learn(tiny: Callable[..., Any], sentences: list[str]) -> None:
    method = built(tiny, "promptbert-continuous")
    method(batch_of(method.encoder, sentences), 0).backward()
    gradient = method.encoder[0].prompt.embeddings.grad
    assert gradient is not None
    assert (gradient.abs().sum(dim=1) > 0).all()


def test_it_has_the_published_constants() -> None:
    built = methods.build("promptbert")
    assert [view["denoise"] for view in built.record()["views"]] == [True, True]
    assert (built.pooling, built.record()["head"]) == ("mask-prompt", "mlp")
    assert (built.training["batch_size"], built.training["learning_rate"]) == (256, 1e-5)
    assert methods.build("promptbert-continuous").pooling == "soft-prompt"
