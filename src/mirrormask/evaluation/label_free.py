"""A score without labels: does the encoder still agree with what two simple teachers see in held-out text?

Contrastive training first makes vectors isotropic, which helps everywhere, and later trades meaning for whatever its
pairs reward. Two teachers taken from the model before training notice the second part: weighted static embeddings
(Arora et al. 2017, "A simple but tough-to-beat baseline for sentence embeddings"), which know words, and half-whitened
mean states (Su et al. 2021, "Whitening sentence representations"), which know context. The score is how well the
encoder's similarities of held-out texts rank with the teachers', averaged over the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mirrormask.core.batch import Tokens
from mirrormask.core.seeding import generator
from mirrormask.core.shards import length_shards
from mirrormask.core.similarity import unit_rows
from mirrormask.evaluation.scores import spearman
from mirrormask.models.bulk import encode_tokens, token_budget, tokenize
from mirrormask.training.loop import Score

NAME = "agreement with label-free teachers"
EXPLANATION = (
    "No dev set was given: checkpoints are chosen without labels, by how well similarities of held-out texts agree "
    "with two simple teachers."
)

LONGEST = 64
"""Tokens of a held-out text that are looked at."""

NEIGHBORS, RANDOM = 6, 3
"""Pairs per text: nearest by each teacher, and at random."""

Vectors = NDArray[np.float64]


class LabelFreeScore:
    """Scores the encoder as it is now; the teachers are fixed when this is made, before training.

    Args:
        encoder: the SentenceTransformer that will be trained.
        texts: texts that training does not see.
        seed: of the random pairs.
    """

    def __init__(self, encoder: Any, texts: Sequence[str], seed: int = 0) -> None:
        self.encoder = encoder
        self.tokens = tokenize(encoder, list(dict.fromkeys(texts)), max_length=LONGEST)
        teachers = [_half_whitened(_mean_states(encoder, self.tokens)), _static(encoder, self.tokens)]
        similarities = [teacher @ teacher.T for teacher in teachers]
        self.left, self.right = _pairs(similarities, generator(seed, "pairs"))
        self.gold = [similarity[self.left, self.right] for similarity in similarities]

    def __call__(self) -> Score:
        """Return 100 times the mean rank correlation with the teachers."""
        vectors = unit_rows(encode_tokens(self.encoder, self.tokens))
        cosines = np.einsum("nd,nd->n", vectors[self.left], vectors[self.right])
        context, words = (spearman(cosines, gold) for gold in self.gold)
        return Score((context + words) / 2, {"agreement_context": context, "agreement_words": words})


def _half_whitened(states: Vectors, width: int = 256) -> Vectors:
    """Center, rotate to the principal axes, and scale each by the fourth root of its variance instead of the square root."""
    centered = states - states.mean(axis=0)
    _, singular, axes = np.linalg.svd(centered, full_matrices=False)
    keep = min(width, int((singular > 1e-6 * singular[0]).sum()))
    return unit_rows(centered @ axes[:keep].T / np.sqrt(singular[:keep]))


def _static(encoder: Any, tokens: Tokens) -> Vectors:
    """Average input embeddings weighted by rarity, then remove the direction they all share."""
    table = _embedding_table(encoder)
    seen = np.zeros(len(table))
    for row in tokens.rows:
        seen[np.unique(row)] += 1
    rarity = np.maximum(np.log((len(tokens) + 1) / (seen + 1)) - 3.0, 0.0)  # tokens of more than 1 text in 20 say little
    sums = np.stack([rarity[row] @ table[row] for row in tokens.rows])
    centered = sums - sums.mean(axis=0)
    shared = np.linalg.svd(centered, full_matrices=False)[2][:1]
    return unit_rows(centered - centered @ shared.T @ shared)


def _embedding_table(encoder: Any) -> Vectors:
    weight = encoder[0].model.get_input_embeddings().weight
    table: Vectors = weight.detach().float().cpu().numpy().astype(np.float64)
    return table


def _mean_states(encoder: Any, tokens: Tokens) -> Vectors:
    """Return the mean of the last layer's states of each row, whatever the encoder's own pooling is."""
    device = encoder.device
    out: Vectors | None = None
    was_training = encoder.training
    encoder.eval()
    with torch.inference_mode():
        for shard in length_shards(tokens.lengths, token_budget(device), tolerance=0.15):
            ids, mask = (t.to(device) for t in tokens.padded(encoder.tokenizer.pad_token_id or 0, shard))
            states = encoder[0]({"input_ids": ids, "attention_mask": mask})["token_embeddings"]
            mean = (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
            if out is None:
                out = np.empty((len(tokens), mean.shape[-1]))
            out[shard] = mean.float().cpu().numpy()
    encoder.train(was_training)
    return np.empty((0, 0)) if out is None else out


def _pairs(similarities: Sequence[Vectors], chance: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return different pairs of texts: neighbors by each teacher, where differences matter, and random ones."""
    n = len(similarities[0])
    near = min(NEIGHBORS, n - 1)
    chosen = []
    for similarity in similarities:
        masked = similarity - 10 * np.eye(n)
        chosen.append(np.stack([np.repeat(np.arange(n), near), np.argsort(-masked, axis=1)[:, :near].ravel()]))
    chosen.append(chance.integers(0, n, (2, RANDOM * n)))
    both = np.sort(np.concatenate(chosen, axis=1), axis=0)
    unique = np.unique(both[:, both[0] != both[1]], axis=1).astype(np.int64)
    return unique[0], unique[1]
