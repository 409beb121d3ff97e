"""Compose a method by hand: a view and an objective of your own, trained by the one loop.

python examples/compose_a_method.py --model mini --steps 100
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import torch
from torch import Tensor

import mirrormask
from mirrormask.core.batch import Step
from mirrormask.core.framing import frame_of
from mirrormask.data.batching import Batches
from mirrormask.data.pairs.self_pair import SelfPair
from mirrormask.data.text.corpus import build_corpus
from mirrormask.data.text.tokens import LazyTokens
from mirrormask.data.text.vocabulary import word_starts
from mirrormask.objectives import Objective
from mirrormask.objectives.info_nce import InfoNCE
from mirrormask.training.loop import fit
from mirrormask.training.method import Composition, Method
from mirrormask.training.settings import Settings
from mirrormask.views import View, Vocabulary
from mirrormask.views.dropout import Dropout

WHO, DOES = ("The nurse", "A driver", "Our plumber", "The librarian"), ("lost", "found", "borrowed", "sold", "hid")
WHAT = ("a blue umbrella", "the spare key", "two train tickets", "an old violin", "the weekly report")
TEXTS = [f"{who} {does} {what}." for who in WHO for does in DOES for what in WHAT]


class InputNoise(View):
    """Add Gaussian noise to the input embeddings of real tokens."""

    def __init__(self, scale: float = 0.01) -> None:
        super().__init__()
        self.scale = scale

    def embeddings(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return noisy embeddings (n, length, d)."""
        return x + self.scale * torch.randn_like(x) * mask[..., None]


class Spread(Objective):
    """Push all anchors apart: the uniformity of Wang and Isola 2020."""

    def forward(self, step: Step) -> Tensor:
        """Return the log of the mean Gaussian potential between anchors."""
        unit = torch.nn.functional.normalize(step.anchor, dim=-1)
        return torch.pdist(unit).pow(2).mul(-2).exp().mean().log()


def main() -> None:
    """Put model, text, parts and loop together."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="mini")
    parser.add_argument("--steps", type=int, default=100)
    arguments = parser.parse_args()
    encoder = mirrormask.build_encoder(arguments.model, pooling="mean")
    tokenizer, frame = encoder.tokenizer, frame_of(encoder.tokenizer)
    settings = Settings(batch_size=32, steps=arguments.steps, learning_rate=1e-4, max_length=32)
    parts = Composition(views=(Dropout(), InputNoise(0.02)), objective=InfoNCE(temperature=0.05) + 0.1 * Spread())
    words = Vocabulary(frame, word_starts(tokenizer), tokenizer.mask_token_id, frozenset(tokenizer.all_special_ids))
    with tempfile.TemporaryDirectory() as folder:
        corpus = build_corpus(TEXTS, Path(folder) / "corpus")
        tokens = LazyTokens(corpus, tokenizer, max_tokens=settings.max_length)
        examples = SelfPair().index(corpus, tokens, Path(folder) / "pairs")
        batches = Batches(examples, frame, batch_size=settings.batch_size, max_length=settings.max_length, seed=42)
        result = fit(Method(encoder, parts, words), batches, settings, Path(folder) / "run")
    print(f"{result.steps} steps in {result.seconds:.1f} s; parts: {parts.record()['views']}")


if __name__ == "__main__":
    main()
