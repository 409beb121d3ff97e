"""Whitening many vectors against the bare matrix product of their covariance, and how many batches it holds at once.

    python benchmarks/whitening.py                    # a million vectors of 768 numbers

Both sides see the same batches, one after the other, in one process on the same cores: for each batch first `x.T @ x`
by BLAS, then what `Whitening` does with it. Times are CPU time, which other programs on the machine change little.
Memory is what the process takes at most beyond what it had before, in batches; the batch itself is one of them.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Iterator

import numpy as np
import torch

from mirrormask.isotropy.whitening import Whitening


class Batches:
    """The same vectors again and again, each time turned a little, and the time that is not whitening's.

    Args:
        rows: vectors in all.
        width: of a vector.
        size: of a batch.
    """

    def __init__(self, rows: int, width: int, size: int) -> None:
        rng = np.random.default_rng(0)
        self.count = -(-rows // size)
        spread = np.arange(1, width + 1, dtype=np.float32) ** -0.5
        self.batch = (rng.standard_normal((size, width), dtype=np.float32) + 2) * spread
        self.product = self.batch.T @ self.batch
        self.bare = self.outside = 0.0

    def __iter__(self) -> Iterator[torch.Tensor]:
        for _ in range(self.count):
            begun = time.process_time()
            self.batch *= np.float32(-1)
            product = time.process_time()
            np.matmul(self.batch.T, self.batch, out=self.product)
            done = time.process_time()
            self.bare += done - product
            self.outside += done - begun
            yield torch.from_numpy(self.batch)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--batch", type=int, default=20_000)
    asked = parser.parse_args()
    before = _memory()
    batches = Batches(asked.rows, asked.width, asked.batch)
    Whitening().fit(list(Batches(2 * asked.width, asked.width, 2 * asked.width)))  # libraries start
    begun = time.process_time()
    Whitening().fit(batches)
    took = time.process_time() - begun - batches.outside
    size = batches.batch.nbytes
    print(
        json.dumps(
            {
                "vectors": batches.count * asked.batch,
                "width": asked.width,
                "whitening_seconds": round(took, 2),
                "blas_seconds": round(batches.bare, 2),
                "ratio": round(took / batches.bare, 3),
                "batch_megabytes": round(size / 1e6, 1),
                "batches_held_at_most": round((_memory() - before) / size, 2),
                "threads": torch.get_num_threads(),
            }
        )
    )


def _memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main()
