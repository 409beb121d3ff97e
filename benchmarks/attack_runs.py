"""The runs behind docs/results/attack.md: a record for each victim, data set and attack.

    python benchmarks/attack_runs.py --out records --seconds 3600 --workers 4

Victims are trained here, never on an attacked text. A record is written after each attack, so a run that is cut short
keeps what is done; a second start goes on with the rest. Folders are under MIRRORMASK_DATA.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

SETS, VICTIMS = ("mr", "ag", "imdb"), ("word-cnn", "word-lstm", "bert")
ATTACKS = ("R", "R+I", "I", "R/I", "TextFooler")
CLASSES = {"mr": 2, "ag": 4, "imdb": 2}
SEED = 42


def units(few: bool) -> list[tuple[str, str, str]]:
    """Return what is to be done, the most important first: an attack, adversarial training, or transfer."""
    found = [("attack", data, victim) for data in ("mr", "ag") for victim in VICTIMS]
    found += [("attack", "imdb", victim) for victim in ("word-cnn", "bert", "word-lstm")]
    found += [("harden", data, victim) for data in ("mr", "ag") for victim in VICTIMS]
    found += [("transfer", "mr", ""), *(("attack", "yelp", victim) for victim in VICTIMS)]
    return [each for each in found if each[1] == "mr"] if few else found


class Runs:
    """One process's share.

    Args:
        out: for records.
        end: when to stop, in seconds since the epoch.
        texts: to attack, of each set.
        long_texts: of IMDB, whose texts are ten times as long.
        similarity: what compares meanings.
        learn: training texts at most; 0 for all.
    """

    def __init__(self, out: Path, end: float, texts: int, long_texts: int, similarity: str, learn: int) -> None:
        from mirrormask.attack.attack_texts import AttackPlan

        self.out, self.end, self.texts, self.long_texts, self.learn = out, end, texts, long_texts, learn
        lexicon = next((root / "lexicon/wordnet31.jsonl.gz" for root in _roots()), None)
        has = lexicon is not None and lexicon.is_file()
        self.plan = AttackPlan(attacks=ATTACKS, similarity=similarity, lexicon=lexicon if has else None, seed=SEED)
        self._opened: dict[str, Any] = {}

    def opened(self, data: str) -> Any:
        """Return the models of the attack; their threshold is that of the encoder, or told from training texts."""
        from attack_data import training_texts

        from mirrormask.attack.attack_texts import Opened

        if not self._opened:
            self._opened["all"] = Opened(self.plan, training_texts("mr").sample(400, SEED).texts)
        return self._opened["all"]

    def victim(self, data: str, kind: str) -> Any:
        """Return a victim of a set, trained by whoever asks first."""
        from attack_data import attacked_texts

        from mirrormask.attack.victim_training import train_victim
        from mirrormask.attack.victims import open_victim

        data = "mr" if data == "yelp" else data
        folder = self.out / "victims" / f"{data}-{kind}"
        while not folder.is_dir():
            if self.taken(f"train-{data}-{kind}"):
                avoid = [text for name in ("yelp", data) for text in attacked_texts(name).texts]
                trained = train_victim(self.training(data), folder, kind=kind, apart_from=avoid, seed=SEED)
                self.write(
                    f"victim-{data}-{kind}",
                    {"dev_accuracy": trained.accuracy, "texts": trained.texts, "left_out": trained.left_out},
                )
            elif self.late():
                raise TimeoutError(f"{folder.name} is being trained elsewhere.")
            time.sleep(0.5)
        return open_victim(folder)

    def training(self, data: str) -> Any:
        """Return the texts that victims of a set learn from."""
        from attack_data import training_texts

        texts = training_texts(data)
        return texts.sample(self.learn, SEED) if self.learn else texts

    def some(self, data: str) -> Any:
        """Return the texts to attack."""
        from attack_data import attacked_texts

        return attacked_texts(data).sample(self.long_texts if data == "imdb" else self.texts, SEED)

    def taken(self, name: str) -> bool:
        """Say whether a piece of work was free, and take it."""
        try:
            (self.out / "taken" / name).mkdir(parents=True)
        except FileExistsError:
            return False
        return True

    def write(self, name: str, content: dict[str, Any]) -> None:
        (self.out / f"{name}.json".replace("/", "-or-")).write_text(json.dumps(content, indent=1), encoding="utf-8")

    def late(self) -> bool:
        return time.time() > self.end

    def attack(self, data: str, kind: str) -> None:
        from mirrormask.attack.attack_texts import with_perplexity
        from mirrormask.attack.outcome import recheck, summarize
        from mirrormask.attack.victims import Victim

        opened, victim, texts = self.opened(data), self.victim(data, kind), self.some(data)
        labels = [victim.label_of(label) for label in texts.labels]
        asked = Victim(Remembered(victim), name=f"{kind} on {data}", labels=victim.labels)
        for name in ("R", "R+I") if data == "yelp" else ATTACKS:
            if self.late():
                return
            begun = time.time()
            found = opened.attack(asked, name)(texts.texts, labels)
            seconds = time.time() - begun
            found = with_perplexity(opened.lm, found)
            wrong = recheck(found, victim, opened.meaning)
            file = f"{data}-{kind}-{name}".replace("/", "-or-")
            with gzip.open(self.out / f"{file}.half", "wt", encoding="utf-8") as stream:
                stream.writelines(json.dumps(each.to_dict()) + "\n" for each in found)
            (self.out / f"{file}.half").rename(self.out / f"{file}.jsonl.gz")
            facts = {"data": data, "victim": kind, "attack": name, "seconds": seconds, "not_rechecked": len(wrong)}
            reading = opened.meaning.reading
            kept = [each.similarity for each in found if each.similarity is not None]
            least = {"least_similarity": min(kept, default=None), "threshold": reading.threshold}
            settings = {"similarity_by": str(self.plan.similarity), "fitted": self.plan.lexicon is not None}
            settings["layers"] = opened.lm.layers
            self.write(f"attack-{file}", {**facts, **least, **settings, **asdict(summarize(found))})

    def harden(self, data: str, kind: str) -> None:
        from attack_data import attacked_texts

        from mirrormask.attack.hardening import harden

        opened, victim, texts = self.opened(data), self.victim(data, kind), self.some(data)
        labels = [victim.label_of(label) for label in texts.labels]
        name = "R"
        before = self.saved(data, kind, name) or opened.attack(victim, name)(texts.texts, labels)
        _, told, _ = harden(
            victim,
            self.training(data),
            texts,
            before,
            opened,
            name,
            self.out / "victims" / f"hardened-{data}-{kind}",
            kind=kind,
            model="mini",
            share=0.4 if data == "mr" else 0.25,
            clean=attacked_texts(data),
            seed=SEED,
        )
        self.write(
            f"harden-{data}-{kind}",
            {"data": data, "victim": kind, "measured": len(texts), "layers": self.opened(data).lm.layers, **told},
        )

    def saved(self, data: str, kind: str, attack: str) -> list[Any]:
        """Return what an attack did, where that was saved."""
        from mirrormask.attack.outcome import Outcome

        path = self.out / f"{data}-{kind}-{attack}.jsonl.gz"
        if not path.is_file():
            return []
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            return [Outcome.from_dict(json.loads(line)) for line in stream]

    def transfer(self, data: str) -> None:
        from mirrormask.attack.attack_report import transfer_of

        rows = []
        for kind in VICTIMS:
            outcomes = {"R+I": self.saved(data, kind, "R+I")}
            if not outcomes["R+I"]:
                continue
            there = [other for other in VICTIMS if (self.out / "victims" / f"{data}-{other}").is_dir()]
            others = {other: self.victim(data, other) for other in there if other != kind}
            for other, each in zip(others, transfer_of(outcomes, list(others.values())), strict=True):
                rows.append({"from": kind, "to": other, "texts": each.texts, "turned": each.turned})
        self.write(f"transfer-{data}", {"data": data, "attack": "R+I", "rows": rows})


class Remembered:
    """A classifier that is not asked twice about a text: attacks on the same texts ask the same first questions."""

    def __init__(self, victim: Any, most: int = 400_000) -> None:
        self.victim, self.most = victim, most
        self.known: dict[str, Any] = {}

    def __call__(self, texts: list[str]) -> Any:
        import numpy as np

        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        fresh = dict(zip(new, self.victim(new), strict=True))
        found = np.stack([self.known[text] if text in self.known else fresh[text] for text in texts])
        if len(self.known) + len(fresh) <= self.most:
            self.known.update(fresh)
        return found


def _roots() -> Iterator[Path]:
    from mirrormask.data.text.sources import dataset_roots

    yield from dataset_roots()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--texts", type=int, default=1000)
    parser.add_argument("--long-texts", type=int, default=500)
    parser.add_argument("--similarity", default="use")
    parser.add_argument("--learn", type=int, default=0, help="training texts at most; for a trial")
    parser.add_argument("--few", action="store_true", help="MR alone")
    parser.add_argument("--only", default="", help="one piece of work, such as harden-mr-word-cnn")
    parser.add_argument("--end", type=float, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    end = asked.end or time.time() + asked.seconds
    if asked.workers > 1:
        command = [sys.executable, *sys.argv, "--workers", "1", "--end", str(end)]
        running = [subprocess.Popen(command, env=os.environ) for _ in range(asked.workers)]
        sys.exit(max(abs(each.wait()) for each in running))
    runs = Runs(asked.out, end, asked.texts, asked.long_texts, asked.similarity, asked.learn)
    for what, data, kind in units(asked.few):
        named = f"{what}-{data}-{kind}"
        if runs.late() or asked.only not in ("", named) or not runs.taken(named):
            continue
        begun = time.time()
        arguments = [each for each in (data, kind) if each]
        try:
            getattr(runs, what)(*arguments)
        except Exception as error:  # one piece of work that fails leaves the others
            runs.write(f"failed-{what}-{data}-{kind}", {"error": f"{type(error).__name__}: {error}"})
            print(f"{what} {data} {kind} failed: {error}", file=sys.stderr, flush=True)
        print(f"{what} {data} {kind}: {time.time() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    main()
