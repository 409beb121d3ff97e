"""The weights between two models of one shape, 0 for the first and 1 for the second.

python recipes/mini-sentence/mix.py runs/mini-sentence-search/model runs/mini-sentence-statistics/model 0.2 mixed

Two more folders add what a training changed: the way from the first of them to the second.

python recipes/mini-sentence/mix.py mini-1/model mini-2/model 0.5 mixed mini-2/model mini-3/model
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from safetensors.torch import load_file, save_file


def main() -> None:
    one, two, share, out = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4])
    shutil.copytree(one, out)
    ours, theirs = load_file(one / "model.safetensors"), load_file(two / "model.safetensors")
    mixed = {name: (1 - share) * ours[name].float() + share * theirs[name].float() for name in ours}
    if len(sys.argv) > 5:
        before, after = (load_file(Path(folder) / "model.safetensors") for folder in sys.argv[5:7])
        mixed = {name: weight + after[name].float() - before[name].float() for name, weight in mixed.items()}
    kept = {name: weight.to(ours[name].dtype).contiguous() for name, weight in mixed.items()}
    save_file(kept, out / "model.safetensors", metadata={"format": "pt"})


if __name__ == "__main__":
    main()
