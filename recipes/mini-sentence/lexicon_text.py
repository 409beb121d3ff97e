"""Running text made of a lexicon, one entry a line: what words mean, what they are like, and what they are not.

    python recipes/mini-sentence/lexicon_text.py lexicon sts-sentences.txt lexicon.txt

Entries of WordNet with their examples and opposites, parts of the Moby thesaurus, and short sentences that say the same
of a thing in two words of one meaning. Sentences of the second file are left out.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

WORD = re.compile(r"\w+(?:['’-]\w+)*")
THINGS = (
    "book film story movie play meal song house day evening journey meeting speech idea plan show game scene ending "
    "performance place town hotel teacher letter result weather picture voice work job lesson piece night summer party "
    "dinner trip novel script actor plot character direction dialogue joke"
)
SAYINGS = [
    "the {t} was {a}. it was {b}.",
    "it was {a}, {b} and {c}.",
    "a {a} {t}. it was {b}.",
    "i found the {t} {a}, and she called it {b}.",
    "what a {a} {t}; it is {b}.",
    "{a} and {b}, the {t} was {c}.",
    "a {a}, {b} {t}, all in all it was {c}.",
    "the {t} is {a} and {b}. it was {c}.",
]


def normal(text: str) -> str:
    return " ".join(word.lower() for word in WORD.findall(text))


def lines_of(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from (line.strip() for line in file)


def entry_text(entry: dict[str, Any], barred: set[str], chance: random.Random) -> str:
    """Return a synset as sentences."""
    words, like = ([word.replace("_", " ") for word in entry[key]] for key in ("words", "broader_or_similar"))
    parts = []
    if normal(entry["definition"]) not in barred:
        meaning = "to {} means to {}." if entry["pos"] == "v" else "{} means {}."
        parts.append(meaning.format(chance.choice(words), entry["definition"]))
    if len(words) > 1:
        parts.append(", ".join(chance.sample(words, len(words))) + ".")
    parts += [each.rstrip(".;") + "." for each in entry["examples"] if normal(each) not in barred]
    if entry["pos"] in "as" and like:
        near = " or ".join(chance.sample(like, min(3, len(like))))
        parts.append(f"something {chance.choice(words)} is {near}.")
    if entry["antonyms"]:
        parts.append("; ".join(f"{one}, not {two}" for one, two in entry["antonyms"][:3]) + ".")
    return " ".join(parts)


def main() -> None:
    folder, barred = Path(sys.argv[1]), set(Path(sys.argv[2]).read_text(encoding="utf-8").splitlines())
    chance = random.Random(7)
    entries = [json.loads(line) for line in lines_of(folder / "wordnet31.jsonl.gz")]
    adjectives = {word for entry in entries if entry["pos"] in "as" for word in entry["words"] if "_" not in word}
    lines = [text for entry in entries if (text := entry_text(entry, barred, chance))]
    rows = [[word for word in line.split(",") if word] for line in lines_of(folder / "moby_thesaurus.csv.gz")]
    moby = {row[0]: row[1:] for row in rows if len(row) > 6}
    for head, words in moby.items():
        for _ in range(2):
            lines.append(f"{head}: {', '.join(chance.sample(words, min(len(words), chance.randint(8, 40))))}.")
    for head in [word for word in moby if word in adjectives] * 3:
        near = [word for word in moby[head] if word in adjectives and head in moby.get(word, ())]
        if len(near) > 1:
            one, two = chance.sample(near, 2)
            said = chance.choice(SAYINGS).format(a=head, b=one, c=two, t=chance.choice(THINGS.split()))
            lines.append(re.sub(r"\ba (?=[aeiou])", "an ", said))
    chance.shuffle(lines)
    Path(sys.argv[3]).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
