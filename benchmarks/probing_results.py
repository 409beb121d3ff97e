"""Measure the probing results and write their page; every run is kept, so that a stopped run goes on.

    MIRRORMASK_DATA=data python benchmarks/probing_results.py --runs runs/probing --model mini --zh-model mini-zh

Nothing on the page is written by hand. `--small` reads a few sentences of each set, to see that all works.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from probing_runs import ALL, Sizes, run_all, write_page

SMALL = Sizes(dev=12, sentences=12, documents=3, lines=12, judgements=60, treebank=60, seeds=2)
TASKS = ("dependency", "constituency", "discourse", "segmentation", "aspect")
PAGE = Path(__file__).parents[1] / "docs" / "results" / "probing.md"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, required=True, help="folder of the measured runs")
    parser.add_argument("--model", default="mini")
    parser.add_argument("--zh-model", help="a Chinese masked LM; without it segmentation is left out")
    parser.add_argument("--examples", type=Path, help="a file of Chinese lines to show segmented")
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--precision", default="auto", choices=("auto", "fp32", "bf16", "fp16"))
    parser.add_argument("--device")
    parser.add_argument("--small", action="store_true")
    asked = parser.parse_args()
    examples = asked.examples.read_text(encoding="utf-8").split() if asked.examples else []
    runs = run_all(
        asked.runs,
        model=asked.model,
        zh_model=asked.zh_model,
        sizes=SMALL if asked.small else ALL,
        examples=examples,
        tasks=asked.tasks,
        precision=asked.precision,
        device=asked.device,
        say=lambda text: print(text, flush=True),
    )
    write_page(runs, asked.page, model=asked.model)
    print(f"wrote {asked.page}")


if __name__ == "__main__":
    main()
