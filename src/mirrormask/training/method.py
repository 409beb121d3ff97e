"""A method: what turns a batch into a loss. Views make vectors, a source adds negatives, an objective scores."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mirrormask.core.batch import Batch, Step, Tokens
from mirrormask.core.errors import MirrormaskError
from mirrormask.core.transfer import at_least_float32, to_device
from mirrormask.negatives import Local
from mirrormask.objectives import Ask, Objective, Seen, WeightedSum
from mirrormask.training.composed import Composition
from mirrormask.training.forward import Embed, encode, encode_with_states, states_at
from mirrormask.training.gather import gather_rows, own_rows
from mirrormask.training.shown_rows import positions_of, shown_to
from mirrormask.views import View, Vocabulary

__all__ = ["Composition", "Method"]

Role = tuple[View, Tokens]
Change = Callable[[Tensor], Tensor]


class Method(nn.Module):
    """An encoder with the parts of a composition; calling it on a batch gives the loss.

    Args:
        encoder: the SentenceTransformer to train.
        composition: the parts.
        vocabulary: what views that rewrite text need to know.
        head: a projection that exists in training only.
        chunk: rows whose activations are held at a time (gradient caching); None holds all.
        pad_to: widths are rounded up to a multiple of this.
        parts: batches that make one update, where gradients are accumulated.
    """

    moved = False
    """Whether a stabilizer has moved the weights for a moment; the step it sees then is not remembered."""

    def __init__(
        self,
        encoder: Any,
        composition: Composition,
        vocabulary: Vocabulary,
        *,
        head: nn.Module | None = None,
        chunk: int | None = None,
        pad_to: int = 1,
        parts: int = 1,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.views = nn.ModuleList(composition.views)
        self.objective = composition.objective
        self.negatives = composition.negatives
        self.head = head
        self.vocabulary = vocabulary
        self.chunk = chunk
        self.pad_to = pad_to
        self._seen: deque[tuple[Step, Batch]] = deque(maxlen=parts)
        for view in composition.views:
            view.attach(encoder, head)
        self.objective.attach(encoder)
        if self.negatives is not None:
            self.negatives.attach(encoder, head)
        terms = self.objective.parts_of()
        of_vectors = [(weight, term) for weight, term in terms if not term.needs_encoder]
        sum_of = WeightedSum([term for _, term in of_vectors], [weight for weight, _ in of_vectors])
        # in tuples, so that the parts are not registered twice
        self._criterion = (sum_of if len(of_vectors) < len(terms) else self.objective,)
        self._reading = tuple((weight, term) for weight, term in terms if term.reads_views)
        self._asking = tuple((weight, term) for weight, term in terms if term.needs_encoder and not term.reads_views)
        self._scores = bool(of_vectors)
        self._check_views(composition.views)

    def _check_views(self, views: tuple[View, View]) -> None:
        """Refuse views that would leave nothing to learn, or no gradient to attack with."""
        if not self._scores and not self._reading:
            raise MirrormaskError("A method needs an objective over sentence vectors. Add one, such as info-nce.")
        attacked = any(view.attacks_at(stage) for view in views for stage in ("words", "output"))
        if not self._scores and (attacked or self.negatives is not None):
            raise MirrormaskError(
                "This objective compares no sentence vectors, so it has no use for negatives, nor a gradient for FGSM. "
                "Leave them out, or add info-nce."
            )
        encoders = [view.encoder_of(self.encoder) for view in views]
        other = [self._is_other(encoder) for encoder in encoders]
        if other[0] and views[1].shares_forward:
            raise MirrormaskError(
                "The second view changes the vectors of the first, and the first brings an encoder of its own, so the "
                "one that is saved would learn nothing. Let the first be another view, such as dropout."
            )
        if all(other):
            raise MirrormaskError(
                "Both views bring an encoder of their own, so the one that is saved would learn nothing. Let one of "
                "them be another view, such as dropout."
            )
        for view, encoder in zip(views, encoders, strict=True):
            if view.attacks_at("words") and not any(p.requires_grad for p in encoder.parameters()):
                raise MirrormaskError(
                    "FGSM at the word embeddings needs a gradient, which a momentum encoder or a frozen copy does not "
                    "give. Put it on the other view."
                )

    def _is_other(self, encoder: Any) -> bool:
        """Say whether an encoder has weights of its own, and not those that are trained and saved."""
        return next(encoder.parameters()) is not next(self.encoder.parameters())

    @torch.no_grad()
    def check(self, batch: Batch, seed: int = 0) -> None:
        """Refuse to train where both views of a sentence are one and the same: the loss would fall, nothing be learned.

        Args:
            batch: some of this process's rows.
            seed: for choices that views make about text.
        """
        own: list[Any] = [view.encoder_of(self.encoder) for view in self.views]  # type: ignore[operator]
        meant = any(view.same_on_purpose for view in self.views)
        if meant or not self._scores or len(batch.columns) > 1 or any(map(self._is_other, own)):
            return
        was = self.training
        self.train()
        with torch.random.fork_rng([self.encoder.device] if self.encoder.device.type == "cuda" else []):
            roles = self._roles(batch)
            anchor, positive = self._vectors(roles, self._raw(batch, roles, seed, {})[0], {})[:2]
        self.train(was)
        attacked = any(view.attacks_at(stage) for view, _ in roles for stage in ("words", "output"))
        same = (anchor - positive).norm() <= 1e-5 * anchor.norm()  # rows of other shards differ in their last bits
        if same and not attacked:
            raise MirrormaskError(
                "Both views of a sentence are the same here, so there is nothing to learn: this model has no dropout "
                'of its own. Give it a rate (method.dropout=0.1 for simcse-unsup, { name = "dropout", rate = 0.1 } in '
                "a list of views), or use another view or pairing."
            )

    def forward(self, batch: Batch, seed: int = 0) -> Tensor:
        """Return the loss of the joint batch of all processes.

        Args:
            batch: this process's rows.
            seed: for choices that views make about text.
        """
        wanted = [term.show(batch) for _, term in self._reading]
        shown = shown_to(wanted)
        roles = self._roles(batch, shown)
        raw, seen = self._raw(batch, roles, seed, self._moved_words(batch, roles, seed), shown)
        vectors = self._vectors(roles, raw, self._moved_outputs(batch, roles, raw)) if self._scores else raw
        losses = [self._scored(batch, vectors)] if self._scores else []
        for (weight, term), asks in zip(self._reading, wanted, strict=True):
            losses.append(weight * term.saw(asks, {place: seen[place] for place in asks}))
        for weight, term in self._asking:  # more of the encoder, so in the run's own precision
            ask = term.ask(batch)
            own = [own_rows(vectors[role], len(batch)) for role in ask.given]
            first = torch.cat(own) if own else None
            states = states_at(ask.network or self.encoder, ask.rows, ask.positions, first=first, **self._passes)
            losses.append(weight * term.answered(ask, states))
        return sum(losses[1:], losses[0])

    def _scored(self, batch: Batch, vectors: list[Tensor]) -> Tensor:
        """Return what the criterion says about the vectors of the joint batch."""
        with torch.autocast(vectors[0].device.type, enabled=False):  # a cosine over a small temperature needs float32
            step = self._step(batch, vectors)
            if self.negatives is not None:
                step = dataclasses.replace(step, extra=self.negatives.draw(step, self.criterion))
            loss: Tensor = self.criterion(step)
        if not self.moved and torch.is_grad_enabled():
            kept = {name: getattr(step, name) for name in ("labels", "text_ids")}
            self._seen.append((Step(step.anchor.detach(), step.positive.detach(), **kept), batch))
        return loss

    @property
    def criterion(self) -> Objective:
        """Return what in the objective is a function of the vectors alone."""
        return self._criterion[0]

    def observe(self) -> None:
        """Let views and the source of negatives see the encoder and all parts of the update, once after it."""
        for view in self.views:
            view.observe(self.encoder, self.head)  # type: ignore[operator]
        if self.negatives is not None and self._seen:
            steps, batches = zip(*self._seen, strict=True)
            local = Local(batches, self.encoder, self.head, self._vectors_of)
            self.negatives.observe(_joined(steps), local)

    @torch.no_grad()
    def similarities(self) -> dict[str, Tensor]:
        """Return the mean cosine of the last step's positives, and of its in-batch negatives, still on the device."""
        if not self._seen or len(self._seen[-1][0].anchor) < 2:
            return {}
        last = self._seen[-1][0]
        anchor, positive = (torch.nn.functional.normalize(v, dim=-1) for v in (last.anchor, last.positive))
        n = len(anchor)
        own = (anchor * positive).sum()
        every = anchor.sum(dim=0) @ positive.sum(dim=0)  # the sum over all pairs, without their table
        return {"positive_cosine": own / n, "negative_cosine": (every - own) / (n * (n - 1))}

    @property
    def _passes(self) -> dict[str, Any]:
        """Return how rows go through an encoder, whoever asks."""
        return {"pad_id": self.encoder.tokenizer.pad_token_id or 0, "chunk": self.chunk, "pad_to": self.pad_to}

    @torch.no_grad()
    def _vectors_of(self, encoder: Any, head: nn.Module | None, rows: Tokens) -> Tensor:
        """Return the vectors of all processes' rows (n, d), as another encoder and head see them."""
        found = gather_rows(encode(encoder, rows, **self._passes))
        return found if head is None else at_least_float32(head(found))

    def _roles(self, batch: Batch, shown: dict[int, Ask] | None = None) -> list[Role]:
        """Return view and rows of the anchor, the positive and each hard negative, as an objective shows them."""
        columns = batch.columns if len(batch.columns) > 1 else (batch.columns[0], batch.columns[0])
        views: list[Any] = list(self.views)
        rows = [shown[place].rows if shown and place in shown else each for place, each in enumerate(columns)]
        return [(views[0], rows[0])] + [(views[1], each) for each in rows[1:]]

    def _raw(
        self,
        batch: Batch,
        roles: list[Role],
        seed: int,
        words: dict[str, Embed],
        shown: dict[int, Ask] | None = None,
    ) -> tuple[list[Tensor], dict[int, Seen]]:
        """Return the encoder's vectors (n, d) of the joint batch, one per role, and what it made of the rows shown.

        Rows that may share a forward do; without an objective over vectors only the rows shown go through the encoder.

        Args:
            batch: this process's rows.
            roles: what is seen, and how.
            seed: for choices about text.
            words: for some keys of forwards, what is done at their word embeddings instead of the view's own.
            shown: by role, the rows that an objective reads in this forward, and where.
        """
        rng, shown = np.random.default_rng(seed), shown or {}
        groups: dict[str, list[int]] = {}
        for place, (view, _) in enumerate(roles):
            if place not in shown and (not self._scores or (place and view.shares_forward and len(batch.columns) == 1)):
                continue
            groups.setdefault(view.forward_key, []).append(place)
        vectors: list[Tensor | None] = [None] * len(roles)
        seen: dict[int, Seen] = {}
        for key, places in groups.items():
            view = roles[places[0]][0]
            rows = [self._fitting(roles[p][0].rewrite(roles[p][1], rng, self.vocabulary)) for p in places]
            at = [positions_of(roles[p][0], shown.get(p), len(batch)) for p in places]
            found, states = self._encode(
                view,
                sum(rows[1:], rows[0]),
                words.get(key, view.words if view.works_at("words") else None),
                [each for role in at for each in role] if any(p in shown for p in places) else None,
            )
            counts = [sum(map(len, role)) for role in at] if len(states) else [0] * len(at)
            parts = zip(torch.split(found, len(batch)), torch.split(states, counts), strict=True)
            for place, (part, read) in zip(places, parts, strict=True):
                vectors[place] = gather_rows(part) if self._scores else part
                if place in shown:
                    seen[place] = Seen(part, read)
        return [vectors[0] if v is None else v for v in vectors], seen  # type: ignore[misc]

    def _fitting(self, rows: Tokens) -> Tokens:
        """Return the rows cut to what the encoder can read: a view may have made them longer."""
        limit, frame = self.encoder.max_seq_length, self.vocabulary.frame
        if limit is None or rows.lengths.max(initial=0) <= limit:
            return rows
        texts = (row[len(frame.prefix) : len(row) - len(frame.suffix)] for row in rows.rows)
        return Tokens.of([frame.around(ids, limit) for ids in texts])

    def _encode(
        self, view: View, tokens: Tokens, words: Embed | None, at: list[NDArray[np.int64]] | None
    ) -> tuple[Tensor, Tensor]:
        encoder = view.encoder_of(self.encoder)
        how = {
            **self._passes,
            "words": words,
            "embed": view.embeddings if view.works_at("embeddings") else None,
            "within": lambda: view.forward_with(encoder),
            "eager": view.hooks,
        }
        if at is not None:
            return encode_with_states(encoder, tokens, at, **how)
        vectors = encode(encoder, tokens, **how)
        return vectors, vectors[:0]

    def _vectors(self, roles: list[Role], raw: list[Tensor], at_output: dict[int, Change]) -> list[Tensor]:
        """Return the vectors that are scored: the head and the views' last stage on what the encoder gave."""
        changes = [at_output.get(place, view.output) for place, (view, _) in enumerate(roles)]
        before = [view.before_head for view, _ in roles]
        found = [change(z) if first else z for z, change, first in zip(raw, changes, before, strict=True)]
        heads: dict[int, tuple[nn.Module | None, list[int]]] = {}
        for place, (view, _) in enumerate(roles):
            head = view.head_of(self.head)
            heads.setdefault(id(head), (head, []))[1].append(place)
        for head, places in heads.values():
            if head is not None:  # all rows of a head at once: they share the statistics of a batch norm
                projected = at_least_float32(head(torch.cat([found[place] for place in places])))
                for place, part in zip(places, projected.split(len(raw[0])), strict=True):
                    found[place] = part
        return [z if first else change(z) for z, change, first in zip(found, changes, before, strict=True)]

    def _moved_words(self, batch: Batch, roles: list[Role], seed: int) -> dict[str, Embed]:
        """Return, by key of forward, how views move word embeddings by the gradient of the loss at them.

        It is taken in a pass of its own with the dropout that the next pass draws again: another mask would turn it.
        """
        attacks = {view.forward_key: view for view, _ in roles if view.attacks_at("words")}
        if not attacks:
            return {}
        leaves: dict[str, list[Tensor]] = {key: [] for key in attacks}

        def kept(key: str, x: Tensor, mask: Tensor) -> Tensor:
            leaves[key].append(x.detach().requires_grad_())
            return attacks[key].words(leaves[key][-1], mask)

        def moved(key: str, x: Tensor, mask: Tensor) -> Tensor:
            return attacks[key].words(attacks[key].perturb_at("words", x, next(gradients)), mask)

        with self._before():
            raw, _ = self._raw(batch, roles, seed, {key: partial(kept, key) for key in attacks})
            found = self._gradient(batch, self._vectors(roles, raw, {}), [x for each in leaves.values() for x in each])
        gradients = iter(found)  # shards come again in the same order
        return {key: partial(moved, key) for key in attacks}

    def _moved_outputs(self, batch: Batch, roles: list[Role], raw: list[Tensor]) -> dict[int, Change]:
        """Return, by role, how views move their vectors by the gradient of the loss at them; no second forward."""
        attacks = {place: view for place, (view, _) in enumerate(roles) if view.attacks_at("output")}
        if not attacks:
            return {}
        leaves: dict[int, Tensor] = {}

        def kept(place: int, z: Tensor) -> Tensor:
            leaves[place] = z.detach().requires_grad_()
            return attacks[place].output(leaves[place])

        def moved(place: int, z: Tensor) -> Tensor:
            return attacks[place].output(attacks[place].perturb_at("output", z, gradients[place]))

        with self._before():
            vectors = self._vectors(roles, [z.detach() for z in raw], {at: partial(kept, at) for at in attacks})
            found = self._gradient(batch, vectors, list(leaves.values()))
        gradients = dict(zip(leaves, found, strict=True))
        return {place: partial(moved, place) for place in attacks}

    @contextmanager
    def _before(self) -> Iterator[None]:
        """Let a pass go before the one that counts: with gradients, and with the same chance as the next."""
        device = next(self.encoder.parameters()).device
        with torch.enable_grad(), torch.random.fork_rng([device] if device.type == "cuda" else []):
            yield

    def _gradient(self, batch: Batch, vectors: list[Tensor], leaves: list[Tensor]) -> tuple[Tensor, ...]:
        with torch.autocast(vectors[0].device.type, enabled=False):
            return torch.autograd.grad(self.criterion(self._step(batch, vectors)), leaves)

    def _step(self, batch: Batch, vectors: list[Tensor]) -> Step:
        anchor, positive, *hard = vectors
        if self.objective.in_batch and len(anchor) < 2:
            raise MirrormaskError(
                "In-batch negatives need a 'batch_size' of at least 2: with one row there is nothing to push away from."
            )
        numbers = {
            name: None if rows is None else gather_rows(to_device(rows, anchor.device))
            for name, rows in (("labels", batch.labels), ("text_ids", batch.text_ids))
        }
        targets: tuple[Tensor, ...] = ()
        if self.objective.needs_target:
            with torch.no_grad():
                targets = tuple(gather_rows(self.objective.target(column)) for column in batch.columns[:2])
        return Step(anchor, positive, hard=torch.stack(hard, dim=1) if hard else None, targets=targets, **numbers)


def _joined(steps: Sequence[Step]) -> Step:
    """Return the vectors of several batches as one step."""
    if len(steps) == 1:
        return steps[0]

    def rows(name: str) -> Any:
        found = [getattr(step, name) for step in steps]
        return None if any(each is None for each in found) else torch.cat(found)

    return Step(**{name: rows(name) for name in ("anchor", "positive", "labels", "text_ids")})
