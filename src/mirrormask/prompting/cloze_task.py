"""A task: its patterns, its label words, and which columns of a file are what. Built-in ones are tables like a user's.

label = "stars"                     # the column of labels, or the names it may have; by default "label"
patterns = ["{text} It was [MASK].", "Just [MASK]! {text}"]
[words]                             # a label as it stands in the file, and its words
"1" = ["good"]
"0" = ["bad"]
[columns]                           # the column of a field, or several that are joined; by default its own name
text = ["title", "review"]
[same]                              # other spellings of a label
positive = "1"
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mirrormask.core.errors import MirrormaskError, did_you_mean, one_of
from mirrormask.prompting.template import Template, whole_template
from mirrormask.prompting.verbalizer import Verbalizer

READERS = ("table", "boolq", "copa", "multirc", "record", "wic", "wsc", "nli")
"""How rows become fields: a plain table, or the layout of a benchmark's own files."""

METRICS = ("accuracy", "macro_f1", "f1a")


@dataclass(frozen=True)
class Question:
    """One pattern with its words.

    Args:
        template: in the template language.
        words: of each label, where they differ from the task's.
        origin: who wrote it, where that matters: "own" or "gpt-3".
    """

    template: str
    words: Mapping[str, Sequence[str]] = field(default_factory=dict)
    origin: str = "own"


@dataclass(frozen=True)
class ClozeTask:
    """Patterns, words and columns.

    Args:
        name: for messages.
        questions: the patterns.
        words: of each label; empty where every row brings its own choices.
        label: the column of labels, or the names that it may have.
        columns: the columns of each field.
        same: other spellings of labels.
        reader: how rows become fields.
        data: the dataset, where the task is built in.
        splits: which of its splits are which.
    """

    name: str
    questions: tuple[Question, ...]
    words: Mapping[str, Sequence[str]] = field(default_factory=dict)
    label: Sequence[str] = ("label",)
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    same: Mapping[str, str] = field(default_factory=dict)
    reader: str = "table"
    data: str = ""
    splits: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.questions:
            raise MirrormaskError(f"The task {self.name} has no patterns. Give at least one.")
        one_of("reader", self.reader, READERS, of=f"the task {self.name}")
        for question in self.questions:
            Template(question.template)
            if question.words or self.words:
                words = self.verbalizer(question).words
                if set(words) != set(self.labels):
                    raise MirrormaskError(
                        f"The pattern {question.template!r} of the task {self.name} has words for "
                        f"{', '.join(words)}, and the labels are {', '.join(self.labels)}."
                    )
        for spelling, label in self.same.items():
            if self.words and label not in self.labels:
                raise MirrormaskError(f"{spelling!r} is to be the same as {label!r}, which is no label.")

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the labels; none where every row brings its own choices."""
        return tuple(self.words)

    def verbalizer(self, question: Question) -> Verbalizer:
        """Return the words of one pattern."""
        words = question.words or self.words
        return Verbalizer({label: words[label] for label in self.labels if label in words})

    def record(self) -> dict[str, Any]:
        """Return the task as it is stored with what was trained for it."""
        return asdict(self)


def built_in() -> list[str]:
    """Return the names of the tasks that are built in."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def open_task(prompt: str, labels: Mapping[str, Sequence[str]] | None = None) -> ClozeTask:
    """Return the task that a user names: a template, the name of a task, or a table in TOML.

    Args:
        prompt: such as "It was [MASK].", "mr" or "my-task.toml".
        labels: words of each label; they take the place of the task's own.
    """
    if "[MASK" in prompt or "{" in prompt:
        return ClozeTask("the template", (Question(whole_template(prompt).text),), labels or {})
    path = Path(prompt) if prompt.endswith(".toml") else _FOLDER / f"{prompt}.toml"
    if not prompt.endswith(".toml") and prompt not in built_in():
        raise MirrormaskError(
            f"{prompt!r} is no template, since it has no [MASK], and no task.{did_you_mean(prompt, built_in())} "
            f"Known are {', '.join(built_in())}, and any .toml file."
        )
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise MirrormaskError(f"The task {prompt} cannot be read ({error.strerror}). Check the path.") from None
    except (ValueError, RecursionError) as error:
        raise MirrormaskError(f"The task {prompt} is not TOML: {error}. Mend it there.") from None
    task = task_of(path.stem, table)
    return task if not labels else task_of(path.stem, {**table, "words": dict(labels)}, plain=True)


def task_of(name: str, table: Mapping[str, Any], *, plain: bool = False) -> ClozeTask:
    """Return a task from its table, checked.

    Args:
        name: of the task.
        table: as it stands in TOML.
        plain: pass over the words that single patterns have.
    """
    known = ("patterns", "words", "label", "columns", "same", "reader", "data", "splits")
    for key in table:
        if key not in known:
            raise MirrormaskError(
                f"The task {name} has {key!r}, which is nothing that a task has.{did_you_mean(key, known)} "
                f"Known are {', '.join(known)}."
            )
    questions = []
    for each in _of(table, "patterns", list, name):
        pattern = {"template": each} if isinstance(each, str) else each
        if not isinstance(pattern, dict) or not isinstance(pattern.get("template"), str):
            raise MirrormaskError(
                f"A pattern of the task {name} must be a template, or a table with 'template' and 'words'. "
                f"Got {each!r:.80}."
            )
        own = {} if plain else _words(pattern.get("words", {}), name)
        questions.append(Question(whole_template(pattern["template"]).text, own, str(pattern.get("origin", "own"))))
    columns = {key: _names(value, key, name) for key, value in _of(table, "columns", dict, name).items()}
    return ClozeTask(
        name=name,
        questions=tuple(questions),
        words=_words(_of(table, "words", dict, name), name),
        label=_names(table.get("label", "label"), "label", name),
        columns=columns,
        same={str(key): str(value) for key, value in _of(table, "same", dict, name).items()},
        reader=_of(table, "reader", str, name) or "table",
        data=_of(table, "data", str, name),
        splits=_of(table, "splits", dict, name),
    )


def _words(table: Any, name: str) -> dict[str, tuple[str, ...]]:
    if not isinstance(table, dict):
        raise MirrormaskError(f"The words of the task {name} must be a table of labels. Got {table!r:.80}.")
    found = {}
    for label, words in table.items():
        given = [words] if isinstance(words, str) else words
        if not isinstance(given, (list, tuple)) or not all(isinstance(word, str) for word in given):
            raise MirrormaskError(f"The words of {label!r} in the task {name} must be texts. Got {words!r:.80}.")
        found[str(label)] = tuple(given)
    return found


def _names(value: Any, key: str, name: str) -> list[str]:
    """Return the names of one column, or of several."""
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list) or not found or not all(isinstance(each, str) and each for each in found):
        raise MirrormaskError(f"The columns of {key!r} in the task {name} must be names. Got {value!r}.")
    return found


def _of(table: Mapping[str, Any], key: str, kind: type, name: str) -> Any:
    value = table.get(key, kind())
    if not isinstance(value, kind):
        called = {"list": "a list", "dict": "a table", "str": "a text"}[kind.__name__]
        raise MirrormaskError(f"The {key!r} of the task {name} must be {called}. Got {value!r:.80}.")
    return value


_FOLDER = Path(__file__).parent / "tasks"
