"""How near is near? What thresholds of similarity let through: synonyms, antonyms and random words in one place.

    python benchmarks/attack_threshold.py use mini-sentence --out threshold.json

Texts are those that victims may train on (MR, AG News and IMDB without what is attacked); synonyms and antonyms are
WordNet's, of words that have one part of speech. Folders are under MIRRORMASK_DATA.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from attack_data import attacked_texts, training_texts

from mirrormask.attack.edited_text import REPLACE, CutText, EditedText
from mirrormask.attack.meaning import CALIBRATED, PUBLISHED, Meaning, Reading, open_encoder
from mirrormask.attack.similarity_threshold import calibrate
from mirrormask.attack.tagging import Tagger
from mirrormask.attack.victim_training import normalized
from mirrormask.attack.word_vectors import read_lexicon
from mirrormask.core.seeding import generator
from mirrormask.data.text.sources import dataset_roots
from mirrormask.search.stop_words import STOP_WORDS

SETS = ("mr", "ag", "imdb")


def sample(name: str, count: int) -> list[str]:
    taken = {normalized(text) for text in attacked_texts(name).texts}
    found = [text for text in training_texts(name).texts if normalized(text) not in taken]
    return [found[i] for i in generator(42, name).permutation(len(found))[:count]]


def related(texts: list[str], tagger: Tagger, count: int) -> dict[str, list[tuple[EditedText, int, str]]]:
    """Return places whose word has a synonym or an antonym of its part of speech, with that word."""
    (root,) = [root for root in dataset_roots() if (root / "lexicon").is_dir()][:1]
    pairs = dict(zip(("synonyms", "antonyms"), read_lexicon(root / "lexicon" / "wordnet31.jsonl.gz"), strict=True))
    rng = generator(42, "related")
    found: dict[str, list[tuple[EditedText, int, str]]] = {}
    for kind, both in pairs.items():
        known: dict[str, list[str]] = {}
        for one, other in both:
            if one.isalpha() and other.isalpha():
                known.setdefault(one, []).append(other)
                known.setdefault(other, []).append(one)
        sites = []
        for text in texts:
            cut = CutText.of(text)
            for place, word in enumerate(cut.words):
                if word.lower() in known and word.lower() not in STOP_WORDS:
                    sites.append((EditedText(cut), place, word.lower()))
        kept = []
        for number in rng.permutation(len(sites)):
            text, place, word = sites[number]
            others = sorted(set(known[word]))
            other = others[int(rng.integers(len(others)))]
            if other != word and tagger.fitting(text, place, [other])[0]:
                kept.append((text, place, other))
            if len(kept) == count:
                break
        found[kind] = kept
    return found


def measure(name: str, texts: list[str], tagger: Tagger, count: int) -> dict[str, Any]:
    encoder = open_encoder(name)
    found = calibrate(encoder, texts, tagger)
    meaning = Meaning(encoder, Reading(CALIBRATED, 0.0))
    values = {"random": found.random}
    for kind, sites in related(texts, tagger, count).items():
        windows = [meaning.windows(text, REPLACE, place)[0] for text, place, _ in sites]
        values[kind] = np.concatenate(meaning.similarities(windows, [[word] for _, _, word in sites]))
    thresholds = {"calibrated": found.threshold, **{k: r.threshold for k, r in PUBLISHED.items()}, "cosine 0.8": 0.8}
    passing = {
        reading: {kind: round(100 * float((each >= least).mean()), 1) for kind, each in values.items()}
        for reading, least in thresholds.items()
    }
    quartiles = {kind: np.quantile(each, [0.25, 0.5, 0.75]).round(4).tolist() for kind, each in values.items()}
    counts = {kind: len(each) for kind, each in values.items()}
    return {"threshold": found.threshold, "passing": passing, "quartiles": quartiles, "counts": counts}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("encoders", nargs="+", help="use, or sentence encoders by name or folder")
    parser.add_argument("--texts", type=int, default=400, help="of each of the three sets")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    tagger = Tagger()
    texts = [text for name in SETS for text in sample(name, asked.texts)]
    found = {Path(name).name: measure(name, texts, tagger, 500) for name in asked.encoders}
    if asked.out is not None:
        asked.out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(json.dumps({"name": "attack-threshold", **found}))


if __name__ == "__main__":
    main()
