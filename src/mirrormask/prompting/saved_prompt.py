"""What was tuned for a task, in one folder: patterns with their models or soft prompts, or the classifier made of them.

prompt.json                    the task, the model it began with, the members and their weights
member-00/template.json        the pattern and its words
member-00/soft_prompt.safetensors   where it has soft tokens
member-00/model/               the masked LM, where it was trained
classifier/                    what the members were distilled into, a sentence encoder with a head
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file

from mirrormask.core.errors import DataError, MirrormaskError, ModelError
from mirrormask.core.storage import atomic_folder, check_writable, read_json, recovered, write_json
from mirrormask.heads.classifier import Classifier
from mirrormask.models.loading import quiet_loading
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.models.soft_prompt import SoftPrompt
from mirrormask.prompting.answers import Answers
from mirrormask.prompting.cloze import Cloze
from mirrormask.prompting.cloze_rows import Examples
from mirrormask.prompting.cloze_task import ClozeTask, Question
from mirrormask.prompting.pattern import Pattern
from mirrormask.prompting.pattern_tuning import scores_of
from mirrormask.prompting.zero_shot import log_softmax

FACTS = "prompt.json"


@dataclass
class PromptModel:
    """Patterns of a task with their models, or the classifier that learned from them.

    Args:
        task: what is asked.
        model: the masked LM that all began with, by name or folder.
        members: tuned patterns.
        weights: of each, in the mean over them.
        classifier: what they were distilled into; it answers where it is there.
        max_length: tokens of a row.
        facts: how it was made.
    """

    task: ClozeTask
    model: str
    members: list[Cloze] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    classifier: Classifier | None = None
    max_length: int = 256
    facts: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, folder: Path | str, *, device: str | None = None) -> PromptModel:
        """Open what `save` left.

        Raises:
            ModelError: the folder is none of `prompt train`, or is damaged.
        """
        folder = Path(folder)
        if not (folder / FACTS).is_file():
            raise ModelError(
                f"{folder} holds no tuned prompt: it has no {FACTS}. Make one with mirrormask prompt train PROMPT FILE "
                "--out FOLDER."
            )
        try:
            facts = read_json(folder / FACTS)
            kept = facts["task"]
            task = ClozeTask(**{**kept, "questions": tuple(Question(**each) for each in kept["questions"])})
            found = cls(task, facts["model"], [], facts["weights"], None, facts["max_length"], facts["facts"])
            shared: MaskedLM | None = None
            for number in range(facts["members"]):
                place = folder / f"member-{number:02}"
                question = Question(**read_json(place / "template.json"))
                if (place / "model").is_dir():
                    lm = MaskedLM.load(place / "model", device=device)
                else:
                    lm = shared = shared or MaskedLM.load(facts["model"], device=device)
                found.members.append(_member(lm, task, question, place, facts["max_length"]))
            if facts["classifier"]:
                found.classifier = Classifier.load(folder / "classifier", device=device)
        except ModelError:
            raise
        except Exception as error:
            raise ModelError(f"The tuned prompt in {folder} is damaged ({error!r:.80}). Train it again.") from error
        return found

    def save(self, folder: Path | str) -> None:
        """Write everything into one folder, whole or not at all."""
        with atomic_folder(folder) as out, quiet_loading():
            for number, member in enumerate(self.members):
                place = out / f"member-{number:02}"
                place.mkdir()
                question = {"template": member.pattern.template.text}
                words = {} if member.verbalizer is None else member.verbalizer.words
                write_json(place / "template.json", {**question, "words": words})
                if isinstance(member.soft, SoftPrompt):
                    values = member.soft().detach().cpu().contiguous().clone()
                    save_file({"embeddings": values}, place / "soft_prompt.safetensors")
                if not self.facts.get("frozen", False):
                    member.lm.model.save_pretrained(place / "model")
                    member.lm.tokenizer.save_pretrained(place / "model")
            if self.classifier is not None:
                self.classifier.save(out / "classifier", facts={"method": "prompt", "task": self.task.name})
            record = {
                "task": self.task.record(),
                "model": self.model,
                "members": len(self.members),
                "weights": self.weights,
                "classifier": self.classifier is not None,
                "max_length": self.max_length,
                "facts": self.facts,
            }
            write_json(out / FACTS, json.loads(json.dumps(record, default=str)))

    def scores(self, examples: Examples) -> NDArray[np.float64]:
        """Return log scores of every label (n, labels): the classifier's, or the members' weighted mean."""
        if self.classifier is not None:
            return log_softmax(self.classifier.logits([plain_text(each) for each in examples.fields]))
        return log_softmax(merged([scores_of(member, examples) for member in self.members], self.weights))

    def predict(self, texts: Sequence[str | Mapping[str, str]]) -> list[tuple[str, float]]:
        """Return the label and its probability for each text, or for each row of a task with several fields."""
        fields = [{"text": each} if isinstance(each, str) else dict(each) for each in texts]
        found = self.answers(Examples(fields))
        sure = np.exp(found.scores.max(1)).tolist()
        return [(found.labels[number], share) for number, share in zip(found.predicted, sure, strict=True)]

    def answers(self, examples: Examples) -> Answers:
        """Return the labels of texts."""
        if (examples.choices is None) != bool(self.task.labels):
            raise DataError(f"These rows are not those of the task {self.task.name}. Read them for it.")
        scores = self.scores(examples)
        return Answers(self.task.labels or tuple(map(str, range(scores.shape[1]))), scores)


def check_free(folder: Path) -> None:
    """Refuse a folder that holds something else: a tuned prompt is written whole, in the place of what was there.

    Raises:
        MirrormaskError: it is a file, or holds files and is no tuned prompt.
    """
    check_writable(recovered(folder).parent)
    if folder.is_dir() and (folder / FACTS).is_file():
        return
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise MirrormaskError(
            f"{folder} holds something else than a tuned prompt, which would be lost. Give another path."
        )


def merged(scores: Sequence[NDArray[np.float64]], weights: Sequence[float]) -> NDArray[np.float64]:
    """Return the weighted mean of members' scores (n, labels); a choice that a row does not have stays out.

    Example:
        >>> merged([np.array([[1.0, 0.0]]), np.array([[0.0, 4.0]])], [3.0, 1.0]).tolist()
        [[0.75, 1.0]]
    """
    found: NDArray[np.float64] = np.average(np.stack(scores), axis=0, weights=weights)
    return found


def plain_text(fields: dict[str, str]) -> str:
    """Return the text that a classifier reads: the fields one after another."""
    return " ".join(fields.values())


def _member(lm: MaskedLM, task: ClozeTask, question: Question, place: Path, max_length: int) -> Cloze:
    pattern = Pattern(question.template, lm.tokenizer, max_length)
    soft = None
    if (place / "soft_prompt.safetensors").is_file():
        values = load_file(place / "soft_prompt.safetensors")["embeddings"]
        soft = SoftPrompt(len(values), values.shape[1], "plain")
        soft.embeddings.data.copy_(values)
        soft.to(lm.device)
    verbalizer = task.verbalizer(question) if task.labels else None
    return Cloze(lm, pattern, verbalizer, soft).eval()
