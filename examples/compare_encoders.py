"""Compare two encoders on pairs of your own and get a verdict: is the second really better?

python examples/compare_encoders.py --model mini --other path/to/encoder --data my-pairs.csv

Without --other the same model with another pooling stands in; without --data a few written pairs do.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from pathlib import Path

import mirrormask

PAIRS = [
    ("The train leaves at nine.", "At nine the train departs.", 5.0),
    ("The train leaves at nine.", "The train was late today.", 2.0),
    ("She sold her car.", "Her car has a new owner.", 4.0),
    ("She sold her car.", "The soup needs more salt.", 0.0),
    ("Turn off the lights.", "Switch the lights off.", 5.0),
    ("Turn off the lights.", "The lights are very bright.", 1.5),
    ("He plays the cello badly.", "He is a poor cellist.", 4.5),
    ("He plays the cello badly.", "Rain is expected tomorrow.", 0.0),
    ("The shop opens on Sundays.", "You can shop there on Sunday.", 4.0),
    ("The shop opens on Sundays.", "The shop sells old maps.", 1.0),
]


def main() -> None:
    """Evaluate both on the same pairs and resamples."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="mini", help="the encoder to beat")
    parser.add_argument("--other", help="the encoder that may be better")
    parser.add_argument("--data", type=Path, help="scored pairs, query-document pairs or labeled texts")
    parser.add_argument("--report", type=Path, help="write a one-file HTML report here")
    arguments = parser.parse_args()

    first = mirrormask.load(arguments.model)
    second = (
        mirrormask.load(arguments.other)
        if arguments.other
        else mirrormask.build_encoder(arguments.model, pooling="cls")
    )
    with tempfile.TemporaryDirectory() as folder:
        data = arguments.data or Path(folder) / "pairs.csv"
        if arguments.data is None:
            with data.open("w", newline="", encoding="utf-8") as stream:
                csv.writer(stream).writerows([("sentence1", "sentence2", "score"), *PAIRS])
        report = mirrormask.evaluate([first, second], data=data, names=["first", "second"])

    scores = report.to_dict()["own"]["scores"]
    for name, metrics in scores.items():
        for metric, score in metrics.items():
            print(f"{name:<8}{metric:<20}{score['value']:7.2f}  ({score['low']:.2f} to {score['high']:.2f})")
    print(*report.verdict(), sep="\n")
    if arguments.report is not None:
        report.save_html(arguments.report)


if __name__ == "__main__":
    main()
