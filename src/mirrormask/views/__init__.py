"""Views: one file per way to make a second view of a sentence."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from mirrormask.core.batch import Frame, Ids, Tokens
from mirrormask.core.framing import frame_of
from mirrormask.core.registry import Registry, configuration
from mirrormask.data.text.vocabulary import word_starts


@dataclass(frozen=True)
class Vocabulary:
    """What a view that rewrites text knows about the tokenizer.

    Args:
        frame: the tokens around every text.
        word_starts: for each id of the vocabulary, whether it begins a word.
        mask_id: the mask token.
        special_ids: tokens that are never text.
        tokenizer: the tokenizer itself, for views that work on characters.
    """

    frame: Frame
    word_starts: NDArray[np.bool_]
    mask_id: int | None
    special_ids: frozenset[int]
    tokenizer: Any = None

    @classmethod
    def of(cls, encoder: Any) -> Vocabulary:
        """Return what there is to know about the tokenizer of an encoder."""
        tokenizer = encoder.tokenizer
        frame = getattr(encoder[0], "frame", None) or frame_of(tokenizer)
        special = frozenset(int(i) for i in tokenizer.all_special_ids)
        return cls(frame, word_starts(tokenizer), tokenizer.mask_token_id, special, tokenizer)

    def text_of(self, ids: Ids) -> str:
        """Return the characters of a text, as far as its tokens still tell."""
        text: str = self.tokenizer.decode(ids.tolist(), clean_up_tokenization_spaces=False)
        return text

    def ids_of(self, text: str) -> Ids:
        """Return the tokens of a text, without the frame."""
        return np.asarray(self.tokenizer(text, add_special_tokens=False)["input_ids"], dtype=np.int64)


def rewrite_texts(rows: Tokens, vocabulary: Vocabulary, change: Callable[[Ids], Ids]) -> Tokens:
    """Return the rows with `change` done to each text; the tokens around it stay."""
    before, after = len(vocabulary.frame.prefix), len(vocabulary.frame.suffix)
    found = []
    for row in rows.rows:
        end = len(row) - after
        found.append(np.concatenate([row[:before], change(row[before:end]), row[end:]]))
    return Tokens.of(found)


class View(nn.Module):
    """A way to see a sentence; a subclass overrides only the stage it works at.

    The method packs the rows of all views whose forward is the same into one pass. The stages, in their order:
    `rewrite`, `words`, `embeddings`, `output`.
    """

    gradient_at = ""
    """The stage, `words` or `output`, whose gradient of the loss the method takes first and hands to `perturb`."""

    shares_forward = False
    """Whether the view works on the vectors of the other view's forward and needs none of its own."""

    same_on_purpose = False
    """Whether the view is meant to be the other one again, which is refused where it happens by mistake."""

    before_head = False
    """Whether `output` works on the encoder's vectors before a head that exists in training only."""

    hooks = False
    """Whether `forward_with` puts hooks on the encoder; compiled code does not see them, so it is not used then."""

    def attach(self, encoder: Any, head: nn.Module | None) -> None:
        """Make what the view needs from the encoder to be trained: a twin, a frozen copy; once, before training."""

    def rewrite(self, rows: Tokens, rng: np.random.Generator, vocabulary: Vocabulary) -> Tokens:
        """Return the rows with other tokens: masks, deletions, repetitions."""
        return rows

    def words(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return changed word embeddings (n, length, d), before positions are added; mask is 1 at real tokens."""
        return x

    def embeddings(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return changed input embeddings (n, length, d), after positions, norm and dropout."""
        return x

    def perturb(self, x: Tensor, gradient: Tensor) -> Tensor:
        """Return `x` moved by the gradient of the loss at it; called at the stage that `gradient_at` names."""
        return x

    def attacks_at(self, stage: str) -> bool:
        """Say whether the view moves what there is at a stage by the gradient of the loss."""
        return self.gradient_at == stage

    def perturb_at(self, stage: str, x: Tensor, gradient: Tensor) -> Tensor:
        """Return `x` as the view moves it at a stage."""
        return self.perturb(x, gradient) if self.attacks_at(stage) else x

    def encoder_of(self, encoder: Any) -> Any:
        """Return the encoder that sees the rows: the trained one, or one of the view's own."""
        return encoder

    def head_of(self, head: nn.Module | None) -> nn.Module | None:
        """Return the head on top of that encoder."""
        return head

    def forward_with(self, encoder: Any) -> contextlib.AbstractContextManager[Any]:
        """Return the context in which the encoder runs: another dropout rate, dropped heads, no gradient."""
        return contextlib.nullcontext()

    def output(self, z: Tensor) -> Tensor:
        """Return changed sentence vectors (n, d) of the joint batch."""
        return z

    def observe(self, encoder: Any, head: nn.Module | None) -> None:
        """See the encoder once after every update: a momentum encoder follows it."""

    @property
    def forward_key(self) -> str:
        """Return a key that two views share when their rows may go through the encoder together."""
        stages = ("words", "embeddings", "encoder_of", "forward_with")
        plain = not self.attacks_at("words") and not any(self.works_at(stage) for stage in stages)
        return "plain" if plain else str(configuration(self))

    def works_at(self, stage: str) -> bool:
        """Say whether the view does something at a stage, or leaves it as it is."""
        return getattr(type(self), stage) is not getattr(View, stage)


class Chain(View):
    """Several views in one: each stage of the first, then of the second, and so on.

    Args:
        views: the views, in their order.
    """

    def __init__(self, views: Sequence[View]) -> None:
        super().__init__()
        self.parts = nn.ModuleList(views)
        self.shares_forward = all(view.shares_forward for view in views)
        self.before_head = any(view.before_head for view in views)
        self.hooks = any(view.hooks for view in views)

    @property
    def views(self) -> list[View]:
        """Return the views, in their order."""
        return list(self.parts)  # type: ignore[arg-type]

    @property
    def forward_key(self) -> str:
        """Return a key that two views share when their rows may go through the encoder together."""
        keys = [view.forward_key for view in self.views if view.forward_key != "plain"]
        return " + ".join(keys) or "plain"

    def works_at(self, stage: str) -> bool:
        """Say whether one of the views does something at a stage."""
        return any(view.works_at(stage) for view in self.views)

    def attach(self, encoder: Any, head: nn.Module | None) -> None:
        """Attach every view."""
        for view in self.views:
            view.attach(encoder, head)

    def rewrite(self, rows: Tokens, rng: np.random.Generator, vocabulary: Vocabulary) -> Tokens:
        """Return the rows as all views rewrite them."""
        for view in self.views:
            rows = view.rewrite(rows, rng, vocabulary)
        return rows

    def words(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return the word embeddings as all views change them."""
        for view in self.views:
            x = view.words(x, mask)
        return x

    def embeddings(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return the input embeddings as all views change them."""
        for view in self.views:
            x = view.embeddings(x, mask)
        return x

    def attacks_at(self, stage: str) -> bool:
        """Say whether one of the views moves what there is at a stage by the gradient of the loss."""
        return any(view.attacks_at(stage) for view in self.views)

    def perturb_at(self, stage: str, x: Tensor, gradient: Tensor) -> Tensor:
        """Return `x` as those views move it that work at the stage."""
        for view in self.views:
            x = view.perturb_at(stage, x, gradient)
        return x

    def encoder_of(self, encoder: Any) -> Any:
        """Return the encoder of the last view that has one of its own."""
        for view in self.views:
            encoder = view.encoder_of(encoder)
        return encoder

    def head_of(self, head: nn.Module | None) -> nn.Module | None:
        """Return the head of the last view that has one of its own."""
        for view in self.views:
            head = view.head_of(head)
        return head

    @contextlib.contextmanager
    def forward_with(self, encoder: Any) -> Any:
        """Return the context of all views."""
        with contextlib.ExitStack() as stack:
            for view in self.views:
                stack.enter_context(view.forward_with(encoder))
            yield

    def output(self, z: Tensor) -> Tensor:
        """Return the vectors as all views change them."""
        for view in self.views:
            z = view.output(z)
        return z

    def observe(self, encoder: Any, head: nn.Module | None) -> None:
        """Let every view see the encoder."""
        for view in self.views:
            view.observe(encoder, head)


views: Registry[View] = Registry("view", __name__)
