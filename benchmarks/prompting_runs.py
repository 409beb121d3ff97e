"""The runs behind docs/results/prompting.md: each writes a record, so that what was cut goes on where it stopped.

    python benchmarks/prompting_runs.py records --seconds 600 --workers 4
    python benchmarks/prompting.py records

Settings are chosen on dev data with seeds that are reported nowhere; runs that wait for a choice, or for a model that
another run makes, are passed over until it is there. The most important runs come first.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from prompting_data import LENGTHS, MODELS, SMALL, Set, load_set

from mirrormask.core.errors import MirrormaskError
from mirrormask.core.seeding import generator
from mirrormask.core.storage import read_json, write_json
from mirrormask.models.bulk import encode_texts
from mirrormask.models.encoder import load
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.models.soft_prompt import SoftPrompt
from mirrormask.prompting.answers import measure
from mirrormask.prompting.cloze import Cloze
from mirrormask.prompting.cloze_rows import Examples, load_examples
from mirrormask.prompting.cloze_task import ClozeTask, Question, open_task
from mirrormask.prompting.distillation import Distilling, distill
from mirrormask.prompting.lama import (
    Facts,
    learn_facts,
    manual_templates,
    precision_at_1,
    read_facts,
    shared_vocabulary,
)
from mirrormask.prompting.next_generation import Generations
from mirrormask.prompting.pattern import Pattern
from mirrormask.prompting.pattern_tuning import Tuning, scores_of, tune
from mirrormask.prompting.pet import PromptTraining, fresh, train_prompt
from mirrormask.prompting.prompt_score import open_clozes
from mirrormask.prompting.saved_prompt import merged, plain_text
from mirrormask.prompting.word_search import find_words
from mirrormask.prompting.zero_shot import zero_shot

SEEDS, SEARCH = range(1, 11), (101, 102)
RATES, STEPS = (3e-5, 1e-4, 3e-4), (30, 60, 120)
SUPERGLUE = ("boolq", "cb", "copa", "multirc", "record", "rte", "wic", "wsc")
WORD_SETS = {
    "good, bad": {"1": ["good"], "0": ["bad"]},
    "great, terrible": {"1": ["great"], "0": ["terrible"]},
    "good and great, bad and terrible": {"1": ["good", "great"], "0": ["bad", "terrible"]},
    "wonderful, dull": {"1": ["wonderful"], "0": ["dull"]},
    "best, worst": {"1": ["best"], "0": ["worst"]},
    "perfect, poor": {"1": ["perfect"], "0": ["poor"]},
}
VOLATILE = (
    "{text} is located in [MASK] .",
    "{text} is located in which country or state? [MASK] .",
    "{text} is located in which country? [MASK] .",
    "{text} is located in which country? In [MASK] .",
    "{text}, in the country of [MASK] .",
    "the country of {text} is [MASK] .",
)
POOL = 2000


@dataclass(frozen=True)
class Run:
    """One record to make.

    Args:
        name: of its file.
        make: returns what is recorded.
        needs: records that must be there.
    """

    name: str
    make: Callable[[Path], dict[str, Any]]
    needs: tuple[str, ...] = ()


@cache
def base(model: str) -> MaskedLM:
    return MaskedLM.load(model)


def model_of(name: str, out: Path, adapted: bool) -> str:
    plain = MODELS.get(name, "mini")
    return str(scratch(out) / f"adapted-{plain}" / "model") if adapted else plain


def scratch(out: Path) -> Path:
    """Return where models go that are not to be kept."""
    folder = Path(os.environ.get("PROMPTING_SCRATCH", str(out)))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def accuracy(scores: Any, examples: Examples, task: ClozeTask) -> float:
    return float((np.asarray(scores).argmax(1) == examples.numbers(task.labels)).mean())


def texts(examples: Examples) -> list[str]:
    return [plain_text(each) for each in examples.fields]


# choosing


def search(name: str, method: str, rate: float, seed: int, out: Path) -> dict[str, Any]:
    """Try every number of steps at one rate with 32 examples: a classifier, or the first pattern."""
    data, found = load_set(name), {}
    few = data.few(32, seed)
    for steps in STEPS[:1] if SMALL else STEPS:
        if method == "classifier":
            scores = fine_tuned(data, few, data.dev, "mini", rate, steps, seed, name)
        else:
            cloze = open_clozes(fresh(base("mini")), data.task, LENGTHS[name])[0]
            tune(cloze, few, data.task.labels, tuning(rate, steps, seed))
            scores = scores_of(cloze, data.dev)
        found[str(steps)] = accuracy(scores, data.dev, data.task)
    return {"method": method, "rate": rate, "seed": seed, "accuracy": found}


def searches(name: str, method: str) -> list[str]:
    return [f"search-{name}-{method}-{rate}-{seed}" for rate, seed in tried()]


def tried() -> list[tuple[float, int]]:
    pairs = [(rate, seed) for rate in RATES for seed in SEARCH]
    return pairs[:1] if SMALL else pairs


def choice(name: str, method: str, out: Path) -> tuple[float, int]:
    """Return rate and steps of the best mean accuracy on the dev set."""
    records = [read_json(out / f"{each}.json") for each in searches(name, method)]
    means = {
        (rate, steps): float(np.mean([r["accuracy"][str(steps)] for r in records if r["rate"] == rate]))
        for rate in dict(tried())
        for steps in (STEPS[:1] if SMALL else STEPS)
    }
    return max(means, key=lambda key: means[key])


def short(steps: int) -> int:
    return min(steps, 2) if SMALL else steps


def tuning(rate: float, steps: int, seed: int, **more: Any) -> Tuning:
    return Tuning(steps=short(steps), learning_rate=rate, seed=seed, precision="fp32", **more)


def fine_tuned(
    data: Set, few: Examples, test: Examples, model: str, rate: float, steps: int, seed: int, name: str
) -> Any:
    """Return logits of a classifier that was fine-tuned on examples alone."""
    how = Distilling(short(steps), 16, rate, max_length=LENGTHS[name], seed=seed, precision="fp32")
    classifier = distill(model, data.task.labels, texts(few), few.numbers(data.task.labels), how)
    return classifier.logits(texts(test))


# few examples


def few_shot(name: str, size: int, seed: int, adapted: bool, out: Path) -> dict[str, Any]:
    """Everything that one draw of examples gives: a classifier, single patterns, their mean, and PET."""
    data = load_set(name)
    model = model_of(name, out, adapted)
    few, more = data.few(size, seed), data.unlabelled(POOL, seed)
    scale = max(1, round((size / 32) ** 0.5)) if size > 32 else 1
    rate, steps = choice("imdb" if name == "imdb" else "mr", "classifier", out)
    record: dict[str, Any] = {"size": size, "seed": seed, "adapted": adapted, "chosen": {"classifier": [rate, steps]}}
    scores = fine_tuned(data, few, data.test, model, rate, steps * scale, seed, name)
    record["classifier"] = accuracy(scores, data.test, data.task)
    rate, steps = choice("imdb" if name == "imdb" else "mr", "pattern", out)
    record["chosen"]["pattern"] = [rate, steps]
    how = PromptTraining(
        "pet",
        tuning(rate, steps * scale, seed),
        distilling=Distilling(short(200), 32, 1e-4, max_length=LENGTHS[name], precision="fp32"),
    )
    trained = train_prompt(
        data.task, few, how, model=model, unlabelled=more, max_length=LENGTHS[name], base=base(model)
    )
    single = [scores_of(member, data.test) for member in trained.members]
    record["patterns"] = [accuracy(each, data.test, data.task) for each in single]
    record["ensemble"] = accuracy(merged(single, trained.weights), data.test, data.task)
    record["pet"] = accuracy(trained.scores(data.test), data.test, data.task)
    if not adapted:
        semi = replace(how, mode="few-shot", tuning=replace(how.tuning, mlm_weight=0.1))
        first = replace(data.task, questions=data.task.questions[:1])
        lm = base(model)
        found = train_prompt(first, few, semi, model=model, unlabelled=more, max_length=LENGTHS[name], base=lm)
        record["semi-supervised"] = accuracy(found.scores(data.test), data.test, data.task)
        record["probe"] = probe(data, few)
    return record


@cache
def encoder() -> Any:
    return load("mini-sentence")


@cache
def frozen_vectors(name: str) -> Any:
    return encode_texts(encoder(), texts(load_set(name).test))


def probe(data: Set, few: Examples) -> float:
    """Return the accuracy of a logistic regression on frozen vectors of mini-sentence."""
    from sklearn.linear_model import LogisticRegression

    vectors = encode_texts(encoder(), texts(few))
    fitted = LogisticRegression(max_iter=2000).fit(vectors, few.labels)
    return float((fitted.predict(frozen_vectors(data.task.name)) == np.array(data.test.labels)).mean())


def untrained(name: str, adapted: bool, out: Path) -> dict[str, Any]:
    """Zero-shot by every pattern and by all, plain and calibrated; with other words, and with words that are found."""
    data = load_set(name)
    lm = base(model_of(name, out, adapted))
    more = data.unlabelled(POOL, 1)

    def both(task: ClozeTask) -> dict[str, Any]:
        clozes = open_clozes(lm, task, LENGTHS[name])
        groups = {"all": clozes, **{each.pattern.template.text: [each] for each in clozes}}
        shots = {key: zero_shot(each, data.test.fields, more.fields) for key, each in groups.items()}
        return {
            key: [accuracy(each.plain, data.test, task), accuracy(each.calibrated, data.test, task)]
            for key, each in shots.items()
        }

    record: dict[str, Any] = {"adapted": adapted, "patterns": both(data.task)}
    if name in ("mr", "imdb"):
        record["words"] = {key: both(replace(data.task, words=words))["all"] for key, words in WORD_SETS.items()}
        found = []
        for seed in () if adapted else SEEDS[:1] if SMALL else SEEDS:
            few = data.few(32, seed)
            open_ended = [Cloze(lm, each.pattern) for each in open_clozes(lm, data.task, LENGTHS[name])]
            best = find_words(open_ended, few.fields, few.labels, more.fields[:1000], words=3)
            words = {label: [word for word, _ in best[label]] for label in data.task.labels}
            if not all(words.values()):
                continue
            found.append({"words": words, "accuracy": both(replace(data.task, words=words))["all"]})
        record["found"] = found
    return record


def zero_ipet(name: str, seed: int, out: Path) -> dict[str, Any]:
    """iPET from no labels at all, beside calibrated zero-shot with the same unlabelled texts."""
    data = load_set(name)
    more = data.unlabelled(POOL, seed)
    rate, steps = choice("mr", "pattern", out)
    how = PromptTraining(
        "ipet",
        tuning(rate, max(steps, 60), seed),
        distilling=Distilling(short(200), 32, 1e-4, max_length=LENGTHS[name], precision="fp32"),
        generations=Generations(count=2, start=20),
    )
    found = train_prompt(data.task, None, how, unlabelled=more, max_length=LENGTHS[name], base=base("mini"))
    shot = zero_shot(open_clozes(base("mini"), data.task, LENGTHS[name]), data.test.fields, more.fields)
    record = {"seed": seed, "ipet": accuracy(found.scores(data.test), data.test, data.task)}
    found.classifier = None
    record["ensemble"] = accuracy(found.scores(data.test), data.test, data.task)
    return {**record, "zero": accuracy(shot.calibrated, data.test, data.task)}


# facts


def facts(relation: str, out: Path) -> dict[str, Any]:
    """LAMA's four columns for one relation: manual prompt, fine-tuning, both, and P-tuning with the model frozen."""
    lm = base("mini")
    vocabulary = shared_vocabulary(lm.tokenizer)
    train, dev, test = (read_facts(relation, split, lm.tokenizer, vocabulary) for split in ("train", "dev", "test"))
    manual = manual_templates()[relation]
    width = lm.model.get_input_embeddings().weight.shape[1]

    def asked(template: str, model: MaskedLM, soft: bool = False) -> Cloze:
        pattern = Pattern(template, model.tokenizer, 64)
        spread = float(model.model.get_input_embeddings().weight.detach().std())
        prompt = SoftPrompt(pattern.template.soft, width, "lstm", scale=spread).to(model.device) if soft else None
        return Cloze(model, pattern, None, prompt).eval()

    steps = max(1, len(train) // 32)
    how = Tuning(
        steps=short(steps * 8),
        batch_size=32,
        learning_rate=1e-4,
        precision="fp32",
        evaluate_every=max(1, short(steps * 2)),
    )
    record: dict[str, Any] = {"relation": relation, "facts": len(test), "left_out": test.left_out}
    record["manual"] = precision_at_1(asked(manual, lm), test, vocabulary)
    counts = np.bincount(train.objects)
    record["majority"] = float((test.objects == counts.argmax()).mean())
    frozen = replace(how, steps=short(steps * 16), learning_rate=1e-3, soft_rate=1.0, frozen=True)
    for name, template, model, settings in (
        ("p-tuning", "[P*3] {text} [P*3] [MASK] [P*3]", lm, frozen),
        ("fine-tuning", "{text} [MASK] .", None, how),
        ("manual+fine-tuning", manual, None, how),
    ):
        cloze = asked(template, model or fresh(lm), soft="[P" in template)
        record[name] = precision_at_1(learn_facts(cloze, train, dev, vocabulary, settings), test, vocabulary)
    return record


def volatility(out: Path) -> dict[str, Any]:
    """One relation asked in slightly different words."""
    lm = base("mini")
    vocabulary = shared_vocabulary(lm.tokenizer)
    test = read_facts("P17", "test", lm.tokenizer, vocabulary)
    rows = generator(7, "P17").permutation(len(test))[:400]
    test = Facts("P17", [test.subjects[i] for i in rows], test.objects[rows], test.left_out)
    found = {}
    for template in VOLATILE:
        found[template] = precision_at_1(Cloze(lm, Pattern(template, lm.tokenizer, 64)), test, vocabulary)
    return {"facts": len(test), "precision": found}


# benchmarks with 32 examples


def superglue(name: str, seed: int, out: Path) -> dict[str, Any]:
    """Every pattern tuned on the 32 examples, their mean, P-tuning with dev32, and the most frequent label."""
    task = open_task(name)
    few, dev = load_examples(task, "train"), load_examples(task, "dev32")
    test = load_examples(task, "test")
    rng = np.random.default_rng(5)
    most = 4 if SMALL else 1500
    if len(test) > most and (SMALL or not test.groups):
        test = test.take(rng.permutation(len(test))[:most].tolist())
    few, dev = (each.take(rng.permutation(len(each))[: 4 if SMALL else 64].tolist()) for each in (few, dev))
    rate, steps = 1e-4, 60
    how = PromptTraining("few-shot", tuning(rate, steps, seed, batch_size=8), weights="uniform")
    trained = train_prompt(task, few, how, max_length=256, base=base("mini"))
    gold = test.numbers(task.labels)

    def measured(scores: Any) -> dict[str, float]:
        return measure(np.asarray(scores).argmax(1), gold, scores.shape[1], test.groups)

    single = [scores_of(member, test) for member in trained.members]
    record: dict[str, Any] = {"task": name, "seed": seed, "patterns": [measured(each) for each in single]}
    record["ensemble"] = measured(merged(single, [1.0] * len(single)))
    for origin in {each.origin for each in task.questions}:
        part = [s for s, each in zip(single, task.questions, strict=True) if each.origin == origin]
        record[f"origin {origin}"] = measured(merged(part, [1.0] * len(part)))
    if seed == 1:
        clozes = open_clozes(base("mini"), task, 256)
        record["zero"] = measured(merged([scores_of(each, test) for each in clozes], [1.0] * len(clozes)))
    if task.labels:
        soft = replace(task, questions=(Question("[P*2] " + task.questions[0].template, task.questions[0].words),))
        tuned = replace(how, tuning=replace(how.tuning, evaluate_every=10), soft="lstm-wide")
        record["p-tuning"] = measured(train_prompt(soft, few, tuned, dev=dev, base=base("mini")).scores(test))
    return record


# Chinese


def chinese(seed: int, adapted: bool, out: Path) -> dict[str, Any]:
    """The five patterns: few examples, and these with the masked-LM loss on unlabelled text."""
    name = "sentiment-zh"
    data = load_set(name)
    model = model_of(name, out, adapted)
    few, more = data.few(32, seed), data.unlabelled(POOL, seed)
    record: dict[str, Any] = {"seed": seed, "adapted": adapted}
    for key, weight in (("few-shot", 0.0), ("semi-supervised", 0.1)):
        how = PromptTraining("few-shot", tuning(1e-4, 60, seed, mlm_weight=weight), weights="uniform")
        trained = train_prompt(
            data.task, few, how, model=model, unlabelled=more, max_length=LENGTHS[name], base=base(model)
        )
        single = [scores_of(member, data.test) for member in trained.members]
        record[key] = [accuracy(each, data.test, data.task) for each in single]
        record[f"{key} ensemble"] = accuracy(merged(single, trained.weights), data.test, data.task)
    return record


def adapt(model: str, names: tuple[str, ...], minutes: float, out: Path) -> dict[str, Any]:
    """Continue a masked LM on texts without labels: the pools of the sets, never their dev or test texts."""
    lines = [text.replace("\n", " ") for name in names for text in texts(load_set(name).pool)]
    file = scratch(out) / f"{model}-texts.txt"
    file.write_text("\n".join(lines), encoding="utf-8")
    folder = scratch(out) / f"adapted-{model}"
    batch, length = ("8", "32") if SMALL else ("256", "128")
    options = ["--init", model, "--out", str(folder), "--minutes", str(minutes), "--batch-size", batch]
    command = [sys.executable, "-m", "mirrormask", "pretrain", str(file), *options, "--length", length, "--quiet"]
    subprocess.run(command, check=True)
    return {"texts": len(lines), "minutes": minutes}


def relations() -> list[str]:
    lm = base("mini")
    vocabulary = shared_vocabulary(lm.tokenizer)
    found = []
    for relation in manual_templates():
        try:
            sizes = [len(read_facts(relation, split, lm.tokenizer, vocabulary)) for split in ("train", "dev", "test")]
            if sizes[0] >= 32 and min(sizes) >= 10:
                found.append(relation)
        except MirrormaskError:
            continue
    return sorted(found)


def runs(minutes: float) -> Iterator[Run]:
    """Yield everything, the most important first."""
    seeds = SEEDS[1:2] if SMALL else SEEDS
    for rate, seed in tried():
        for name, method in (("mr", "pattern"), ("mr", "classifier"), ("imdb", "pattern"), ("imdb", "classifier")):
            yield Run(f"search-{name}-{method}-{rate}-{seed}", partial(search, name, method, rate, seed))
    yield Run("adapted-mini", partial(adapt, "mini", ("mr", "imdb"), minutes))
    chosen = {name: (*searches(name, "pattern"), *searches(name, "classifier")) for name in ("mr", "imdb")}
    for seed in seeds:
        for name in ("mr", "imdb"):
            make = partial(few_shot, name, 32, seed, False)
            yield Run(f"few-{name}-32-{seed}", make, chosen[name])
        for name in ("mr", "ag-news"):
            yield Run(f"ipet-{name}-{seed}", partial(zero_ipet, name, seed), searches("mr", "pattern"))
        if seed == 2:
            yield Run("zero-mr", partial(untrained, "mr", False))
            yield Run("zero-imdb", partial(untrained, "imdb", False))
            yield Run("volatility", volatility)
            for relation in relations()[: 1 if SMALL else None]:
                yield Run(f"facts-{relation}", partial(facts, relation))
    for seed in seeds:
        for name in ("mr", "imdb"):
            make = partial(few_shot, name, 32, seed, True)
            yield Run(f"adapted-{name}-32-{seed}", make, (*chosen[name], "adapted-mini"))
    yield Run("zero-ag-news", partial(untrained, "ag-news", False))
    yield Run("zero-mr-adapted", partial(untrained, "mr", True), ("adapted-mini",))
    yield Run("zero-imdb-adapted", partial(untrained, "imdb", True), ("adapted-mini",))
    yield Run("adapted-mini-zh", partial(adapt, "mini-zh", ("sentiment-zh",), minutes / 2))
    yield Run("zero-sentiment-zh", partial(untrained, "sentiment-zh", False))
    yield Run("zero-sentiment-zh-adapted", partial(untrained, "sentiment-zh", True), ("adapted-mini-zh",))
    for seed in seeds:
        for name in (SUPERGLUE[1:5] if SMALL else SUPERGLUE) if seed <= 3 else ():
            yield Run(f"superglue-{name}-{seed}", partial(superglue, name, seed))
        for size in (10, 100, 1000):
            yield Run(f"few-mr-{size}-{seed}", partial(few_shot, "mr", size, seed, False), chosen["mr"])
        yield Run(f"chinese-{seed}", partial(chinese, seed, False))


def work(out: Path, until: float, only: str, minutes: float) -> None:
    """Make records until the time is over; what another process has begun is its own."""
    todo = [each for each in runs(minutes) if only in each.name]
    while todo and time.time() < until:
        ready = [each for each in todo if all((out / f"{need}.json").exists() for need in each.needs)]
        if not ready:
            time.sleep(1)
            todo = [each for each in todo if not (out / f"{each.name}.failed").exists()]
            continue
        todo.remove(ready[0])
        run = ready[0]
        try:
            (out / f"{run.name}.begun").open("x").close()
        except FileExistsError:
            continue
        begun = time.time()
        try:
            record = run.make(out)
        except Exception as error:
            (out / f"{run.name}.failed").write_text(repr(error))
            print(run.name, repr(error), file=sys.stderr, flush=True)
            continue
        write_json(out / f"{run.name}.json", {**record, "seconds": round(time.time() - begun, 1)})
        print(f"{run.name} {time.time() - begun:.1f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--only", default="", help="only runs whose name holds this")
    parser.add_argument("--minutes", type=float, default=1.5, help="of continued pretraining")
    parser.add_argument("--small", action="store_true", help="try everything at a tiny size")
    parser.add_argument("--until", type=float, default=0, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.small:
        SMALL.append(True)
        LENGTHS.update(dict.fromkeys(LENGTHS, 24))
    asked.out.mkdir(parents=True, exist_ok=True)
    torch.set_float32_matmul_precision("high")
    until = asked.until or time.time() + asked.seconds
    others = []
    if not asked.until:
        for left in asked.out.glob("*.begun"):
            if not left.with_suffix(".json").exists():
                left.unlink()
        for left in asked.out.glob("*.failed"):
            left.unlink()
        command = [sys.executable, *sys.argv, "--until", str(until)]
        others = [subprocess.Popen(command) for _ in range(asked.workers - 1)]
    work(asked.out, until, asked.only, asked.minutes)
    for each in others:
        each.wait()
    print(json.dumps({"records": len(list(asked.out.glob("*.json")))}))


if __name__ == "__main__":
    main()
