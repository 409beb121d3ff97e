"""The settings of a run of the loop: explicit, checked at once, recorded as they are."""

from __future__ import annotations

from dataclasses import dataclass, field

from mirrormask.core.errors import above, at_least, between, one_of
from mirrormask.core.seeding import Seeds

SCHEDULES = ("linear", "constant", "cosine")
OPTIMIZERS = ("adamw", "muon")


@dataclass(frozen=True)
class Settings:
    """How the loop runs.

    Args:
        batch_size: rows of a joint batch, over all processes.
        steps: updates; 0 takes them from `epochs`.
        epochs: passes over the pairs.
        learning_rate: the highest rate.
        weight_decay: AdamW's, on matrices only.
        betas: AdamW's; how much of the mean of gradients and of their squares stays at an update.
        optimizer: `adamw`, or `muon` for the matrices between embeddings and output, which learns more from long runs.
        schedule: `linear` and `cosine` fall to 0; `constant` stays.
        warmup: share of the steps over which the rate rises.
        clip: largest gradient norm; 0 does not clip.
        average: decay of the exponential average of the weights that is evaluated and saved; 0 takes the weights as
            they are.
        accumulation: batches per update. More batches, not more negatives: for those take `large_batch`.
        large_batch: rows whose activations are held at a time (gradient caching); 0 holds the whole batch.
        precision: `auto` takes what the device is fast at.
        compile: `auto` compiles where it pays; `on` and `off` decide.
        evaluate_every: updates between evaluations; 0 takes a tenth of the run.
        patience: evaluations without a gain before the run stops; 0 never stops early.
        checkpoint_every: updates between checkpoints; 0 takes every evaluation.
        max_length: tokens of a text, special tokens included.
        trackers: names of accelerate trackers.
        seeds: of data, dropout and initialization.
    """

    batch_size: int = 64
    steps: int = 0
    epochs: float = 1.0
    learning_rate: float = 3e-5
    weight_decay: float = 0.0
    betas: tuple[float, float] = (0.9, 0.999)
    optimizer: str = "adamw"
    schedule: str = "linear"
    warmup: float = 0.0
    clip: float = 1.0
    average: float = 0.0
    accumulation: int = 1
    large_batch: int = 0
    precision: str = "auto"
    compile: str = "auto"
    evaluate_every: int = 0
    patience: int = 0
    checkpoint_every: int = 0
    max_length: int = 32
    trackers: tuple[str, ...] = ()
    seeds: Seeds = field(default_factory=Seeds)

    def __post_init__(self) -> None:
        at_least("batch_size", self.batch_size, 1, of="training")
        at_least("steps", self.steps, 0, of="training")
        above("learning_rate", self.learning_rate, 0, of="training")
        at_least("weight_decay", self.weight_decay, 0, of="training")
        for beta in self.betas:
            between("betas", beta, 0, 1, of="training")
        between("warmup", self.warmup, 0, 1, of="training")
        at_least("clip", self.clip, 0, of="training")
        between("average", self.average, 0, 1, of="training")
        at_least("accumulation", self.accumulation, 1, of="training")
        at_least("large_batch", self.large_batch, 0, of="training")
        at_least("max_length", self.max_length, 3, of="training")
        for name in ("evaluate_every", "patience", "checkpoint_every"):
            at_least(name, getattr(self, name), 0, of="training")
        one_of("optimizer", self.optimizer, OPTIMIZERS, of="training")
        one_of("schedule", self.schedule, SCHEDULES, of="training")
        one_of("precision", self.precision, ("auto", "fp32", "bf16", "fp16"), of="training")
        one_of("compile", self.compile, ("auto", "on", "off"), of="training")
        if not self.steps:
            above("epochs", self.epochs, 0, of="training")
            between("epochs", self.epochs, 0, 1e9, of="training")

    def total_steps(self, batches_per_epoch: int) -> int:
        """Return the number of updates of the run."""
        return self.steps or max(1, int(self.epochs * batches_per_epoch / self.accumulation))
