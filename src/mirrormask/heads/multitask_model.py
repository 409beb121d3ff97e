"""An encoder with the heads of several tasks: trained together, saved in one folder that is a sentence encoder too.

Paper: Hu 2023, "BERT-CF: Contrastive Flows for MultiTask-BERT", Section 4.3

    loss = sum over tasks of weight * loss of the task
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mirrormask.core.batch import Batch
from mirrormask.core.transfer import to_device
from mirrormask.heads.kept_heads import KeptHeads
from mirrormask.heads.task_heads import TaskHead, head_of
from mirrormask.heads.task_specs import Task
from mirrormask.models.bulk import encode_texts
from mirrormask.models.encoder import save_encoder
from mirrormask.training.forward import encode
from mirrormask.training.gather import world

FACTS = "multitask.json"
FILES = KeptHeads(
    FACTS,
    "multitask.safetensors",
    f"has no heads of tasks: there is no {FACTS}. Make them with mirrormask multitask train.",
    "The heads of tasks in {} are damaged",
)


class Multitask(nn.Module):
    """An encoder and a head for every task; calling it on a batch of some tasks gives the weighted loss.

    Args:
        encoder: a SentenceTransformer.
        tasks: by name.
        classes: names of the classes of each classification.
        chunk: rows whose activations are held at a time; None holds all.
    """

    def __init__(
        self,
        encoder: Any,
        tasks: Mapping[str, Task],
        classes: Mapping[str, Sequence[str]],
        *,
        chunk: int | None = None,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.tasks = dict(tasks)
        self.classes = {name: tuple(each) for name, each in classes.items()}
        self.chunk = chunk
        width = encoder.get_embedding_dimension()
        heads = [head_of(task, width, len(self.classes.get(name, ()))) for name, task in self.tasks.items()]
        self.heads = nn.ModuleList(heads).to(encoder.device)

    def head(self, name: str) -> TaskHead:
        """Return the head of a task."""
        found: TaskHead = self.heads[list(self.tasks).index(name)]  # type: ignore[assignment]
        return found

    def forward(self, batch: Mapping[str, Batch], seed: int = 0) -> Tensor:
        """Return the weighted loss of the tasks that take part; all their texts go through the encoder together."""
        columns = [column for each in batch.values() for column in each.columns]
        pad = self.encoder.tokenizer.pad_token_id or 0
        rows = encode(self.encoder, sum(columns[1:], columns[0]), pad_id=pad, chunk=self.chunk)
        vectors = iter(torch.split(rows, [len(column) for column in columns]))
        losses = []
        with torch.autocast(rows.device.type, enabled=False):
            for name, each in batch.items():
                own = [next(vectors) for _ in each.columns]
                labels = to_device(each.labels, rows.device)  # type: ignore[arg-type]
                losses.append(self.tasks[name].weight * self.head(name).loss(own, labels))
            if world()[1] > 1:  # every process must send a gradient for every head, also for those not in this step
                idle = [self.head(name) for name in self.tasks if name not in batch]
                losses += [0.0 * weights.sum() for head in idle for weights in head.parameters()]
        return torch.stack(losses).sum()

    @torch.inference_mode()
    def predict(self, name: str, columns: Sequence[Sequence[str]]) -> NDArray[np.float64]:
        """Return what the head of a task says about texts: numbers of classes, 0 and 1, or similarities."""
        vectors = torch.from_numpy(encode_texts(self.encoder, [text for column in columns for text in column]))
        head, was = self.head(name), self.head(name).training
        head.eval()
        found = head.predict(list(vectors.to(self.encoder.device).split([len(column) for column in columns])))
        head.train(was)
        return found.double().cpu().numpy()

    def named(self, name: str, predicted: NDArray[np.float64]) -> list[Any]:
        """Return predictions as a reader wants them: names of classes, 0 and 1, or numbers."""
        if self.tasks[name].kind == "classification":
            return [self.classes[name][int(number)] for number in predicted]
        return [int(n) if self.tasks[name].kind == "paraphrase" else round(float(n), 4) for n in predicted]

    def save(self, folder: Path | str, *, facts: dict[str, Any] | None = None) -> None:
        """Save encoder and heads into one folder, whole or not at all; `mirrormask.load(folder)` opens the encoder.

        Args:
            folder: replaced as a whole.
            facts: how it was made, for `info` and the model card.
        """
        save_encoder(self.encoder, folder, facts=facts, add=self._write)

    def _write(self, folder: Path) -> None:
        tasks = {name: dataclasses.asdict(task) for name, task in self.tasks.items()}
        FILES.write(folder, self.heads, {"tasks": tasks, "classes": {n: list(c) for n, c in self.classes.items()}})

    @classmethod
    def load(cls, name: Path | str, *, device: str | None = None) -> Multitask:
        """Open the model in a folder that `multitask train` left.

        Raises:
            ModelError: there are no heads there, or they are damaged.
        """
        return FILES.open(name, cls._made, lambda found: found.heads, device)

    @classmethod
    def _made(cls, encoder: Any, facts: dict[str, Any]) -> Multitask:
        tasks = {key: Task(**{**each, **_tuples(each)}) for key, each in facts["tasks"].items()}
        return cls(encoder, tasks, facts["classes"])


def _tuples(task: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(task[key]) for key in ("text", "classes", "scale")}
