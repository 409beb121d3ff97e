"""The runs behind docs/results/family.md: every published method from the same start, at equal text, batch and steps.

    python benchmarks/family_runs.py --out results --part rates
    python benchmarks/family_runs.py --out results --part seeds
    python benchmarks/family_page.py results

A run is one recipe of `recipes/family` with one rate and one seed, and one small file of `results`; what has a file is
not made again, so a command that was stopped goes on, and several may share a folder. All runs are made by one
interpreter, and read a text once. First every recipe is tried with three rates on two seeds, and STS-B dev chooses one;
then ten other seeds are run with it and measured on STS and on ten collections. Needs MIRRORMASK_DATA with `mteb/`,
`retrieval/`, `corpus/` and `lexicon/`.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import statistics
import tempfile
import time
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from retrieval import APART, CHOSEN_ON, TOKENS, Collection

from mirrormask.core.errors import MirrormaskError
from mirrormask.core.seeding import Seeds
from mirrormask.core.storage import write_json
from mirrormask.evaluation.sts import sts_spearman
from mirrormask.models.bulk import encode_texts
from mirrormask.models.encoder import build_encoder, load
from mirrormask.runs.average_words import average_words
from mirrormask.runs.recipe import Recipe, read_recipe
from mirrormask.runs.runner import run_recipe

RECIPES = Path(__file__).parents[1] / "recipes" / "family"
DEV, STS = "stsb-dev", ("sts12", "sts13", "sts14", "sts15", "stsb")
RATES, TRIED, SEEDS = (1e-5, 3e-5, 1e-4), (1, 2), tuple(range(11, 21))
"""Rates of every recipe, the seeds they are tried with, and the seeds of the table."""

BASELINES = ("start", "words-plain", "words-sif", "words-idf")
"""Rows without training: the start as it is, and averaged vectors of the words of the same text."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--part", choices=("rates", "seeds", "baselines"), required=True)
    parser.add_argument("--only", nargs="*", default=[], help="recipes by name")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no run after so long")
    parser.add_argument("--set", nargs="*", default=[], help="changes of all recipes, for a trial: training.steps=5")
    parser.add_argument("--seeds", type=int, nargs="*", default=[], help="instead of those of the table, for a trial")
    parser.add_argument("--collections", nargs="*", default=[*CHOSEN_ON, *APART])
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    if asked.part == "baselines":
        for name in BASELINES:
            write_once(asked.out / f"{name}.json", partial(baseline, name, asked.set, asked.collections))
        return
    for path, rate, seed in planned(asked.part, asked.out, asked.only, asked.seeds):
        if time.monotonic() - begun > 60 * asked.minutes:
            break
        file = asked.out / f"{asked.part}-{path.stem}-{rate:g}-{seed}.json"
        searched = asked.collections if asked.part == "seeds" else None
        write_once(file, partial(trained, path, rate, seed, asked.set, searched))


def planned(part: str, out: Path, only: list[str], seeds: list[int]) -> list[tuple[Path, float, int]]:
    """Return recipe, rate and seed of every run of a part, seed by seed, so that one cut short has whole seeds."""
    paths = [path for path in sorted(RECIPES.glob("*.toml")) if not only or path.stem in only]
    if part == "rates":
        return [(path, rate, seed) for seed in seeds or TRIED for path in paths for rate in RATES]
    rates = chosen_rates(records_of(out))
    missing = [path.stem for path in paths if path.stem not in rates]
    if missing:
        print(f"No rate was chosen yet for {', '.join(missing)}: run --part rates first.", flush=True)
    return [(path, rates[path.stem], seed) for seed in seeds or SEEDS for path in paths if path.stem in rates]


def records_of(folder: Path) -> list[dict[str, Any]]:
    """Return all records of a folder, in the order of their names."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]


def chosen_rates(records: list[dict[str, Any]]) -> dict[str, float]:
    """Return the rate of every recipe with the best mean on STS-B dev; of equals, the lowest."""
    tried: dict[str, dict[float, list[float]]] = {}
    for record in records:
        if record["part"] == "rates" and "error" not in record:
            tried.setdefault(record["name"], {}).setdefault(record["rate"], []).append(record["dev"])
    means = {name: {rate: float(np.mean(found)) for rate, found in rates.items()} for name, rates in tried.items()}
    return {name: max(sorted(rates), key=rates.__getitem__) for name, rates in means.items()}


def write_once(file: Path, make: Any) -> None:
    """Write the record of a run, unless it is there; a run that cannot be made leaves its reason."""
    if file.exists():
        return
    try:
        record = make()
    except MirrormaskError as error:
        record = {"name": file.stem.split("-")[1], "part": "failed", "error": str(error)}
    write_json(file, record)
    told = {key: record[key] for key in ("dev", "error") if key in record}
    print(file.stem, told, flush=True)


def trained(path: Path, rate: float, seed: int, changes: list[str], collections: list[str] | None) -> dict[str, Any]:
    """Run a recipe and return what became of it.

    Args:
        path: of the recipe.
        rate: its learning rate.
        seed: of everything.
        changes: of the recipe, for a trial.
        collections: that are searched in, with STS; None measures on STS-B dev alone.
    """
    recipe = read_recipe(path, [f"training.learning_rate={rate}", *changes])
    recipe = dataclasses.replace(recipe, seeds=Seeds.all(seed))
    with tempfile.TemporaryDirectory() as folder:
        done = run_recipe(recipe, Path(folder) / "run", work=shared_text(recipe))
        metrics = [json.loads(line) for line in (done.folder / "metrics.jsonl").read_text().splitlines()]
        speeds = [row["steps_per_second"] for row in metrics if "steps_per_second" in row][5:] or [0.0]
        encoder = load(done.model)
        record = {
            "name": path.stem,
            "part": "seeds" if collections is not None else "rates",
            "method": recipe.method.name,
            "rate": rate,
            "seed": seed,
            "dev": sts_spearman(encoder, DEV),
            "seconds_per_step": 1 / max(statistics.median(speeds), 1e-9),
            "best_step": done.record["result"]["best_step"],
            "device": done.record["device"],
            "precision": done.record["precision"],
        }
        return {**record, **({} if collections is None else measured(encoder, collections))}


@cache
def text_folder() -> Path:
    """Return a folder for texts that several runs read."""
    return Path(tempfile.mkdtemp(prefix="family-text-"))


def shared_text(recipe: Recipe) -> Path:
    """Return where the prepared text of a recipe is kept for others of the same text and length."""
    name = "-".join([*recipe.data.corpus, *recipe.data.columns, recipe.method.name]).replace("/", "_").replace(":", "_")
    return text_folder() / name


def baseline(name: str, changes: list[str], collections: list[str]) -> dict[str, Any]:
    """Return the record of a row that is not trained."""
    recipe = read_recipe(RECIPES / "simcse.toml", changes)
    if name == "start":
        return {
            "name": name,
            "part": "baseline",
            **measured(build_encoder(recipe.model.name, pooling="mean"), collections),
        }
    from mirrormask.data.text.origin import find_origin

    rows = find_origin(recipe.data.corpus[0]).rows()
    texts = [text for cells in rows if cells is not None for text in cells][: recipe.data.limit or None]
    with tempfile.TemporaryDirectory() as folder:
        average_words(texts, out=Path(folder) / "words", weights=name.removeprefix("words-"))
        return {"name": name, "part": "baseline", **measured(load(Path(folder) / "words"), collections)}


def measured(encoder: Any, collections: list[str]) -> dict[str, Any]:
    """Return Spearman's correlations and nDCG@10 of an encoder, in percent."""
    tasks = {task: sts_spearman(encoder, task) for task in (DEV, *STS)}
    found = {}
    for name in collections:
        collection = collection_of(name)
        sides = []
        for texts in (collection.queries, collection.documents):
            vectors = encode_texts(encoder, texts, max_length=TOKENS)
            sides.append(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9))
        found[name] = collection.ndcg(sides[0] @ sides[1].T)
    return {"dev": tasks.pop(DEV), "sts": tasks, "search": found}


@cache
def collection_of(name: str) -> Collection:
    """Return a collection, read once."""
    return Collection(Path(os.environ["MIRRORMASK_DATA"].split(os.pathsep)[0]) / "retrieval" / name)


if __name__ == "__main__":
    main()
