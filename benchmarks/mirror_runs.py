"""The runs behind docs/results/mirror.md: Mirror-BERT on `mini`, on sentences and on words, with its ablations.

python benchmarks/mirror_runs.py sentences --out results --minutes 10
python benchmarks/mirror_runs.py words --out results --minutes 10

Every finished run is a line of results/GROUP.jsonl, so a run that is cut loses little, and one begun again goes on.
The learning rate is chosen on dev data alone, in the first runs of each group: STS-B dev for sentences, and for words
MTurk-287 and MTurk-771, which are then no part of any average.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from mirrormask.core.batch import Ids
from mirrormask.core.framing import frame_of
from mirrormask.core.seeding import Seeds
from mirrormask.core.similarity import paired_cosine
from mirrormask.data.batching import Batches
from mirrormask.data.pairs import Examples, Rows
from mirrormask.data.tasks.sts_tasks import load_sts
from mirrormask.data.tasks.word_pairs import WORD_TASKS, load_words
from mirrormask.data.text.files import open_text
from mirrormask.data.text.sources import find_corpus
from mirrormask.evaluation.statistics.correlation import spearman
from mirrormask.methods.composition import composition
from mirrormask.models.bulk import encode_tokens, tokenize
from mirrormask.models.encoder import build_encoder, facts_of
from mirrormask.models.names import resolve
from mirrormask.training.loop import fit
from mirrormask.training.method import Method
from mirrormask.training.settings import Settings
from mirrormask.views import Vocabulary

STS = ("stsb-dev", "sts12", "sts13", "sts14", "sts15", "stsb")
RATES = (2e-5, 5e-5, 1e-4, 2e-4, 4e-4)
SPAN, TOKENS = {"name": "character-span-mask"}, {"name": "span-mask"}
Config = dict[str, Any]


class Texts(Examples):
    """Texts that are each their own positive.

    Args:
        rows: token ids without the frame.
    """

    def __init__(self, rows: Sequence[Ids]) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def columns(self, examples: Rows, seed: int) -> tuple[list[Ids], ...]:
        """Return the token ids of the given texts."""
        return ([self.rows[number] for number in examples.tolist()],)


@cache
def lines_of(name: str) -> tuple[str, ...]:
    """Return the lines of a corpus under MIRRORMASK_DATA."""
    path = find_corpus(name)
    if path is None:
        raise SystemExit(f"There is no {name} under MIRRORMASK_DATA.")
    return tuple(line.strip() for line in open_text(path) if line.strip())


def random_strings(texts: Sequence[str], seed: int) -> list[str]:
    """Return as many texts of random letters, word by word as long as those given."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    return [" ".join("".join(rng.choice(letters, max(1, len(word)))) for word in text.split()) for text in texts]


def texts_of(config: Config, seed: int) -> list[str]:
    """Return what a run learns from."""
    texts = list(lines_of(config["corpus"]))
    if config.get("without"):  # no word that is asked for
        asked = {word.lower() for task in WORD_TASKS for side in _sides(task) for word in side}
        texts = [text for text in texts if text.lower() not in asked]
    if config.get("with"):
        texts += sorted({word for task in WORD_TASKS for side in _sides(task) for word in side} - set(texts))
    if config.get("texts"):
        chosen = np.random.default_rng(seed).permutation(len(texts))[: config["texts"]]
        texts = [texts[number] for number in chosen]
    return random_strings(texts, seed) if config.get("random") else texts


@cache
def _sides(task: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    pairs = load_words(task)
    return pairs.sentence1, pairs.sentence2


class Judge:
    """Scores an encoder on the pairs of a group of tasks; texts are tokenized once for all runs."""

    def __init__(self, group: str, model: str) -> None:
        pairs = [load_sts(task) for task in STS] if group == "sentences" else [load_words(task) for task in WORD_TASKS]
        self.pairs = {each.name: each for each in pairs}
        self.texts = list(dict.fromkeys(t for each in pairs for side in (each.sentence1, each.sentence2) for t in side))
        self.place = {text: number for number, text in enumerate(self.texts)}
        self.tokens = tokenize(build_encoder(model, pooling="mean"), self.texts)

    def __call__(self, encoder: Any) -> dict[str, float]:
        """Return Spearman in percent on every task, and the mean cosine of random pairs."""
        vectors = encode_tokens(encoder, self.tokens)
        found = {}
        for name, each in self.pairs.items():
            left, right = ([self.place[text] for text in side] for side in (each.sentence1, each.sentence2))
            found[name] = 100 * spearman(paired_cosine(vectors[left], vectors[right]), each.scores)
        unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        n = len(unit)
        found["anisotropy"] = float((np.square(unit.sum(0)).sum() - n) / (n * (n - 1)))
        return found


def train(config: Config, seed: int, model: str) -> Any:
    """Return an encoder trained as the configuration says, its last weights."""
    import torch

    encoder = build_encoder(model, pooling=config["pooling"])
    if not config.get("views"):
        return encoder
    frame = frame_of(encoder.tokenizer)
    room = config["max_length"] - len(frame)
    cut = (len(frame.prefix), len(frame.suffix))
    rows = [row[cut[0] : len(row) - cut[1]] for row in tokenize(encoder, texts_of(config, seed)).rows]
    built = composition(config["views"], objective=config["objective"], pooling=config["pooling"])
    torch.manual_seed(seed)
    method = Method(encoder, built, Vocabulary.of(encoder))
    batches = Batches(
        Texts([row[:room] for row in rows]),
        frame,
        batch_size=min(200, len(rows)),
        max_length=config["max_length"],
        seed=seed,
        drop_last=len(rows) >= 200,
    )
    settings = Settings(
        batch_size=200,
        epochs=config["epochs"],
        learning_rate=config["rate"],
        weight_decay=0.01,
        schedule="constant",
        clip=0.0,
        checkpoint_every=10**9,  # a run takes seconds
        max_length=config["max_length"],
        seeds=Seeds.all(seed),
    )
    with tempfile.TemporaryDirectory() as folder:
        fit(method, batches, settings, Path(folder))
    return encoder


def config_of(group: str, **changes: Any) -> Config:
    """Return the settings of Mirror-BERT for a group with some of them changed."""
    loss = {"name": "mirror-nce", "temperature": 0.04 if group == "sentences" else 0.2}
    loss |= changes.pop("loss", {})
    drop = changes.pop("drop", {"name": "dropout"})
    mask = changes.pop("mask", SPAN if group == "sentences" else None)
    second = [mask, *(drop if isinstance(drop, list) else [drop])] if mask else drop
    base = {
        "sentences": {"corpus": "mirror_sentences_10k", "pooling": "mean", "max_length": 50, "epochs": 1.0},
        "words": {"corpus": "words/en_words_top_10k", "pooling": "cls", "max_length": 25, "epochs": 2.0},
    }[group]
    return {**base, "views": [drop, second], "objective": changes.pop("objective", loss), **changes}


def tuning(group: str) -> Iterator[tuple[str, Config, int]]:
    """Yield the runs by which the rate is chosen."""
    for seed in (1001, 1002):
        for rate in RATES:
            for pooling in ("mean",) if group == "sentences" else ("cls", "mean"):
                yield f"tune {rate:g} {pooling}", config_of(group, rate=rate, pooling=pooling), seed


def runs(group: str, rate: float, pooling: str) -> Iterator[tuple[str, Config, int]]:
    """Yield all runs of a group, the most important first."""
    none = {"name": "dropout", "rate": 0.0}
    heads = [{"name": "drop-head", "rate": 0.2}, none]
    own: dict[str, Any] = {"rate": rate, "pooling": pooling}
    for kind in ("mean", "cls"):
        yield f"untrained {kind}", {"pooling": kind}, 0
    tried: dict[str, Config] = {
        "mirror": {},
        "positives alone": {"loss": {"negatives": False}},
        "negatives alone": {"loss": {"positives": False}},
        "random strings": {"random": True},
        "drop-head": {"drop": heads},
    }
    if group == "sentences":
        tried |= {
            "dropout alone": {"mask": None},
            "mask alone": {"drop": none},
            "neither": {"drop": none, "mask": None},
            "token spans": {"mask": TOKENS},
            "one direction": {"loss": {"both_directions": False}},
            "simcse": {"mask": None, "objective": {"name": "info-nce", "temperature": 0.05}},
            "faithful": {"pooling": "mean-padded", "mask": {**SPAN, "faithful": True}},
        }
    else:
        tried |= {
            "neither": {"drop": none},
            "without asked words": {"without": True},
            "with asked words": {"with": True},
            "random strings 5e-05": {"random": True, "rate": 5e-5},
        }
    for name, changes in tried.items():
        for seed in range(1, 11):
            yield name, config_of(group, **{**own, **changes}), seed
    sizes = (1000, 2000, 5000, 10_000, 20_000, 50_000) if group == "sentences" else (500, 1000, 2000, 5000)
    for size in sizes:
        more = {"corpus": "wiki100k"} if group == "sentences" else {}
        for seed in range(1, 6):
            yield f"texts {size}", config_of(group, **own, **more, texts=size), seed
    for epochs in (0.2, 0.5, 2.0, 4.0, 8.0) if group == "sentences" else (0.2, 0.5, 1.0, 4.0, 8.0, 16.0):
        for seed in range(1, 6):
            yield f"epochs {epochs:g}", config_of(group, **own, epochs=epochs), seed
    if group == "sentences":
        for length in (0, 2, 5, 10, 20):
            for drop in (0.0, 0.05, 0.1, 0.2, 0.4):
                mask = {"name": "character-span-mask", "length": length} if length else None
                changes = {"mask": mask, "drop": {"name": "dropout", "rate": drop}}
                for seed in range(1, 4):
                    yield f"grid {length} {drop:g}", config_of(group, **own, **changes), seed


def best_of(records: Sequence[dict[str, Any]], group: str) -> tuple[float, str]:
    """Return the rate and the pooling whose runs are best on dev."""
    tasks = ("stsb-dev",) if group == "sentences" else ("mturk287", "mturk771")
    scores: dict[tuple[float, str], list[float]] = {}
    for each in records:
        if each["name"].startswith("tune"):
            key = (each["config"]["rate"], each["config"]["pooling"])
            scores.setdefault(key, []).append(float(np.mean([each["scores"][task] for task in tasks])))
    return max(scores, key=lambda key: np.mean(scores[key]))


def main() -> None:
    """Perform the runs of a group until they are done or time is up."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("group", choices=("sentences", "words"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--model", default="mini")
    parser.add_argument("--most", type=int, default=10**9, help="runs at most, to try it out")
    given = parser.parse_args()
    begun, file = time.monotonic(), given.out / f"{given.group}.jsonl"
    given.out.mkdir(parents=True, exist_ok=True)
    records = [json.loads(line) for line in file.read_text().splitlines()] if file.is_file() else []
    there = {(each["name"], each["seed"]) for each in records}
    judge = Judge(given.group, given.model)
    edition = facts_of(resolve(given.model)).get("edition")

    def perform(planned: Iterator[tuple[str, Config, int]]) -> None:
        for name, config, seed in planned:
            if (name, seed) in there or len(records) >= given.most:
                continue
            if time.monotonic() - begun > 60 * given.minutes:
                return
            started = time.monotonic()
            encoder = train(config, seed, given.model)
            trained = time.monotonic() - started
            record = {"name": name, "seed": seed, "config": config, "scores": judge(encoder), "edition": edition}
            record |= {"train_seconds": round(trained, 2), "device": str(encoder.device)}
            records.append(record)
            with file.open("a") as stream:
                stream.write(json.dumps(record) + "\n")

    perform(tuning(given.group))
    perform(runs(given.group, *best_of(records, given.group)))
    print(f"{len(records)} runs in {file}")


if __name__ == "__main__":
    main()
