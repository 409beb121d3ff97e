"""Train a sentence encoder on a list of texts in Python, then look at what it finds alike.

python examples/train_on_texts.py --model mini --steps 200
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from pathlib import Path

import mirrormask

WHO = ("The night nurse", "A bus driver", "Our plumber", "The new librarian", "A bicycle courier")
DOES = ("lost", "found", "borrowed", "returned", "photographed", "sold")
WHAT = ("a blue umbrella", "the spare key", "two train tickets", "an old violin", "the weekly report")
WHERE = ("behind the station", "on the second floor", "during the concert", "while it was raining")


def texts() -> list[str]:
    """Return your texts; here, sentences put together from pieces."""
    return [f"{' '.join(pieces)}." for pieces in itertools.product(WHO, DOES, WHAT, WHERE)]


def main() -> None:
    """Train, load and search."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="mini", help="name or folder to start from")
    parser.add_argument("--out", type=Path, help="folder of the run (default: one that is removed afterwards)")
    parser.add_argument("--steps", type=int, default=200)
    arguments = parser.parse_args()

    corpus = texts()
    with tempfile.TemporaryDirectory() as temporary:
        run = mirrormask.train(
            corpus,
            out=arguments.out or Path(temporary) / "run",
            model=arguments.model,
            training={"steps": arguments.steps, "batch_size": 32},
        )
        result = run.record["result"]
        print(f"Kept step {result['best_step']} of {result['steps']}, chosen by: {run.record['selection']['by']}")

        encoder = mirrormask.load(run.model)
        question = "Who lost the violin?"
        scores = encoder.similarity(encoder.encode([question]), encoder.encode(corpus))[0]
        print(question)
        for place in scores.argsort(descending=True)[:3].tolist():
            print(f"  {scores[place]:.3f}  {corpus[place]}")


if __name__ == "__main__":
    main()
