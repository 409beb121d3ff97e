"""What transforms do to an encoder's vectors, fitted on Wikipedia and on the task's own texts, on STS and in search.

    python benchmarks/isotropy_runs.py --model mini --out results

Vectors are computed once; every transform is fitted twice for every task, on the same number of Wikipedia sentences
for all, and on the task's own texts without labels (both sides of all pairs; documents and queries). A record is
`results/isotropy-MODEL.json`, written anew after each task. Needs MIRRORMASK_DATA with `mteb/`, `retrieval/` and
`corpus/wiki100k.txt.bz2`.
"""

from __future__ import annotations

import argparse
import bz2
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mirrormask.core.errors import DataError
from mirrormask.core.similarity import unit_rows
from mirrormask.core.storage import write_json
from mirrormask.data.tasks.retrieval_collection import read_collection
from mirrormask.data.tasks.sts_tasks import load_sts
from mirrormask.evaluation.ranked.ranking import as_hits, nearest, places_of
from mirrormask.evaluation.ranked.ranking_measures import ranking_scores
from mirrormask.evaluation.statistics.correlation import spearman
from mirrormask.isotropy import transforms
from mirrormask.isotropy.fitting_on_text import different, mean_cosine
from mirrormask.models.bulk import encode_texts
from mirrormask.models.encoder import build_encoder

STS = ("stsb-dev", "sts12", "sts13", "sts14", "sts15", "stsb")
COLLECTIONS = (
    *("cranfield", "cisi", "cosqa_dev", "stackfaq_a", "trecqa_wang"),
    *("cacm", "npl", "fiqa_small", "medquad_liveqa", "qatarliving_train"),
)
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "centering": ("centering", {}),
    "standardization": ("standardization", {}),
    **{f"component-removal {n}": ("component-removal", {"components": n}) for n in (1, 3, 8)},
    "whitening": ("whitening", {}),
    **{f"whitening {k}": ("whitening", {"dimension": k}) for k in (64, 128, 256)},
    **{f"flow, {n} epochs": ("flow", {"epochs": float(n)}) for n in (1, 5)},
}
Vectors = NDArray[np.float32]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="mini")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--wikipedia", type=int, default=20_000, help="sentences")
    parser.add_argument("--seeds", type=int, default=3, help="of the flow")
    parser.add_argument("--most", type=int, default=0, help="texts of a task, for a trial; 0 takes all")
    parser.add_argument("--only", nargs="*", default=[], help="tasks")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no task after so long")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    data = Path(os.environ["MIRRORMASK_DATA"].split(os.pathsep)[0])
    encoder = build_encoder(asked.model, pooling=None if asked.model == "mini-sentence" else "mean")
    with bz2.open(data / "corpus" / "wiki100k.txt.bz2", "rt", encoding="utf-8") as stream:
        lines = [line.strip() for _, line in zip(range(asked.wikipedia), stream, strict=False)]
    general = encode_texts(encoder, list(different(lines)), precision="fp32")
    fitted_general = {name: fits(name, general, asked.seeds) for name in KINDS}
    file = asked.out / f"isotropy-{asked.model}.json"
    found: dict[str, Any] = {"model": asked.model, "wikipedia": len(general), "seeds": asked.seeds, "tasks": {}}
    for name in [*STS, *COLLECTIONS]:
        if (asked.only and name not in asked.only) or time.monotonic() - begun > asked.seconds:
            continue
        task = Similarity(encoder, name) if name in STS else Search(encoder, data / "retrieval" / name, asked.most)
        scores: dict[str, Any] = {"none": {"score": task.score(lambda x: x), "mean_cosine": mean_cosine(task.sample())}}
        for kind in KINDS:
            own = fits(kind, task.own, asked.seeds)
            for text, many in (("wikipedia", fitted_general[kind]), ("own", own)):
                scores[f"{kind}, {text}"] = {
                    "score": [task.score(each) for each in many],
                    "mean_cosine": [mean_cosine(each(task.sample())) for each in many],
                }
        found["tasks"][name] = {"texts": len(task.own), "scores": scores}
        write_json(file, found)
        print(name, round(time.monotonic() - begun), "s", flush=True)


def fits(kind: str, vectors: Vectors, seeds: int) -> list[Any]:
    """Return the fitted maps, one for each seed where there is chance in it; none where there are too few vectors."""
    name, parameters = KINDS[kind]
    found = []
    for seed in range(seeds if name == "flow" else 1):
        more = {"seed": seed} if name == "flow" else {}
        try:
            transform = transforms.build(name, **parameters, **more).fit([torch.from_numpy(vectors)])
        except DataError as error:
            print(kind, error, flush=True)
            return []
        found.append(lambda x, t=transform: t.transform(torch.from_numpy(x)).numpy())
    return found


class Similarity:
    """An STS task: Spearman's correlation, all subsets together."""

    def __init__(self, encoder: Any, name: str) -> None:
        pairs = load_sts(name)
        self.gold = pairs.scores
        texts = list(dict.fromkeys([*pairs.sentence1, *pairs.sentence2]))
        place = {text: row for row, text in enumerate(texts)}
        self.own = encode_texts(encoder, texts, precision="fp32")
        self.left, self.right = (self.own[[place[t] for t in side]] for side in (pairs.sentence1, pairs.sentence2))

    def sample(self) -> Vectors:
        return self.own[:: max(1, len(self.own) // 1000)]

    def score(self, transform: Any) -> float:
        left, right = (unit_rows(transform(side)) for side in (self.left, self.right))
        return 100 * float(spearman(np.einsum("nd,nd->n", left, right), self.gold))


class Search:
    """A collection with judged queries: nDCG@10 of cosines, texts cut at 256 tokens."""

    def __init__(self, encoder: Any, folder: Path, most: int) -> None:
        self.collection = read_collection(folder)
        texts = list(self.collection.texts())[: most or None]
        options: dict[str, Any] = {"max_length": 256, "precision": "fp32"}
        self.documents = encode_texts(encoder, texts, **options)
        self.queries = encode_texts(encoder, list(self.collection.queries), **options)
        self.own = np.unique(np.concatenate([self.documents, self.queries]), axis=0)

    def sample(self) -> Vectors:
        return self.own[:: max(1, len(self.own) // 1000)]

    def score(self, transform: Any) -> float:
        rows, scores = nearest(transform(self.queries), [transform(self.documents)])
        lists = as_hits(rows, scores, self.collection.documents)
        places = places_of(lists, self.collection.relevant)
        return 100 * float(ranking_scores(places, [100])["ndcg_at_10_percent"].mean())


if __name__ == "__main__":
    main()
