"""The weights between two models of one shape, 0 for the first and 1 for the second.

python recipes/mini-sentence/mix.py runs/mini-sentence-search/model runs/mini-sentence-statistics/model 0.2 mixed
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
    kept = {name: weight.to(ours[name].dtype).contiguous() for name, weight in mixed.items()}
    save_file(kept, out / "model.safetensors", metadata={"format": "pt"})


if __name__ == "__main__":
    main()
