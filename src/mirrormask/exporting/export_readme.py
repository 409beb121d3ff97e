"""The README of an export: what it is, how it is run without torch, and how near it is to the original."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mirrormask.exporting.checking import Check
from mirrormask.models.model_files import EXPORT
from mirrormask.models.runtimes import STATIC, ExportPlan

_NEEDS = {
    "onnx": "onnxruntime tokenizers numpy",
    "openvino": "openvino tokenizers numpy",
    STATIC: "tokenizers safetensors numpy",
}

_TEXT = """---
library_name: {library}
pipeline_tag: sentence-similarity
---

# {name}, exported to {backend} ({precision})

Sentence vectors of {dimension} numbers, without torch: `pip install {needs}`, then in this folder

```python
from loader import encode

vectors = encode(["A cat sat on the mat.", "A dog lay down."])
```

{opens} How texts become rows of tokens stands in `{export}`.{prompts}

Compared with the original on {texts:,} texts:

| what | value |
|---|---:|
{figures}
"""


def readme(plan: ExportPlan, check: Check, prompts: Mapping[str, str]) -> str:
    """Return the README of an export.

    Args:
        plan: how it is run.
        check: what was found when it was compared with the original.
        prompts: that the model wants before its texts, by their names.
    """
    figures: dict[str, float | None] = {"lowest cosine": check.lowest_cosine, "mean cosine": check.mean_cosine}
    figures["correlation of the cosines of pairs"] = check.agreement
    if check.sts is not None:
        figures |= {"STS-B dev, original": check.sts[0], "STS-B dev, export": check.sts[1]}
    told = ", ".join(f"{name} `{text}`" for name, text in prompts.items() if text)
    return _TEXT.format(
        library="sentence-transformers" if plan.backend == STATIC else plan.backend,
        name=Path(plan.source).name,
        backend=plan.backend,
        precision=plan.precision,
        dimension=plan.dimension,
        needs=_NEEDS[plan.backend],
        opens="It opens as `SentenceTransformer(folder)` and as `mirrormask.load(folder)`."
        if plan.backend == STATIC
        else "It opens as `mirrormask.load(folder)`.",
        export=EXPORT,
        prompts=f"\n\nIt wants a prompt before its texts: {told}." if told else "",
        texts=check.texts,
        figures="\n".join(f"| {name} | {value} |" for name, value in figures.items() if value is not None),
    )
