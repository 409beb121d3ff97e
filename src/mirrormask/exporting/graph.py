"""An encoder as one graph: token ids and their mask in, sentence vectors out, pooling and all that follows inside.

The graph is written by `torch.onnx.export`; onnxruntime makes the int8 weights and OpenVINO reads the same graph.
"""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.sentence_transformer.modules import LayerNorm, Pooling, WeightedLayerPooling, WordWeights
from tokenizers import normalizers
from torch import Tensor, nn

from mirrormask.core.encoding import plain_copy
from mirrormask.core.errors import MirrormaskError, MissingExtra, ModelError
from mirrormask.models.bulk import around_texts
from mirrormask.models.exported import is_exported
from mirrormask.models.glow import Flow
from mirrormask.models.mask_prompt import MaskPooling, PromptedTransformer
from mirrormask.models.padded_mean import MEASURED, PaddedMean, PaddedTransformer
from mirrormask.models.runtimes import GRAPHS, ExportPlan
from mirrormask.models.soft_template import SoftPromptedTransformer

FIRST = (Transformer, PromptedTransformer, SoftPromptedTransformer, PaddedTransformer)
AFTER = (Pooling, WeightedLayerPooling, WordWeights, Dense, LayerNorm, Normalize, MaskPooling, PaddedMean)
"""The modules that a graph can hold."""

_OPSET = 17
_TRACED = (2, 80)  # rows and tokens of the batch that is traced; the graph takes any


class _Whole(nn.Module):
    """An encoder from ids and mask to vectors, scaled to length 1 where that is asked for."""

    def __init__(self, encoder: Any, normalize: bool) -> None:
        super().__init__()
        self.encoder, self.normalize = encoder, normalize

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        vectors: Tensor = self.encoder({"input_ids": input_ids, "attention_mask": attention_mask})["sentence_embedding"]
        return nn.functional.normalize(vectors, dim=1) if self.normalize else vectors


def check_exportable(encoder: Any, name: str) -> None:
    """Refuse an encoder that a graph cannot hold.

    Args:
        encoder: a SentenceTransformer.
        name: what to call it.

    Raises:
        ModelError: it has a flow, another module that is unknown here, or no fast tokenizer.
    """
    if is_exported(encoder):
        raise ModelError(f"{name} was exported already. Name the encoder that it was made of.")
    if any(isinstance(module, Flow) for module in encoder):
        raise ModelError(
            f"{name} has a flow after its pooling, which no export can hold. Whiten the encoder instead "
            "(mirrormask whiten), which is a matrix, and export that."
        )
    unknown = [type(module).__name__ for module in list(encoder)[1:] if not isinstance(module, AFTER)]
    if type(encoder[0]) not in FIRST or unknown:
        kinds = unknown or [type(encoder[0]).__name__]
        raise ModelError(f"{name} has a module that no export can hold ({', '.join(kinds)}). Name another encoder.")
    if not all(getattr(module, "include_prompt", True) for module in encoder):
        raise ModelError(f"{name} leaves its prompts out of the pooling, which no graph does. Name another encoder.")
    if plain_copy(encoder.tokenizer) is None:
        raise ModelError(f"{name} has no fast tokenizer (tokenizer.json), which an export needs. Name another encoder.")


def plan_of(encoder: Any, *, backend: str, precision: str, source: str) -> ExportPlan:
    """Return how an exported copy of an encoder is run."""
    first = encoder[0]
    frame = around_texts(encoder)
    widest = int(getattr(first.model.config, "max_position_embeddings", MEASURED))
    return ExportPlan(
        backend=backend,
        precision=precision,
        source=source,
        dimension=int(encoder.get_embedding_dimension()),
        max_length=int(encoder.max_seq_length or 512),
        prefix=tuple(frame.prefix.tolist()),
        suffix=tuple(frame.suffix.tolist()),
        pad_id=int(encoder.tokenizer.pad_token_id or 0),
        least_width=min(MEASURED, widest) if isinstance(first, PaddedTransformer) else 0,
    )


def save_tokenizer(encoder: Any, folder: Path) -> None:
    """Write the tokenizer so that `tokenizer.json` alone gives the ids of a text, without cuts and padding."""
    encoder.tokenizer.save_pretrained(str(folder))
    own = plain_copy(encoder.tokenizer)
    if getattr(encoder[0], "do_lower_case", False):
        before = [own.normalizer] if own.normalizer is not None else []  # type: ignore[union-attr]
        own.normalizer = normalizers.Sequence([normalizers.Lowercase(), *before])  # type: ignore[union-attr]
    own.save(str(folder / "tokenizer.json"))  # type: ignore[union-attr]


def write_graph(encoder: Any, plan: ExportPlan, folder: Path, *, normalize: bool) -> None:
    """Write the graph of an encoder into a folder, for the backend and precision that its plan says.

    Args:
        encoder: a SentenceTransformer that `check_exportable` let pass.
        plan: how it will be run.
        folder: where the file goes.
        normalize: scale vectors to length 1 inside the graph.

    Raises:
        MissingExtra: a package that writes it is not installed.
        ModelError: torch cannot write this architecture as a graph.
    """
    need(plan)
    graph = folder / GRAPHS["onnx"]
    _trace(encoder, plan, graph, normalize)
    if plan.precision == "int8":
        from onnxruntime.quantization import QuantType, quantize_dynamic

        whole = graph.rename(folder / "whole.onnx")
        with _quietly():
            quantize_dynamic(whole, graph, weight_type=QuantType.QInt8, per_channel=True)
        whole.unlink()
    if plan.backend == "openvino":
        import openvino

        openvino.save_model(openvino.convert_model(graph), folder / GRAPHS["openvino"], compress_to_fp16=False)
        graph.unlink()


def need(plan: ExportPlan) -> None:
    """Refuse where a package that writes or runs such an export is not installed."""
    extra = plan.backend
    names = ["onnx", "onnxruntime"] if extra == "onnx" else ["onnx", "openvino"]
    for package in names:
        try:
            __import__(package)
        except ImportError:
            raise MissingExtra(package, extra, f"Exporting to {extra}") from None


def _trace(encoder: Any, plan: ExportPlan, file: Path, normalize: bool) -> None:
    rows, width = _TRACED[0], min(_TRACED[1], plan.max_length)
    ids = torch.full((rows, width), plan.pad_id)
    mask = torch.zeros_like(ids)
    framed = torch.tensor([*plan.prefix, *plan.suffix])
    for row, length in enumerate((width, max(len(framed), width // 2))):
        ids[row, : len(framed)] = framed
        mask[row, :length] = 1
    axes = {"input_ids": {0: "rows", 1: "tokens"}, "attention_mask": {0: "rows", 1: "tokens"}}
    was = encoder.training
    try:
        with torch.inference_mode(), _quietly():
            torch.onnx.export(
                _Whole(encoder.eval(), normalize).eval(),
                (ids.to(encoder.device), mask.to(encoder.device)),
                str(file),
                dynamo=False,
                opset_version=_OPSET,
                input_names=list(axes),
                output_names=["sentence_embedding"],
                dynamic_axes={**axes, "sentence_embedding": {0: "rows"}},
            )
    except (MirrormaskError, OSError, MemoryError):
        raise
    except Exception as error:  # each architecture fails in a way of its own
        kind = type(encoder[0].model).__name__
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        raise ModelError(
            f"torch cannot write a {kind} as a graph ({reason}). Export it to static, or name another encoder."
        ) from error
    finally:
        encoder.train(was)


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Keep what the tracer and the quantizer say about themselves from the user."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
