"""The texts of the attack benchmarks: what is attacked, and what victims learn from, never the same."""

from __future__ import annotations

from pathlib import Path

from mirrormask.attack.labeled_texts import LabeledTexts, read_labeled
from mirrormask.data.text.sources import dataset_roots

ATTACKED = {
    "mr": "attack/mr/test.jsonl.gz",
    "imdb": "attack/imdb/test.jsonl.gz",
    "ag": "attack/ag/test.jsonl.gz",
    "yelp": "attack/yelp_sentences/validation.jsonl.gz",
}
AG_CLASSES = ("World", "Sports", "Business", "Sci/Tech")
TRAINING = {"mr": "senteval/mr/all.jsonl.gz", "imdb": "imdb/train.jsonl.gz", "ag": "ag_news/train.jsonl.gz"}


def found(name: str) -> Path:
    """Return a file under the roots in MIRRORMASK_DATA."""
    for root in dataset_roots():
        if (root / name).is_file():
            return root / name
    raise SystemExit(f"{name} is under none of the folders in MIRRORMASK_DATA.")


def attacked_texts(name: str) -> LabeledTexts:
    """Return the texts to attack; quotes around whole texts of AG News are an accident of its file."""
    texts = read_labeled(found(ATTACKED[name]))
    return LabeledTexts(name, [text.strip('"').strip() for text in texts.texts], texts.labels)


def training_texts(name: str) -> LabeledTexts:
    """Return the texts that a victim may learn from, before copies of attacked ones are left out.

    AG News has names for its classes there, and numbers from 0 where it is attacked.
    """
    texts = read_labeled(found(TRAINING[name]))
    if name != "ag":
        return texts
    cleaned = [text.replace("\\", " ") for text in texts.texts]
    return LabeledTexts(name, cleaned, [str(AG_CLASSES.index(label)) for label in texts.labels])
