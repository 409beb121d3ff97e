"""What a paper says, as parts; a `Method` makes a module of it with an encoder."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from mirrormask.core.registry import configuration
from mirrormask.models.glow import FlowShape
from mirrormask.negatives import NegativeSource
from mirrormask.objectives import Objective
from mirrormask.stabilizers import Stabilizer
from mirrormask.stabilizers.plain import Plain
from mirrormask.views import View


@dataclass(frozen=True)
class Composition:
    """What a paper says, as parts: the views of anchor and positive, the loss, and where the positives come from.

    Args:
        views: how the anchor and the positive are seen.
        objective: the loss.
        negatives: extra negatives, where the method has them.
        stabilizer: how gradients become an update.
        pairing: where positives come from, by name, with its parameters.
        pooling: the pooling the paper uses.
        training: the paper's own settings, which a run takes unless told otherwise.
        between: shares of the way from start to end, one of which is kept when a run is over, or the start; without
            them it is the best of the checkpoints.
        flow: a flow that is put on the encoder before training and kept with it.
        frozen: whether the encoder below the flow stays as it is.
        head: makes a projection of vectors of this width that exists in training only; by default the pooling's own.
    """

    views: tuple[View, View]
    objective: Objective
    negatives: NegativeSource | None = None
    stabilizer: Stabilizer = field(default_factory=Plain)
    pairing: tuple[str, dict[str, Any]] = ("self", {})
    pooling: str = "mean"
    training: dict[str, Any] = field(default_factory=dict)
    between: tuple[float, ...] = ()
    flow: FlowShape | None = None
    frozen: bool = False
    head: Callable[[int], nn.Module] | None = None

    @property
    def one_pass(self) -> bool:
        """Say whether a step is one plain pass through the encoder, forward and backward."""
        plain = all(view.forward_key == "plain" for view in self.views)
        return plain and self.stabilizer.passes == 1 and not self.objective.needs_encoder

    def record(self) -> dict[str, Any]:
        """Return every parameter, read back from the built parts."""
        return {
            "views": [configuration(view) for view in self.views],
            "objective": configuration(self.objective),
            "negatives": None if self.negatives is None else configuration(self.negatives),
            "stabilizer": configuration(self.stabilizer),
            "pairing": {"name": self.pairing[0], **self.pairing[1]},
            "pooling": self.pooling,
            **({} if self.head is None else {"head": self.head.__name__}),
            **({} if self.flow is None else {"flow": dataclasses.asdict(self.flow), "frozen": self.frozen}),
        }
