"""What a classifier is made of: start, objective, head, classes, and what is set aside to choose by."""

from __future__ import annotations

from dataclasses import dataclass

from mirrormask.core.errors import MirrormaskError, above, between, one_of
from mirrormask.heads.classifier import HEADS
from mirrormask.heads.held_out_labels import CHOICES
from mirrormask.heads.label_splits import WEIGHTS
from mirrormask.heads.learner import OBJECTIVES, TEMPERATURE
from mirrormask.models.names import DEFAULT_START


@dataclass(frozen=True)
class Classification:
    """How a classifier is made.

    Args:
        model: where to start.
        pooling: how token states become one vector; by default the model's own.
        objective: `cross-entropy`, `sup-con`, `lcl`, `contrast` (then a linear head), or `auto`: `contrast` for few
            labels, else `cross-entropy`.
        contrast: share of the contrastive loss; None takes the paper's.
        temperature: what its cosines are divided by.
        detach: `lcl` does not train its weighting network through the contrast.
        head: `linear` or `mlp`.
        head_rate: learning rate of the head, in shares of the encoder's.
        augment: a view that makes a second text of every text of a batch; `none` for none, empty for the objective's.
        lexicon: file of synonyms for the view `synonyms`.
        classes: which ones, as `choose_classes` takes them.
        class_weights: `none` or `balanced`.
        held_out: share set aside to choose a checkpoint and calibrate by.
        choose_by: `accuracy`, `macro-f1` or `loss`.
    """

    model: str = DEFAULT_START
    pooling: str = ""
    objective: str = "auto"
    contrast: float | None = None
    temperature: float = TEMPERATURE
    detach: bool = False
    head: str = "linear"
    head_rate: float = 1.0
    augment: str = ""
    lexicon: str = ""
    classes: str = "all"
    class_weights: str = "none"
    held_out: float = 0.1
    choose_by: str = "accuracy"

    def __post_init__(self) -> None:
        one_of("objective", self.objective, ("auto", *OBJECTIVES), of="classification")
        one_of("head", self.head, HEADS, of="classification")
        one_of("class_weights", self.class_weights, WEIGHTS, of="classification")
        one_of("choose_by", self.choose_by, CHOICES, of="classification")
        between("held_out", self.held_out, 0, 1, of="classification")
        above("temperature", self.temperature, 0, of="classification")
        above("head_rate", self.head_rate, 0, of="classification")
        if self.contrast is not None and self.contrast != 1.0:
            between("contrast", self.contrast, 0, 1, of="classification")
        if self.objective == "contrast" and self.head != "linear":
            raise MirrormaskError("The objective contrast has a linear head. Leave out --head, or take sup-con.")
