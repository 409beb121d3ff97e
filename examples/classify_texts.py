"""Learn two classes from a few labelled texts, and ask for the probability of each.

python examples/classify_texts.py
"""

import argparse
import tempfile

import mirrormask
from mirrormask.data.tasks.classified import Classified

GOOD = ["a calm and happy day", "the warm bread was lovely", "we laughed all evening", "what a kind letter"]
BAD = ["the clock broke again", "a cold and lonely street", "nobody came to the party", "the soup was spoiled"]

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--model", default="mini-sentence")
parser.add_argument("--steps", type=int, default=20)
given = parser.parse_args()

texts = Classified("my texts", (*GOOD, *BAD), (("good",),) * len(GOOD) + (("bad",),) * len(BAD))
with tempfile.TemporaryDirectory() as folder:
    how = mirrormask.Classification(model=given.model)
    run = mirrormask.classify(texts, out=folder, how=how, training={"steps": given.steps})
    classifier = mirrormask.Classifier.load(folder)
    print("learned by", run.record["classify"]["objective"])
    for text in ("a lovely evening", "the letter was spoiled"):
        found = classifier.predict([text])[0]
        print(f"{text}: {found.labels[0]} ({found.probability:.2f})")
