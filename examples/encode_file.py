"""Encode a file of texts to vectors without holding either in memory, then find each text's nearest neighbor.

python examples/encode_file.py --model mini --source my.txt --out my.npy
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

from mirrormask.runs.encode import encode_file

LINES = """\
The bakery sells rye bread.
Rye bread is sold at the bakery.
A ferry crosses the bay every hour.
Every hour there is a boat across the bay.
The exam was easier than last year.
"""


def main() -> None:
    """Encode, read back memory-mapped, search."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="mini", help="name or folder")
    parser.add_argument("--source", type=Path, help="a .txt .csv .tsv .jsonl or .parquet file, also compressed")
    parser.add_argument("--column", help="the column to read, where the file has several")
    parser.add_argument("--out", type=Path, help="where the vectors go, .npy (default: a temporary file)")
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        source = arguments.source or Path(folder) / "lines.txt"
        if arguments.source is None:
            source.write_text(LINES, encoding="utf-8")
        out = arguments.out or Path(folder) / "vectors.npy"
        done = encode_file(str(source), out, model=arguments.model, column=arguments.column, normalize=True)
        print(f"{done['rows']:,} vectors of {done['dimension']} numbers")

        vectors = np.load(out, mmap_mode="r")
        first = np.asarray(vectors[:5])
        cosines = first @ np.asarray(vectors[:1000]).T  # vectors have length 1
        cosines[np.arange(len(first)), np.arange(len(first))] = -1.0
        for row, near in enumerate(cosines.argmax(axis=1).tolist()):
            print(f"row {row}: nearest is row {near} ({cosines[row, near]:.3f})")


if __name__ == "__main__":
    main()
