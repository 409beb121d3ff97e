"""LAMA: facts asked of a masked LM as cloze questions, and how many of its first guesses are right.

Papers: Petroni et al. 2019, "Language Models as Knowledge Bases?" (the facts, a prompt for each relation, a vocabulary
    that all models share); Liu et al. 2021, "GPT Understands, Too" (learned prompts, trained on AutoPrompt's facts)

A guess is the likeliest token of the shared vocabulary. Tokens that the model at hand does not have whole are left out
of it, and so are facts whose answer is none of it; how many is reported.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from mirrormask.core.errors import DataError
from mirrormask.data.text.files import open_text
from mirrormask.data.text.sources import dataset_roots, find_split, load_rows
from mirrormask.prompting.cloze import Cloze
from mirrormask.prompting.pattern_tuning import Tuning
from mirrormask.training.loop import Score, fit
from mirrormask.training.optimizer import ParameterGroup
from mirrormask.training.row_numbers import RowNumbers

_ROWS = 256


@dataclass(frozen=True)
class Facts:
    """Subjects and objects of one relation.

    Args:
        relation: its number, such as P17.
        subjects: the texts.
        objects: token ids of the answers (n,).
        left_out: facts whose answer is no token of the shared vocabulary.
    """

    relation: str
    subjects: list[str] = field(repr=False)
    objects: NDArray[np.int64] = field(repr=False)
    left_out: int = 0

    def __len__(self) -> int:
        return len(self.subjects)

    @property
    def fields(self) -> list[dict[str, str]]:
        """Return the texts as a template's field {text}."""
        return [{"text": subject} for subject in self.subjects]


def shared_vocabulary(tokenizer: Any, path: Path | str | None = None) -> NDArray[np.int64]:
    """Return the ids of the shared vocabulary that the tokenizer has whole, in its own case, ascending."""
    if path is None:
        found = [root / "lama" / "common_vocab_cased.txt" for root in dataset_roots()]
        path = next((each for each in found if each.is_file()), None)
        if path is None:
            raise DataError("LAMA's common_vocab_cased.txt is in no folder lama of MIRRORMASK_DATA. Put it there.")
    ids = set()
    for line in open_text(path):
        tokens = tokenizer(" " + line.strip(), add_special_tokens=False)["input_ids"] if line.strip() else []
        if len(tokens) == 1 and tokens[0] != tokenizer.unk_token_id:
            ids.add(int(tokens[0]))
    return np.array(sorted(ids), dtype=np.int64)


def read_facts(relation: str, split: str, tokenizer: Any, vocabulary: NDArray[np.int64]) -> Facts:
    """Return the facts of a relation; where a test file is partial, that one."""
    name = f"lama/trex/{relation}"
    if split == "test" and find_split(name, split) is None:
        split = "test_partial"
    allowed = set(vocabulary.tolist())
    subjects, objects, left_out = [], [], 0
    for row in load_rows(name, split):
        ids = tokenizer(" " + row["obj_label"], add_special_tokens=False)["input_ids"]
        if len(ids) == 1 and ids[0] in allowed and row["sub_label"].strip():
            subjects.append(row["sub_label"].strip())
            objects.append(int(ids[0]))
        else:
            left_out += 1
    return Facts(relation, subjects, np.array(objects, dtype=np.int64), left_out)


def manual_templates() -> dict[str, str]:
    """Return LAMA's own prompt of every relation, in the template language."""
    rows = load_rows("lama", "relations_templates")
    return {row["relation"]: row["template"].replace("[X]", "{text}").replace("[Y]", "[MASK]") for row in rows}


@torch.inference_mode()
def precision_at_1(cloze: Cloze, facts: Facts, vocabulary: NDArray[np.int64]) -> float:
    """Return the share of facts whose answer is the likeliest token of the vocabulary."""
    right = 0
    allowed = torch.from_numpy(vocabulary).to(cloze.lm.device)
    for start in range(0, len(facts), _ROWS):
        rows = cloze.pattern.rows(facts.fields[start : start + _ROWS])
        guesses = allowed[cloze.lm.head(cloze.states(rows)).float()[:, allowed].argmax(-1)].cpu().numpy()
        right += int((guesses == facts.objects[start : start + _ROWS]).sum())
    return right / len(facts)


class FactTuning(nn.Module):
    """Facts in training; calling it on numbers of facts gives the loss, cross-entropy over the shared vocabulary.

    Args:
        cloze: what learns: its soft tokens, its model, or both.
        facts: to learn.
        vocabulary: the shared vocabulary, ascending.
        tuning: rates, and whether the model is frozen.
    """

    def __init__(self, cloze: Cloze, facts: Facts, vocabulary: NDArray[np.int64], tuning: Tuning) -> None:
        super().__init__()
        self.cloze, self.tuning = cloze, tuning
        cloze.lm.requires_grad_(not tuning.frozen)
        self.rows = cloze.pattern.rows(facts.fields)
        self.allowed = torch.from_numpy(vocabulary)
        self.gold = torch.from_numpy(np.searchsorted(vocabulary, facts.objects))

    def parameter_groups(self) -> Sequence[ParameterGroup]:
        """Name the soft tokens, which have a rate of their own."""
        if self.cloze.soft is None:
            return []
        return [ParameterGroup("soft tokens", list(self.cloze.soft.parameters()), rate=self.tuning.soft_rate)]

    def forward(self, numbers: Tensor, seed: int) -> Tensor:
        """Return the loss of some facts."""
        scores = self.cloze.lm.head(self.cloze.states(self.rows.take(numbers.numpy()))).float()
        return F.cross_entropy(scores[:, self.allowed.to(scores.device)], self.gold[numbers].to(scores.device))


def learn_facts(cloze: Cloze, train: Facts, dev: Facts, vocabulary: NDArray[np.int64], tuning: Tuning) -> Cloze:
    """Tune a pattern on the facts of a relation through the training loop; the weights of the best dev P@1 stay.

    Args:
        cloze: what learns; it is changed.
        train: facts to learn.
        dev: facts to choose by.
        vocabulary: the shared vocabulary.
        tuning: how.
    """
    model = FactTuning(cloze, train, vocabulary, tuning)
    source = RowNumbers(len(train), min(tuning.batch_size, len(train)), tuning.seed)
    with tempfile.TemporaryDirectory() as folder:
        fit(
            model,
            source,
            tuning.settings(),
            Path(folder),
            evaluate=lambda: Score(precision_at_1(cloze, dev, vocabulary)),
        )
    cloze.lm.requires_grad_(True)
    return cloze.eval()
