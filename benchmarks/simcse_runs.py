"""The runs behind docs/results/supervised-simcse.md: SimCSE's tables on `mini`, many runs in one process.

A run is a recipe with a seed; what it scored is one small file in --out, written when it is over, so that a stop loses
the run it strikes and repeating the command goes on, and tries again what failed. Several processes may share --out:
each run is claimed by one.

    python benchmarks/simcse_runs.py --out runs/simcse                 # everything, in the order of importance
    python benchmarks/simcse_runs.py --out runs/simcse --group tune --seconds 300

Groups: `tune` tries settings of the supervised recipe on STS-B dev (seeds 101 and 102), `rates` those of SimCSE without
labels; `claim` is the best of them and the default unsupervised method, ten seeds each; `main` the rows of the main
tables; the others a table each.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
RECIPES = ROOT / "recipes"
SUPERVISED, UNSUPERVISED = RECIPES / "simcse-supervised-mini.toml", RECIPES / "default-method" / "keywords.toml"
STS = ("sts12", "sts13", "sts14", "sts15", "stsb", "stsb-dev")
AVERAGED = STS[:5]
TUNED_WITH, SEEDS, CLAIMED = (101, 102), (1, 2, 3, 4, 5), tuple(range(1, 11))

BASE = ("training.steps=400",)
"""What the settings are tried beside, in the recipe; the recipe itself has what was chosen."""

FACTORS: dict[str, tuple[str, ...]] = {
    "base": (),
    "triplets": ('data.corpus="nli/triplets"', 'data.columns=["sent0","sent1","hard_neg"]', 'pairing.name="columns"'),
    "only-whole": ("pairing.fill=false",),
    "rate-2e-4": ("training.learning_rate=2e-4",),
    "rate-5e-4": ("training.learning_rate=5e-4",),
    "batch-512": ("training.batch_size=512",),
    "batch-128": ("training.batch_size=128",),
    "steps-800": ("training.steps=800",),
    "temperature-0.03": ("method.temperature=0.03",),
    "temperature-0.07": ("method.temperature=0.07",),
    "masked-lm-0.1": ("method.masked_lm=0.1",),
    "average-0.99": ("training.average=0.99",),
    "first-last": ('model.pooling="first-last"',),
    "frozen-words": ("model.freeze_embeddings=true",),
}
"""What is tried on STS-B dev, each alone beside the base; `combined` has all that helped."""

UNLABELLED_RATES = ("1e-5", "2e-5", "5e-5", "1e-4")
"""Rates of SimCSE without labels that are tried on STS-B dev; the tables of the unsupervised recipes take the best."""

HELPED = 0.1
"""Points of STS-B dev above the base from which a change is taken into `combined`."""


@dataclass(frozen=True)
class Job:
    """One run.

    Args:
        group: the table it belongs to.
        row: its name there.
        seed: of data, dropout and initialization.
        recipe: what to run; None measures `mini` as it is.
        overrides: of the recipe.
        transfer: measure the transfer tasks too.
        plan: how the overrides are found once other runs are over: "combined", "best" or "rate".
    """

    group: str
    row: str
    seed: int
    recipe: Path | None
    overrides: tuple[str, ...] = ()
    transfer: bool = False
    plan: str = ""

    @property
    def name(self) -> str:
        return f"{self.group}.{self.row}.{self.seed}"


def jobs() -> list[Job]:
    """Return every run, the most important first, whole seeds before the next one."""
    found = [Job("tune", row, seed, SUPERVISED, (*BASE, *more)) for seed in TUNED_WITH for row, more in FACTORS.items()]
    found += [Job("tune", "combined", seed, SUPERVISED, plan="combined") for seed in TUNED_WITH]
    none = RECIPES / "simcse-augmentation" / "none.toml"
    found += [
        Job("rates", f"rate-{rate}", seed, none, (f"training.learning_rate={rate}",))
        for seed in TUNED_WITH
        for rate in UNLABELLED_RATES
    ]
    for seed in CLAIMED:
        found.append(Job("claim", "supervised", seed, SUPERVISED, plan="best", transfer=seed in SEEDS))
        found.append(Job("claim", "unsupervised", seed, UNSUPERVISED, transfer=seed in SEEDS))
    found += [Job("main", f"untrained-{how}", 0, None, (how,), transfer=True) for how in ("mean", "first-last", "cls")]
    found += [Job("main", how, 0, None, ("mean", how), transfer=True) for how in ("whitening", "flow")]
    for seed in SEEDS:
        mlm = ("method.masked_lm=0.1",)
        found.append(Job("main", "supervised-mlm", seed, SUPERVISED, mlm, plan="best", transfer=True))
        found.append(Job("main", "simcse", seed, none, transfer=True, plan="rate"))
        words = ('method.objective=["info-nce", { name = "masked-lm", weight = 0.1 }]',)
        found.append(Job("main", "simcse-mlm", seed, none, words, transfer=True, plan="rate"))
        for folder in ("positives", "auxiliary"):
            for path in sorted((RECIPES / f"simcse-{folder}").glob("*.toml")):
                found.append(Job(folder, path.stem, seed, path, transfer=folder == "auxiliary"))
    for seed in SEEDS:
        for folder in ("dropout", "objectives", "augmentation"):
            for path in sorted((RECIPES / f"simcse-{folder}").glob("*.toml")):
                found.append(Job(folder, path.stem, seed, path, plan="rate"))
    return found


class Measuring:
    """Texts of all tasks, tokenized once for every run that starts from the same model."""

    def __init__(self) -> None:
        from mirrormask.evaluation.sts import load_tasks, sentences
        from mirrormask.evaluation.suite_report import load_suite
        from mirrormask.evaluation.suites.transfer_suite import Transfer

        self.sts, _ = load_tasks(STS)
        self.transfer, _ = load_suite("transfer", Transfer())
        self.texts = {
            "sts": list(dict.fromkeys(sentences(self.sts))),
            "transfer": list(dict.fromkeys(text for task in self.transfer for text in task.texts())),
        }
        self._tokens: dict[str, Any] = {}

    def vectors(self, encoder: Any, kind: str, change: Any = None) -> Any:
        from mirrormask.evaluation.vectors import TextVectors
        from mirrormask.models.bulk import encode_tokens, tokenize

        if kind not in self._tokens:
            self._tokens[kind] = tokenize(encoder, self.texts[kind])
        found = encode_tokens(encoder, self._tokens[kind])
        return TextVectors(self.texts[kind], found if change is None else change(found))

    def scores(self, encoder: Any, *, transfer: bool, shape: bool, change: Any = None) -> dict[str, Any]:
        """Return all scores of an encoder in percent, and the shape of its vectors on STS-B dev."""
        from mirrormask.evaluation.geometry import alignment, uniformity
        from mirrormask.evaluation.own.pairs_task import similarities
        from mirrormask.evaluation.statistics.bootstrap import on_all
        from mirrormask.evaluation.statistics.correlation import spearman

        vectors = self.vectors(encoder, "sts", change)
        found: dict[str, Any] = {}
        for task in self.sts:
            cosines = similarities(task, vectors)
            found[task.name] = 100 * spearman(cosines, task.scores)
            if task.name == "stsb" and shape:
                found["cosines"] = [round(float(each), 4) for each in cosines]
            if task.name == "stsb-dev":
                good = task.scores > task.positive_above
                left, right = (
                    vectors.of([text for text, kept in zip(side, good, strict=True) if kept])
                    for side in (task.sentence1, task.sentence2)
                )
                every = vectors.of(list(dict.fromkeys([*task.sentence1, *task.sentence2])))
                found["alignment"], found["uniformity"] = alignment(left, right), uniformity(every)
        found["average"] = float(np.mean([found[name] for name in AVERAGED]))
        if transfer:
            vectors = self.vectors(encoder, "transfer", change)
            for one in self.transfer:
                right = one.statistics(vectors, seed=42)["accuracy_percent"]
                found[f"transfer-{one.name}"] = 100 * on_all(right, one.units)
        return found


def read(out: Path, group: str) -> dict[tuple[str, int], dict[str, Any]]:
    """Return the records of a group by row and seed."""
    found = {}
    for path in sorted(out.glob(f"{group}.*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        found[record["row"], record["seed"]] = record
    return found


def planned(out: Path, job: Job) -> tuple[str, ...] | None:
    """Return the overrides of a run that waits for others; None while they are not over."""
    if job.plan == "rate":
        return _best_rate(out, job)
    tuned = read(out, "tune")
    rows = [*FACTORS] if job.plan == "combined" else [*FACTORS, "combined"]
    failed = {row for row in rows for seed in TUNED_WITH if (out / f"tune.{row}.{seed}.failed").exists()}
    rows = [row for row in rows if row not in failed]
    if "base" not in rows or any((row, seed) not in tuned for row in rows for seed in TUNED_WITH):
        return None
    dev = {row: float(np.mean([tuned[row, seed]["scores"]["stsb-dev"] for seed in TUNED_WITH])) for row in rows}
    if job.plan == "best":
        best = max(rows, key=dev.__getitem__)
        return (*tuned[best, TUNED_WITH[0]]["overrides"], *job.overrides)
    chosen: dict[str, tuple[float, tuple[str, ...]]] = {}
    for row, more in ((row, FACTORS[row]) for row in rows):
        key = ",".join(each.partition("=")[0] for each in more)
        if more and dev[row] > dev["base"] + HELPED and dev[row] > chosen.get(key, (0.0, ()))[0]:
            chosen[key] = (dev[row], more)
    taken: dict[str, str] = {}
    for _, more in sorted(chosen.values()):  # the better ones last, so that they win where two say something
        taken |= {each.partition("=")[0]: each for each in more}
    if taken.get("data.corpus"):
        taken.pop("pairing.fill", None)
    return (*BASE, *taken.values())


def _best_rate(out: Path, job: Job) -> tuple[str, ...] | None:
    """Return the overrides of a run without labels, with the best rate on STS-B dev; None while it is not known."""
    tried = read(out, "rates")
    rows = [f"rate-{rate}" for rate in UNLABELLED_RATES]
    if any((row, seed) not in tried for row in rows for seed in TUNED_WITH):
        return None
    dev = {row: np.mean([tried[row, seed]["scores"]["stsb-dev"] for seed in TUNED_WITH]) for row in rows}
    return (*tried[max(rows, key=dev.__getitem__), TUNED_WITH[0]]["overrides"], *job.overrides)


def perform(job: Job, overrides: tuple[str, ...], measuring: Measuring, work: Path, more: list[str]) -> dict[str, Any]:
    """Do one run and return its record."""
    from mirrormask.models.encoder import build_encoder, load
    from mirrormask.runs.recipe import apply_overrides, build_recipe
    from mirrormask.runs.runner import run_recipe

    begun = time.monotonic()
    record = {"group": job.group, "row": job.row, "seed": job.seed, "overrides": list(overrides)}
    shape = job.seed in (0, 1)
    if job.recipe is None:
        encoder = build_encoder("mini", pooling=overrides[0])
        change = None if len(overrides) == 1 else fitted(encoder, overrides[1], work)
        scores = measuring.scores(encoder, transfer=job.transfer, shape=shape, change=change)
        return {**record, "scores": scores, "seconds": round(time.monotonic() - begun, 1)}
    import tomllib

    tables = tomllib.loads(job.recipe.read_text(encoding="utf-8"))
    if any(each.startswith("data.corpus") for each in overrides):
        tables.pop("pairing", None)
    settings = [f"training.seed={job.seed}", "training.checkpoint_every=1000000", *overrides, *more]
    recipe = build_recipe(apply_overrides(tables, settings))
    out = Path(tempfile.mkdtemp(dir=work)) / "run"
    text = work / f"text-{abs(hash(json.dumps(recipe.record()['data'], sort_keys=True)))}"
    try:
        done = run_recipe(recipe, out, work=text)
        scores = measuring.scores(load(done.model), transfer=job.transfer, shape=shape)
    finally:
        shutil.rmtree(out.parent, ignore_errors=True)
    result, settings_taken = done.record["result"], done.record["settings"]
    record |= {
        "recipe": str(job.recipe.relative_to(ROOT)),
        "best_step": result["best_step"],
        "steps": result["steps"],
        "pairs": done.record["data"]["pairs"],
        "settings": {key: settings_taken[key] for key in ("batch_size", "learning_rate", "max_length", "average")},
        "device": done.record["device"],
        "precision": done.record["precision"],
        "versions": done.record["versions"],
    }
    return {**record, "scores": scores, "seconds": round(time.monotonic() - begun, 1)}


def fitted(encoder: Any, name: str, work: Path) -> Any:
    """Return a map of vectors fitted on sentences without labels, as the isotropy wing fits it."""
    import torch

    from mirrormask.data.text.corpus import build_corpus
    from mirrormask.models.bulk import encode_texts

    transforms = importlib.import_module("mirrormask.isotropy").transforms
    corpus = build_corpus("wiki100k", work / "isotropy", limit=20_000)
    vectors: Any = torch.from_numpy(encode_texts(encoder, corpus.column(0, 0, len(corpus))))
    transform = transforms.build(name).fit(vectors.split(1000))

    def change(given: Any) -> Any:
        whole: Any = torch.from_numpy(given)
        parts = whole.split(4096)
        return torch.cat([transform.transform(part.to(encoder.device)).float().cpu() for part in parts]).numpy()

    return change


@contextlib.contextmanager
def claimed(out: Path, job: Job) -> Iterator[bool]:
    """Say whether this process may do a run that nobody has done or begun."""
    lock = out / f"{job.name}.claim"
    if (out / f"{job.name}.json").exists() or (out / f"{job.name}.failed").exists():
        yield False
        return
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        yield False
        return
    try:
        yield True
    finally:
        lock.unlink(missing_ok=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of the records")
    parser.add_argument("--group", default="", help="groups, separated by commas; all by default")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no run after so long")
    parser.add_argument("--work", type=Path, default=None, help="folder for what runs need while they last")
    parser.add_argument("--set", action="append", default=[], help="a further override of every recipe")
    parser.add_argument("--rows", default="", help="rows, separated by commas; all by default")
    asked = parser.parse_args()
    begun = time.monotonic()
    asked.out.mkdir(parents=True, exist_ok=True)
    work = asked.work or Path(tempfile.mkdtemp())
    work.mkdir(parents=True, exist_ok=True)
    groups, rows = set(asked.group.split(",")) - {""}, set(asked.rows.split(",")) - {""}
    todo = [job for job in jobs() if (not groups or job.group in groups) and (not rows or job.row in rows)]
    for failed in asked.out.glob("*.failed"):  # of an earlier command
        failed.unlink(missing_ok=True)
    measuring = Measuring()
    slowest = 0.0
    while todo and time.monotonic() - begun + slowest < asked.seconds:
        later = []
        for job in todo:
            if time.monotonic() - begun + slowest > asked.seconds:
                break
            overrides = planned(asked.out, job) if job.plan else job.overrides
            if overrides is None:
                later.append(job)
                continue
            with claimed(asked.out, job) as mine:
                if not mine:
                    continue
                start = time.monotonic()
                try:
                    record = perform(job, overrides, measuring, work, asked.set)
                except Exception as error:  # one run that cannot be must not take the others with it
                    print(f"{job.name}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
                    (asked.out / f"{job.name}.failed").touch()
                    continue
                part = asked.out / f"{job.name}.part"
                part.write_text(json.dumps(record), encoding="utf-8")
                part.rename(asked.out / f"{job.name}.json")
                slowest = max(slowest, time.monotonic() - start)
                print(f"{job.name}: {record['scores']['average']:.2f}, {record['seconds']} s", flush=True)
            if later and planned(asked.out, later[0]) is not None:
                break  # what waited can be done now, and comes first
        else:
            made = any(asked.out.glob("*.claim"))
            if not later or not (made or planned(asked.out, later[0]) is not None):  # nobody makes what these wait for
                break
            time.sleep(2)
        done = {path.stem for path in asked.out.iterdir() if path.suffix in (".json", ".failed")}
        todo = [job for job in todo if job.name not in done]


if __name__ == "__main__":
    main()
