"""What a classifier learns by: cross-entropy, supervised contrast beside it, label-aware contrast, or contrast alone.

Paper: Gunel et al. 2021, "Supervised Contrastive Learning for Pre-trained Language Model Fine-tuning", Eq. 1;
    Suresh and Ong 2021, "Not All Negatives are Equal"; Tunstall et al. 2022, "Efficient Few-Shot Learning Without
    Prompts" (SetFit), whose first half is contrast alone

    cross-entropy   CE
    sup-con         (1 - c) CE + c SupCon
    lcl             (1 - c) CE + c LCL + (1 - c) CE of the weighting network
    contrast        SupCon, then a logistic head

Both papers write the share as lambda, one for the contrast and the other for the cross-entropy; here `contrast` is the
share of the contrast in both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from mirrormask.core.batch import Batch, Tokens
from mirrormask.core.errors import MirrormaskError, above, between, one_of
from mirrormask.core.transfer import to_device
from mirrormask.heads.classifier import Classifier
from mirrormask.objectives.label_aware import label_aware
from mirrormask.objectives.sup_con import same_class, sup_con
from mirrormask.training.forward import encode
from mirrormask.training.gather import gather_rows
from mirrormask.training.optimizer import ParameterGroup
from mirrormask.views import View, Vocabulary

OBJECTIVES = ("cross-entropy", "sup-con", "lcl", "contrast")

SHARES = {"cross-entropy": 0.0, "sup-con": 0.9, "lcl": 0.5, "contrast": 1.0}
"""The share of the contrast: Gunel et al. find 0.9 best for most tasks, Suresh and Ong take 0.5."""

TEMPERATURE = 0.3
"""Both papers' choice for most tasks."""


class Learner(nn.Module):
    """A classifier in training; calling it on a batch gives the loss.

    Args:
        classifier: what learns.
        objective: one of `OBJECTIVES`.
        contrast: share of the contrastive loss; None takes the paper's.
        temperature: what its cosines are divided by.
        weighting: the second network of `lcl`, a classifier of the same classes.
        detach: `lcl` does not train its weighting network through the contrast.
        class_weights: of the cross-entropy (classes,).
        view: makes a second view of every text of the batch, which has the same labels.
        vocabulary: what a view that rewrites text needs to know.
        head_rate: learning rate of the heads, in shares of the encoder's.
        clip: largest gradient norm of the weighting network, clipped apart from the classifier's.
        chunk: rows whose activations are held at a time; None holds all.
    """

    class_weights: Tensor | None

    def __init__(
        self,
        classifier: Classifier,
        objective: str,
        *,
        contrast: float | None = None,
        temperature: float = TEMPERATURE,
        weighting: Classifier | None = None,
        detach: bool = False,
        class_weights: NDArray[np.float32] | None = None,
        view: View | None = None,
        vocabulary: Vocabulary | None = None,
        head_rate: float = 1.0,
        clip: float = 1.0,
        chunk: int | None = None,
    ) -> None:
        super().__init__()
        self.objective = one_of("objective", objective, OBJECTIVES, of="classification")
        self.contrast = SHARES[objective] if contrast is None else contrast
        if self.contrast != 1.0:
            between("contrast", self.contrast, 0, 1, of="classification")
        self.temperature = above("temperature", temperature, 0, of="classification")
        self.head_rate = above("head_rate", head_rate, 0, of="classification")
        if (objective == "lcl") != (weighting is not None):
            raise TypeError("lcl, and it alone, has a weighting network.")
        if objective == "lcl" and classifier.several:
            raise MirrormaskError(
                "The objective lcl weights negatives by one class each, and these texts have several. Take sup-con or "
                "cross-entropy."
            )
        self.classifier, self.weighting = classifier, weighting
        self.detach, self.view, self.vocabulary = detach, view, vocabulary
        self.clip, self.chunk = clip, chunk
        weights = None if class_weights is None else torch.from_numpy(class_weights)
        self.register_buffer("class_weights", weights, persistent=False)
        if objective == "contrast":  # fitted when the encoder has learned
            classifier.head.requires_grad_(False)

    def parameter_groups(self) -> list[ParameterGroup]:
        """Return the head, which is new and may learn faster, and the weighting network, which is clipped apart."""
        groups = [ParameterGroup("head", list(self.classifier.head.parameters()), rate=self.head_rate)]
        if self.weighting is not None:
            inside, head = list(self.weighting.encoder.parameters()), list(self.weighting.head.parameters())
            groups.append(ParameterGroup("weighting network", inside, clip=self.clip))
            groups.append(ParameterGroup("head of the weighting network", head, rate=self.head_rate))
        return groups

    def forward(self, batch: Batch, seed: int = 0) -> Tensor:
        """Return the loss of the joint batch of all processes.

        Args:
            batch: this process's rows, with labels.
            seed: for choices that the view makes about text.
        """
        rows, labels = batch.columns[0], batch.labels
        if labels is None:
            raise TypeError("A classifier learns from batches with labels.")
        if self.view is not None:
            rows = rows + self._second(rows, seed)
            labels = torch.cat([labels, labels])
        vectors = gather_rows(self._encode(self.classifier.encoder, rows))
        labels = gather_rows(to_device(labels, vectors.device))
        other = None if self.weighting is None else gather_rows(self._encode(self.weighting.encoder, rows))
        with torch.autocast(vectors.device.type, enabled=False):
            return self._loss(vectors.float(), labels, other)

    def _loss(self, vectors: Tensor, labels: Tensor, other: Tensor | None) -> Tensor:
        share = self.contrast
        if self.weighting is not None and other is not None:
            logits = self.weighting.logits_of(other.float())
            pulled = label_aware(vectors, labels, logits, temperature=self.temperature, detach=self.detach)
            certain = self._cross_entropy(self.classifier.logits_of(vectors), labels)
            return (1 - share) * (certain + self._cross_entropy(logits, labels)) + share * pulled
        total = vectors.new_zeros(())
        if share > 0:
            total = total + share * sup_con(vectors, same_class(labels), temperature=self.temperature)
        if share < 1:
            total = total + (1 - share) * self._cross_entropy(self.classifier.logits_of(vectors), labels)
        return total

    def _cross_entropy(self, logits: Tensor, labels: Tensor) -> Tensor:
        if self.classifier.several:
            return F.binary_cross_entropy_with_logits(logits, labels.float(), pos_weight=self.class_weights)
        return F.cross_entropy(logits, labels, weight=self.class_weights)

    def _second(self, rows: Tokens, seed: int) -> Tokens:
        """Return the rows as the view has them, none longer than the encoder reads."""
        assert self.view is not None and self.vocabulary is not None
        found = self.view.rewrite(rows, np.random.default_rng(seed), self.vocabulary)
        limit, frame = self.classifier.encoder.max_seq_length or 512, self.vocabulary.frame
        ends = len(frame.suffix)
        return Tokens.of(
            [
                row if len(row) <= limit else np.concatenate([row[: limit - ends], row[len(row) - ends :]])
                for row in found.rows
            ]
        )

    def _encode(self, encoder: Any, rows: Tokens) -> Tensor:
        return encode(encoder, rows, pad_id=encoder.tokenizer.pad_token_id or 0, chunk=self.chunk)
