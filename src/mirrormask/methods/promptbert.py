"""PromptBERT: a sentence in two templates, each without what it says alone.

Paper: Jiang et al. 2022, "PromptBERT: Improving BERT Sentence Embeddings with Prompts", Eq. 6

    loss_i = -log( exp(cos(a_i, p_i) / t) / sum_j exp(cos(a_i, p_j) / t) ),  a = h_1(x) - h_1(),  p = h_2(x) - h_2()

with h_k(x) the state of the mask in template k, under a Linear and Tanh that exist in training only. The vector that is
saved is h_1(x) as it is, as the published evaluation reads it. The first template is the encoder's own
(`model.template`).
"""

from __future__ import annotations

from typing import Any

from mirrormask.methods import methods
from mirrormask.models.training_heads import mlp
from mirrormask.objectives.info_nce import InfoNCE
from mirrormask.training.composed import Composition
from mirrormask.views.other_template import OtherTemplate

# the published script of BERT-base
_TRAINING: dict[str, Any] = {
    "batch_size": 256,
    "learning_rate": 1e-5,
    "epochs": 1.0,
    "max_length": 32,
    "schedule": "linear",
}


@methods.register("promptbert")
def promptbert(
    temperature: float = 0.05, template: str = 'This sentence of "{text}" means [MASK].', denoise: bool = True
) -> Composition:
    """Learn from two templates around a sentence, without labels.

    Args:
        temperature: of the contrastive loss.
        template: of the positive; it ends as the encoder's own after [MASK].
        denoise: take away what a template says alone.
    """
    return Composition(
        views=(OtherTemplate("", denoise), OtherTemplate(template, denoise)),
        objective=InfoNCE(temperature=temperature),
        pooling="mask-prompt",
        head=mlp,
        training=_TRAINING,
    )


@methods.register("promptbert-continuous")
def promptbert_continuous(
    temperature: float = 0.05, template: str = 'This sentence of "{text}" means [MASK].', denoise: bool = True
) -> Composition:
    """Learn the words of the first template too, as embeddings that begin as a hand-written template's.

    Args:
        temperature: of the contrastive loss.
        template: of the positive, which stays as it is written.
        denoise: take away what a template says alone.
    """
    return Composition(
        views=(OtherTemplate("", denoise), OtherTemplate(template, denoise)),
        objective=InfoNCE(temperature=temperature),
        pooling="soft-prompt",
        head=mlp,
        training=_TRAINING,
    )
