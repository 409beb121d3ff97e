"""Pairs of texts that belong together, drawn from plain text, a lexicon and documented code, as JSON lines.

    python recipes/mini-sentence/pairs.py --text en-1.txt.bz2 … --lexicon lexicon --code site-packages \
        --leave-out sts-sentences.txt --out pairs.jsonl

No label of any task is read. Kinds:
- keywords: a few telling words of a passage, as someone types who looks for it, and the passage
- sentence: one sentence of a passage, and the passage, in nine cases of ten without it (the inverse cloze task)
- passages: two passages of one text, or two texts that follow each other
- short: two to five words of a sentence and the sentence, or the sentence with other words left out each time
- name: what an article is about, read off "X is a …", and the paragraph without it
- reply: a question and what stands after it
- define, synonym, swap, paraphrase: of the lexicon
- code: a function's name or the first line of its documentation, and its documentation or its code

Rows come in runs of 32 of one kind, of neighboring texts where these are fair negatives of each other, for
`[pairing] together = 32`.
"""

from __future__ import annotations

import argparse
import ast
import bz2
import gzip
import json
import math
import multiprocessing
import random
import re
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Row = tuple[str, str, str]

WORD = re.compile(r"\w+(?:['’-]\w+)*")
END = re.compile(r"(?<=[.!?])[\"'”’)]*\s+(?=[\"'“‘(]?[A-Z0-9])")
ABOUT = re.compile(
    r"^(?:The |An? )?([A-Z][^.,;:()\"]{2,60}?)(?: \([^)]{1,120}\))?,? "
    r"(?:is|was|are|were|refers to) (?:an?|the|one|considered|located|any)\b"
)
ASKING = [
    *("what is", "what are", "how do i", "how to", "why is", "who", "where can i", "when did", "can i", "is there a"),
    *("does", "which", "i want to know about", "papers on", "information about"),
]
NAMING = ["what is ", "what is the ", "who is ", "where is ", "tell me about ", "definition of ", "what does it mean: "]
DULL = {
    "the",
    "a",
    "an",
    "of",
    "to",
    "in",
    "for",
    "and",
    "or",
    "is",
    "are",
    "be",
    "by",
    "with",
    "from",
    "that",
    "this",
    "on",
    "as",
    "it",
    "its",
    "return",
    "returns",
    "if",
}
TOPICAL = {"keywords", "sentence", "short", "name", "code", "reply"}
SHARES = {"keywords": 32, "sentence": 25, "passages": 18, "short": 25}
RUN, BLOCK, LONGEST = 32, 4000, 2000


def sentences(text: str) -> list[str]:
    return [part for part in END.split(text) if part.strip()]


def normal(text: str) -> str:
    return " ".join(word.lower() for word in WORD.findall(text))


class Rarity:
    """How rare a word is: the logarithm of the share of texts that have it, negated."""

    def __init__(self, texts: list[str]) -> None:
        self.count = len(texts)
        self.seen: Counter[str] = Counter()
        for text in texts:
            self.seen.update({word.lower() for word in WORD.findall(text)})

    def __call__(self, word: str) -> float:
        return math.log((self.count + 1) / (self.seen.get(word.lower(), 0) + 1))


def keywords(passage: str, fewest: int, most: int, rarity: Rarity, chance: random.Random) -> str:
    """Return some words of a passage, rare ones rather than common ones, mostly in their order."""
    words = list(dict.fromkeys(word for word in WORD.findall(passage) if len(word) > 1))
    if len(words) < fewest:
        return ""
    count = min(len(words), chance.randint(fewest, most))
    keys = [chance.random() ** (1 / (rarity(word) + 0.05)) for word in words]
    chosen = sorted(sorted(range(len(words)), key=lambda i: -keys[i])[:count])
    if chance.random() < 0.3:
        chance.shuffle(chosen)
    return " ".join(words[i] for i in chosen)


def passage_of(text: str, chance: random.Random, fewest: int, most: int) -> list[str]:
    """Return some sentences in a row, of at least `fewest` words where the text has them."""
    parts = sentences(text)
    start = chance.randrange(len(parts))
    wanted = int(2 ** chance.uniform(math.log2(fewest), math.log2(most)))
    chosen: list[str] = []
    words = 0
    for part in parts[start:]:
        chosen.append(part)
        words += len(part.split())
        if words >= wanted:
            break
    while words < fewest and start > 0:
        start -= 1
        chosen.insert(0, parts[start])
        words += len(parts[start].split())
    return chosen


def pair_of(kind: str, text: str, after: str, rarity: Rarity, chance: random.Random) -> tuple[str, str] | None:
    """Return two texts of a kind drawn from a text, and from the one after it."""
    words = text.split()
    if kind == "keywords":
        passage = " ".join(passage_of(text, chance, 20, 160))
        query = keywords(passage, 2, 10, rarity, chance)
        if query and chance.random() < 0.12:
            query = f"{chance.choice(ASKING)} {query}{chance.choice(['', '?'])}"
        return query, passage
    if kind == "sentence":
        parts = passage_of(text, chance, 40, 200)
        if len(parts) < 2:
            return None
        place = chance.randrange(len(parts))
        query = parts[place]
        if chance.random() < 0.9:
            parts = parts[:place] + parts[place + 1 :]
        if chance.random() < 0.3:
            query = keywords(query, 3, 12, rarity, chance) or query
        return query, " ".join(parts)
    if kind == "passages":
        parts = sentences(text)
        pair = None
        if len(parts) >= 4:
            cut = chance.randrange(2, len(parts) - 1)
            before, behind = parts[max(0, cut - chance.randint(1, 4)) : cut], parts[cut : cut + chance.randint(1, 4)]
            pair = (" ".join(before), " ".join(behind))
        elif len(words) >= 12 and len(after.split()) >= 12:
            pair = (text, after)
        return pair[::-1] if pair and chance.random() < 0.5 else pair
    words = chance.choice(sentences(text)).split()
    if len(words) < 6:
        return None
    if len(words) > 24:
        start = chance.randrange(len(words) - 20)
        words = words[start : start + chance.randint(8, 20)]
    if chance.random() < 0.8:
        return keywords(" ".join(words), 2, 5, rarity, chance), " ".join(words)
    one, two = (" ".join(word for word in words if chance.random() > 0.35) for _ in range(2))
    return one, two


def of_texts(job: tuple[list[str], str, Rarity]) -> list[Row]:
    """Return the pairs of a block of texts, in its order."""
    texts, seed, rarity = job
    chance = random.Random(seed)
    found: list[Row] = []
    for text, after in zip(texts, [*texts[1:], ""], strict=True):
        count = len(text.split())
        if count < 5:
            continue
        for _ in range(1 + (count > 60) + (count > 140)):
            kind = chance.choices(list(SHARES), list(SHARES.values()))[0]
            if count < 22 and kind in ("sentence", "keywords"):
                kind = "short"
            pair = pair_of(kind, text, after, rarity, chance)
            if pair and min(map(len, pair)) > 3:
                found.append((kind, *pair))
        about = ABOUT.match(text)
        if about and count > 12:
            name, rest = about.group(1).strip(), text[about.end(1) :]
            if chance.random() < 0.5:
                rest = re.sub(r"^[^a-zA-Z]*(?:\([^)]*\))?,? *", "", rest)
            if chance.random() < 0.4:
                name = f"{chance.choice(NAMING)}{name}{chance.choice(['', '?'])}"
            found.append(("name", name, " ".join(rest.split()[:200])))
        asks = text.rstrip().endswith("?") and 4 <= count <= 60
        if asks and len(after.split()) >= 5 and not after.rstrip().endswith("?"):
            found.append(("reply", text, " ".join(after.split()[:200])))
    return found


def of_wordnet(entry: dict[str, Any], barred: set[str], chance: random.Random) -> Iterable[Row]:
    words = [word.replace("_", " ") for word in entry["words"]]
    definition = "" if normal(entry["definition"]) in barred else entry["definition"]
    examples = [example for example in entry["examples"] if normal(example) not in barred]
    if len(definition.split()) >= 3:
        yield "define", chance.choice(words), definition
    if len(words) > 1:
        one, two = chance.sample(words, 2)
        yield "synonym", one, two
        for example in examples:
            for word in words:
                if re.search(rf"\b{re.escape(word)}\b", example):
                    other = chance.choice([each for each in words if each != word])
                    yield "swap", example, re.sub(rf"\b{re.escape(word)}\b", other, example, count=1)
                    break
    elif examples and definition:
        yield "define", chance.choice(examples), definition


def of_lexicon(folder: Path, barred: set[str], seed: int) -> list[Row]:
    """Return words with their definitions, words of one meaning, and sentences of one translation."""
    chance = random.Random(seed)
    found: list[Row] = []
    for line in lines_of(folder / "wordnet31.jsonl.gz"):
        found += of_wordnet(json.loads(line), barred, chance)
    for line in lines_of(folder / "moby_thesaurus.csv.gz"):
        words = [word for word in line.split(",") if word]
        if len(words) > 6:
            found += [("synonym", words[0], other) for other in chance.sample(words[1:], 2)]
    for line in lines_of(folder / "tatoeba_paraphrases.tsv.gz"):
        one, two = line.split("\t")
        if not {normal(one), normal(two)} & barred:
            found += [("paraphrase", one, two)] * 2
    return found


def functions_of(file: str) -> list[tuple[str, str, str, str]]:
    """Return name, first line, documentation and code of a file's documented functions."""
    try:
        text = Path(file).read_text(encoding="utf-8")
        tree = ast.parse(text)
    except (SyntaxError, ValueError, OSError, RecursionError):
        return []
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or not (doc := ast.get_docstring(node)):
            continue
        first = re.split(r"(?<=[.!?])\s|\n\s*\n", doc.strip())[0].replace("\n", " ")
        if 3 <= len(first.split()) <= 40 and not first.startswith((":", ">>>", "@", "..")):
            code = "\n".join(text.splitlines()[node.lineno - 1 : node.end_lineno])[:1500]
            found.append((node.name, first, " ".join(doc.split())[:1200], textwrap.dedent(code)))
    return found


def of_code(roots: list[str], seed: int, most: int) -> list[Row]:
    """Return what documentation says and the code that does it."""
    chance = random.Random(seed)
    files = sorted(str(file) for root in roots for file in Path(root).rglob("*.py") if "test" not in file.name)
    found: list[Row] = []
    seen: set[str] = set()
    with multiprocessing.Pool() as pool:
        for name, first, doc, code in (each for part in pool.imap(functions_of, files, 64) for each in part):
            if first in seen:
                continue
            seen.add(first)
            plain = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("_", " ").strip().lower()
            query = first.rstrip(".")
            if chance.random() < 0.5:
                query = " ".join(w for w in query.split() if w.lower() not in DULL or chance.random() < 0.3)
            if chance.random() < 0.15:
                query = f"python {query}" if chance.random() < 0.5 else f"{query} in python"
            if chance.random() < 0.1:
                query = f"how to {query[:1].lower()}{query[1:]}"
            draw, several = chance.random(), len(plain.split()) > 1
            if draw < 0.75:
                found.append(("code", query, code if draw < 0.45 else code.replace(first, "", 1)))
            elif several:
                nameless = re.sub(rf"def {re.escape(name)}\b", "def f", code)
                found.append(("code", plain, doc if draw < 0.9 else nameless))
    chance.shuffle(found)
    return found[:most]


def in_runs(blocks: list[list[Row]], loose: list[Row], seed: int) -> list[Row]:
    """Return rows in runs of one kind: of neighboring texts where these are fair negatives, of any where not."""
    chance = random.Random(seed)
    runs: list[list[Row]] = []
    for block in blocks:
        by_kind: dict[str, list[Row]] = defaultdict(list)
        for row in block:
            (by_kind[row[0]] if row[0] in TOPICAL else loose).append(row)
        for rows in by_kind.values():
            whole = len(rows) // RUN * RUN
            runs += [rows[i : i + RUN] for i in range(0, whole, RUN)]
            loose += rows[whole:]
    by_kind = defaultdict(list)
    for row in loose:
        by_kind[row[0]].append(row)
    for rows in by_kind.values():
        chance.shuffle(rows)
        runs += [rows[i : i + RUN] for i in range(0, len(rows) // RUN * RUN, RUN)]
    chance.shuffle(runs)
    return [row for run in runs for row in run]


def lines_of(path: Path) -> list[str]:
    opened = {".bz2": bz2.open, ".gz": gzip.open}.get(path.suffix, open)
    with opened(path, "rt", encoding="utf-8") as file:
        return [line.strip() for line in file if line.strip()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", nargs="+", type=Path, default=[], help="files with a text a line")
    parser.add_argument("--lexicon", type=Path, help="folder of WordNet, the Moby thesaurus and Tatoeba paraphrases")
    parser.add_argument("--code", nargs="*", default=[], help="folders of Python files")
    parser.add_argument("--leave-out", type=Path, help="a file of sentences that no pair may hold")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most-code", type=int, default=150_000)
    asked = parser.parse_args()
    barred = {normal(line) for line in lines_of(asked.leave_out)} if asked.leave_out else set()
    blocks: list[list[Row]] = []
    for number, file in enumerate(asked.text):
        texts = [text for text in lines_of(file) if normal(text) not in barred]
        rarity = Rarity(texts[:: max(1, len(texts) // 40_000)])
        jobs = [
            (texts[start : start + BLOCK], f"{asked.seed}-{number}-{start}", rarity)
            for start in range(0, len(texts), BLOCK)
        ]
        with multiprocessing.Pool() as pool:
            blocks += pool.map(of_texts, jobs, chunksize=1)
    loose = of_lexicon(asked.lexicon, barred, asked.seed) if asked.lexicon else []
    loose += of_code(asked.code, asked.seed, asked.most_code) if asked.code else []
    rows = in_runs(blocks, loose, asked.seed)
    with asked.out.open("w", encoding="utf-8") as out:
        for kind, one, two in rows:
            out.write(json.dumps({"kind": kind, "a": one[:LONGEST], "b": two[:LONGEST]}, ensure_ascii=False) + "\n")
    print(f"{len(rows):,} pairs: {dict(Counter(kind for kind, *_ in rows))}")


if __name__ == "__main__":
    main()
