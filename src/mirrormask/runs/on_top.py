"""What a run puts on its encoder and keeps: a flow that is trained with it, or a transform that is fitted after it."""

from __future__ import annotations

from typing import Any

import torch

from mirrormask.core.registry import configuration
from mirrormask.data.batching import Batches
from mirrormask.data.text.corpus import Corpus
from mirrormask.isotropy import transforms
from mirrormask.isotropy.fitting_on_text import fit_on_texts
from mirrormask.models.bulk import encode_tokens
from mirrormask.models.glow import Flow, FlowShape
from mirrormask.models.transform import put_on
from mirrormask.runs.recipe import PartSpec

START = 512
"""Texts whose vectors a flow starts from."""


def put_flow(encoder: Any, shape: FlowShape, batches: Batches, *, frozen: bool) -> None:
    """Put a fresh flow on the encoder that starts from the vectors of the first batches.

    Args:
        encoder: what is trained.
        shape: of the flow.
        batches: of the run.
        frozen: whether the encoder stays as it is.
    """
    flow = Flow.of(encoder.get_embedding_dimension(), shape)
    first = [batches.at(number).columns[0] for number in range(min(len(batches), -(-START // batches.batch_size)))]
    flow.initialize(torch.from_numpy(encode_tokens(encoder, sum(first[1:], first[0]), precision="fp32")))
    if frozen:
        encoder.requires_grad_(False)
    put_on(encoder, flow, "flow")


def fit_on_corpus(encoder: Any, spec: PartSpec, corpus: Corpus) -> dict[str, Any] | None:
    """Fit the transform of a recipe on the run's text, keep it with the encoder, and return what it is.

    Args:
        encoder: as training left it.
        spec: the transform; without a name nothing is done.
        corpus: the text, all of its columns.
    """
    if not spec.name:
        return None
    transform = transforms.build(spec.name, **spec.parameters)
    rows = (corpus[number] for number in range(len(corpus)))
    fit_on_texts(encoder, (text for row in rows for text in ([row] if isinstance(row, str) else row)), transform)
    return configuration(transform)
