"""Build, load and save the sentence encoder: a real `SentenceTransformer`, whatever it started from."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel

from mirrormask.core.errors import ModelError
from mirrormask.core.storage import atomic_folder, read_json, write_json
from mirrormask.models import lora as adapters
from mirrormask.models.embeddings import base_model, embedding_module
from mirrormask.models.exported import STATIC_MODULES, ExportedGraph, StaticVectors, is_exported
from mirrormask.models.glow import Flow
from mirrormask.models.lm_head import copy_head, save_head
from mirrormask.models.loading import check_numbers, check_tokenizer, opening, quiet_loading
from mirrormask.models.mask_prompt import TEMPLATE, MaskPooling, PromptedTransformer
from mirrormask.models.model_files import FACTS, MODULES
from mirrormask.models.names import DEFAULT_MODEL, resolve
from mirrormask.models.padded_mean import PaddedMean, PaddedTransformer
from mirrormask.models.pooling import PoolingModules, describe, poolings
from mirrormask.models.soft_template import SoftPromptedTransformer

_OURS = (
    *(PromptedTransformer, SoftPromptedTransformer, MaskPooling, PaddedTransformer, PaddedMean, Flow),
    *(ExportedGraph, StaticVectors),
)
OUR_MODULES = {f"{c.__module__}.{c.__name__}": c for c in _OURS} | dict.fromkeys(STATIC_MODULES, StaticVectors)
TRANSFORMERS = {
    "mask-prompt": PromptedTransformer,
    "soft-prompt": SoftPromptedTransformer,
    "mean-padded": PaddedTransformer,
}


def load(name: str | Path = DEFAULT_MODEL, *, device: str | None = None) -> SentenceTransformer:
    """Load a sentence encoder, or a masked LM or plain encoder with mean pooling, by name or folder.

    A model saved by mirrormask knows its own pooling. Weights are float32, whatever they are stored as. One that was
    exported is run by what it was exported to.

    Args:
        name: a shipped model, a folder, a name under MIRRORMASK_MODELS, or a hub name.
        device: where to put it; by default the best device there is.
    """
    folder = resolve(name)
    with opening(name, folder, exported=True):
        encoder = _open(folder, None, TEMPLATE, device)
        _try(encoder, folder)
    encoder.mirrormask_source = folder
    return encoder


def build_encoder(
    name: str | Path = DEFAULT_MODEL,
    *,
    pooling: str | None = None,
    template: str = TEMPLATE,
    lora: int = 0,
    freeze_embeddings: bool = False,
    device: str | None = None,
) -> SentenceTransformer:
    """Build a sentence encoder from a masked LM, a plain encoder or an existing sentence encoder.

    Args:
        name: the model to start from, as for `load`.
        pooling: a pooling by name; by default what the model was saved with, or `mean`.
        template: the prompt of the poolings `mask-prompt` and `soft-prompt`.
        lora: rank of the adapters to train instead of all weights; 0 trains all.
        freeze_embeddings: leave the embeddings as they are in training, so that several encoders can share them.
        device: where to put it; by default the best device there is.
    """
    folder = resolve(name)
    if pooling is not None:
        poolings[pooling]  # an unknown name is cheaper to report before the weights are read
    with opening(name, folder):
        encoder = _open(folder, pooling, template, device)
        _try(encoder, folder)
    encoder.mirrormask_source = folder
    if freeze_embeddings:
        embedding_module(encoder).requires_grad_(False)
    if lora:
        adapters.add(encoder, rank=lora)
    return encoder


def pooling_of(encoder: SentenceTransformer) -> str:
    """Return the name of the encoder's pooling."""
    return describe(list(encoder))


def training_head(encoder: SentenceTransformer, pooling: str) -> nn.Module | None:
    """Return a fresh head that `pooling` puts on top in training only, or None."""
    if pooling not in poolings.names():  # an encoder from elsewhere may have another
        return None
    return poolings.build(pooling, transformer=encoder[0]).training_only


def save_encoder(
    encoder: SentenceTransformer,
    folder: Path | str,
    *,
    facts: dict[str, Any] | None = None,
    lm_head: dict[str, Tensor] | None = None,
    add: Callable[[Path], None] | None = None,
) -> None:
    """Save an encoder whole or not at all, with its LM head beside it where its source had one.

    Args:
        encoder: what to save; LoRA adapters are merged into the weights.
        folder: replaced as a whole once everything is written.
        facts: how the model was made, for `info` and the model card.
        lm_head: the weights of an LM head that was trained beside it; by default its source's is kept.
        add: writes more files into the folder before it takes its place.
    """
    adapters.merge(encoder)
    pooling = pooling_of(encoder)
    with atomic_folder(folder) as out, quiet_loading():
        encoder.save(str(out), create_model_card=False)
        config = out / "sentence_bert_config.json"
        if config.is_file() and _has_optional_pooler(type(encoder[0].model)):
            # plain SentenceTransformer(path) would add BERT's pooler with random weights
            write_json(config, {**read_json(config), "model_kwargs": {"add_pooling_layer": False}})
        source = getattr(encoder, "mirrormask_source", None)
        if lm_head is not None:
            save_head(lm_head, out)
        has_head = lm_head is not None or (bool(source) and copy_head(str(source), out))
        known = {"pooling": pooling, "lm_head": has_head, **(facts or {})}
        if transform := getattr(encoder, "mirrormask_transform", ""):
            known["transform"] = transform
        write_json(out / FACTS, known)
        (out / "README.md").write_text(_card(known), encoding="utf-8")
        if add is not None:
            add(out)


def facts_of(folder: Path | str) -> dict[str, Any]:
    """Return what `save_encoder` recorded, or nothing for a model from elsewhere."""
    path = Path(folder) / FACTS
    return dict(read_json(path)) if path.is_file() else {}


def _open(folder: str, pooling: str | None, template: str, device: str | None) -> SentenceTransformer:
    options = model_options(folder)
    if is_sentence_encoder(folder):
        encoder = SentenceTransformer._load_with_module_classes(
            folder, OUR_MODULES, device=device, model_kwargs=options
        )
        if pooling is not None and is_exported(encoder):
            raise ModelError(f"{folder} is a table of word vectors, which has no pooling. Name another model.")
        if pooling is None or pooling == describe(list(encoder)):
            encoder.mirrormask_transform = facts_of(folder).get("transform", "")
            return encoder
    else:
        pooling = pooling or "mean"
    kind: Any = TRANSFORMERS.get(str(pooling), Transformer)
    extra = {"template": template} if pooling in ("mask-prompt", "soft-prompt") else {}
    transformer = kind(folder, model_kwargs=options, **extra)
    built: PoolingModules = poolings.build(str(pooling), transformer=transformer)
    return SentenceTransformer(modules=[transformer, *built.kept], device=device)


def _try(encoder: SentenceTransformer, folder: str) -> None:
    """Encode a word, so that what does not fit together is said now and not in the middle of the work."""
    check_tokenizer(encoder.tokenizer, folder, None if is_exported(encoder) else base_model(encoder))
    check_numbers(encoder, folder)
    found, expected = encoder.encode(["a"], show_progress_bar=False).shape, (1, encoder.get_embedding_dimension())
    if found != expected:
        raise ModelError(
            f"{folder} says that its vectors have {expected[1]} numbers, and they have {found[1]}: its modules do not "
            "fit together. Copy it again, or name another model."
        )


def model_options(folder: str) -> dict[str, Any]:
    """Return how to load a model: float32, and no pooler that nothing would train."""
    options: dict[str, Any] = {"dtype": "float32"}
    if not _has_file(folder, "config.json"):  # a table of token vectors, or a graph
        return options
    config = AutoConfig.from_pretrained(folder)
    if type(config) in AutoModel._model_mapping and _has_optional_pooler(AutoModel._model_mapping[type(config)]):
        options["add_pooling_layer"] = False
    return options


def _has_optional_pooler(model_class: Any) -> bool:
    return "add_pooling_layer" in inspect.signature(model_class.__init__).parameters


def is_sentence_encoder(name: str | Path) -> bool:
    """Say whether a name leads to a sentence encoder, and not to a masked LM or a plain encoder."""
    return _has_file(resolve(name), MODULES)


def _has_file(folder: str, file: str) -> bool:
    if Path(folder).is_dir():
        return (Path(folder) / file).is_file()
    from transformers.utils.hub import cached_file

    return (
        cached_file(
            folder,
            file,
            _raise_exceptions_for_missing_entries=False,
            _raise_exceptions_for_connection_errors=False,
        )
        is not None
    )


def _card(facts: dict[str, Any]) -> str:
    lines = ["---", "library_name: sentence-transformers", "pipeline_tag: sentence-similarity", "---", ""]
    lines += ["# A sentence encoder trained with mirrormask", ""]
    lines += ["```python", "import mirrormask", "", 'encoder = mirrormask.load("path/to/this/folder")', "```", ""]
    lines += ["| what | value |", "|---|---|"]
    lines += [f"| {key} | {value} |" for key, value in facts.items() if not isinstance(value, (dict, list))]
    return "\n".join(lines) + "\n"
