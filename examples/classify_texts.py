"""Learn two classes from a few labelled texts, then ask for the class of others and how sure it is.

python examples/classify_texts.py --model mini-sentence --steps 50
"""

from __future__ import annotations

import argparse
import tempfile

import mirrormask
from mirrormask.data.tasks.classified import Classified

GOOD = ("a calm and happy day", "the warm bread was lovely", "we laughed all evening", "what a kind letter")
BAD = ("the clock broke again", "a cold and lonely street", "nobody came to the party", "the soup was spoiled")
ASKED = ("a lovely evening", "the letter was spoiled", "a lonely day without bread")


def main() -> None:
    """Train on eight texts and print what the classifier says about three others."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="mini-sentence", help="where to start")
    parser.add_argument("--steps", type=int, default=20)
    given = parser.parse_args()

    labels = [("good",)] * len(GOOD) + [("bad",)] * len(BAD)
    texts = Classified("my texts", GOOD + BAD, tuple(labels))
    with tempfile.TemporaryDirectory() as folder:
        how = mirrormask.Classification(model=given.model)
        run = mirrormask.classify(texts, out=folder, how=how, training={"steps": given.steps})
        print("learned by", run.record["classify"]["objective"])

        classifier = mirrormask.Classifier.load(folder)
        for text, found in zip(ASKED, classifier.predict(ASKED), strict=True):
            print(f"{text}: {found.labels[0]} ({found.probability:.2f})")
        print("and it is a sentence encoder:", classifier.encoder.encode(list(ASKED)).shape)


if __name__ == "__main__":
    main()
