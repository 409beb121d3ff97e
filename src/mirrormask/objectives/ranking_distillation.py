"""Ranking distillation: a sentence ranks the others as a teacher does.

Paper: Liu et al. 2023, "RankCSE: Unsupervised Sentence Representations Learning via Learning to Rank", Section 4.3;
    Cao et al. 2007, "Learning to Rank: From Pairwise Approach to Listwise Approach" (ListNet); Xia et al. 2008,
    "Listwise Approach to Learning to Rank: Theory and Algorithm" (ListMLE)

    S_i = (cos(a_i, p_j))_j of the encoder in training, T_i = (cos(t_i, t_j))_j of the teacher's vectors
    ListNet: mean_i -sum_j softmax(T_i / t3)_j log softmax(S_i / t2)_j,  t3 = t2 / 2
    ListMLE: mean_i -sum_j log( exp(S_i,j / t2) / sum_k>=j exp(S_i,k / t2) ),  j and k in the teacher's order

The paper's teachers are trained encoders. Without one the start teaches itself.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from mirrormask.core.batch import Step, Tokens
from mirrormask.core.errors import MirrormaskError, ModelError, above
from mirrormask.core.similarity import cosine
from mirrormask.models.bulk import encode_tokens
from mirrormask.models.copies import copy_of
from mirrormask.models.encoder import load
from mirrormask.objectives import Objective, objectives


def list_net(scores: Tensor, taught: Tensor, *, temperature: float) -> Tensor:
    """Return the mean cross-entropy of being the first (n, m), the teacher's distribution twice as sharp."""
    share = F.softmax(2 * taught / temperature, dim=1)
    return -(share * F.log_softmax(scores / temperature, dim=1)).sum(dim=1).mean()


def list_mle(scores: Tensor, taught: Tensor, *, temperature: float) -> Tensor:
    """Return the mean negative log-likelihood of the teacher's order (n, m)."""
    ordered = scores.gather(1, taught.argsort(dim=1, descending=True, stable=True)) / temperature
    rest = ordered.flip(1).logcumsumexp(dim=1).flip(1)  # over what is not ranked yet
    return (rest - ordered).sum(dim=1).mean()


@objectives.register("ranking-distillation")
class RankingDistillation(Objective):
    """Rank the sentences of a batch as a teacher does.

    Args:
        teacher: a sentence encoder with the same tokens; empty is the start itself.
        list_net: learn the teacher's distribution; without it, its order (ListMLE, the paper's better one).
        temperature: of the encoder's scores (tau_2).

    Relations: `start-and-words` learns the ranking of the start and the words together.

    Example:
        >>> RankingDistillation().needs_target
        True
    """

    in_batch = True
    needs_target = True

    def __init__(self, teacher: str = "", list_net: bool = False, temperature: float = 0.05) -> None:
        super().__init__()
        self.teacher = teacher
        self.list_net = list_net
        self.temperature = above("temperature", temperature, 0, of="ranking-distillation")
        self._teacher: tuple[Any, ...] = ()  # in a tuple, so that it is neither trained nor saved

    def attach(self, encoder: Any) -> None:
        """Open the teacher, or copy the encoder as it is before training."""
        if not self.teacher:
            self._teacher = (copy_of(encoder).eval(),)
            return
        teacher = load(self.teacher, device=str(next(encoder.parameters()).device)).eval()
        if teacher.tokenizer.get_vocab() != encoder.tokenizer.get_vocab():
            raise ModelError(
                f"The teacher {self.teacher} has other tokens than the model in training. Take one that was made from "
                "the same masked language model."
            )
        self._teacher = (teacher,)

    def target(self, rows: Tokens) -> Tensor:
        """Return the teacher's vector of each row (n, d)."""
        if not self._teacher:
            raise MirrormaskError("The objective ranking-distillation must be attached to an encoder before training.")
        teacher = self._teacher[0]
        return torch.from_numpy(encode_tokens(teacher, rows)).to(next(teacher.parameters()).device)

    def forward(self, step: Step) -> Tensor:
        """Return the loss of one step; hard and extra negatives have no part in it."""
        if not step.targets:
            raise MirrormaskError("The objective ranking-distillation needs the teacher's vectors of the sentences.")
        one, other = (each.to(step.anchor.dtype) for each in (step.targets * 2)[:2])  # one column is seen twice
        taught = cosine(one, other)
        loss = list_net if self.list_net else list_mle
        return loss(cosine(step.anchor, step.positive), taught, temperature=self.temperature)
