"""Rows of benchmarks in their own layouts, as rows with one text a column.

Paper: Wang et al. 2019, "SuperGLUE"; the forms of the texts are those of Schick and Schütze 2021, "It's Not Just Size
    That Matters", Appendix A
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mirrormask.core.errors import DataError

Row = Mapping[str, Any]

_JOINTS = {"cause": "because", "effect": "so"}


def table(row: Row) -> Iterator[Row]:
    """Yield the row as it is."""
    yield row


def boolq(row: Row) -> Iterator[Row]:
    """Yield a passage with a question."""
    yield row


def nli(row: Row) -> Iterator[Row]:
    """Yield a premise with a hypothesis, whatever a file calls them."""
    names = {"sentence1": "premise", "sentence2": "hypothesis", "gold_label": "label"}
    yield {names.get(key, key): value for key, value in row.items()}


def copa(row: Row) -> Iterator[Row]:
    """Yield a premise with its two choices, which are the words to guess."""
    choices = [str(row[key]).strip().rstrip(".") for key in ("choice1", "choice2")]
    lower = [choice[:1].lower() + choice[1:] for choice in choices]
    yield {**row, "joint": _JOINTS[row["question"]], "one": lower[0], "two": lower[1], "choices": lower}


def multirc(row: Row) -> Iterator[Row]:
    """Yield every answer to every question on a passage; answers to one question are scored together."""
    passage = row["passage"]
    for question in passage["questions"]:
        for answer in question["answers"]:
            found = {
                "passage": passage["text"],
                "question": question["question"],
                "answer": str(answer["text"]).strip() or "none",
                "group": question.get("idx", question["question"]),
            }
            yield {**found, "label": answer["label"]} if "label" in answer else found


def record(row: Row) -> Iterator[Row]:
    """Yield every query on a passage, its entities as choices."""
    passage = row["passage"]
    text = passage["text"]
    entities = list(dict.fromkeys(text[each["start"] : each["end"] + 1] for each in passage["entities"]))
    for query in row["qas"]:
        before, _, after = query["query"].partition("@placeholder")
        answers = {each["text"] for each in query.get("answers", ())}
        right = next((number for number, entity in enumerate(entities) if entity in answers), None)
        found = {
            "passage": text.replace("@highlight", "-").replace("\n", " "),
            "before": before.strip() or "-",
            "after": after.strip() or "-",
            "choices": entities,
            "group": query.get("idx", query["query"]),
        }
        if "answers" not in query:
            yield found
        elif right is not None:
            yield {**found, "label": right}


def wic(row: Row) -> Iterator[Row]:
    """Yield a word with two sentences that hold it."""
    yield row


def wsc(row: Row) -> Iterator[Row]:
    """Yield a text whose pronoun is marked, the pronoun, and the name that it may stand for."""
    target = row["target"]
    words = str(row["text"]).split()
    place = target["span2_index"]
    pronoun = target["span2_text"]
    if place < len(words):
        words[place] = words[place].replace(pronoun, f"*{pronoun}*", 1)
    found = {"text": " ".join(words), "pronoun": pronoun, "noun": target["span1_text"]}
    yield {**found, "label": row["label"]} if "label" in row else found


def _checked(reader: Callable[[Row], Iterator[Row]]) -> Callable[[Row], Iterator[Row]]:
    def read(row: Row) -> Iterator[Row]:
        try:
            yield from list(reader(row))
        except (KeyError, TypeError, AttributeError) as error:
            raise DataError(
                f"A row is not laid out as the task's files are ({reader.__name__}: {error!r:.60}). "
                "Give a file of that benchmark, or write a task of your own."
            ) from None

    return read


ROWS: dict[str, Callable[[Row], Iterator[Row]]] = {
    each.__name__: _checked(each) for each in (table, boolq, copa, multirc, record, wic, wsc, nli)
}
