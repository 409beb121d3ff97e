"""A found text beside its original, in one line: what is gone, what is new, and the rest as it was."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from mirrormask.attack.edited_text import LEFT, REPLACE, RIGHT, EditedText

SAME, GONE, REPLACED, ADDED = "same", "gone", "replaced", "added"


def segments(text: EditedText) -> Iterator[tuple[str, str]]:
    """Yield the parts of a text in order, each with what it is.

    Example:
        >>> from mirrormask.attack.edited_text import CutText, Edit
        >>> list(segments(EditedText(CutText.of("a good film"), (Edit("replace", 1, "fine"),))))
        [('same', 'a '), ('gone', 'good'), ('replaced', 'fine'), ('same', ' film')]
    """
    edits = {(edit.place, edit.kind): edit.word for edit in text.edits}
    same = ""
    for place, word in enumerate(text.cut.words):
        same += text.cut.gaps[place]
        parts = []
        if (place, LEFT) in edits:
            parts += [(ADDED, edits[place, LEFT]), (SAME, " ")]
        if (place, REPLACE) in edits:
            parts += [(GONE, word), (REPLACED, edits[place, REPLACE])]
        else:
            parts.append((SAME, word))
        if (place, RIGHT) in edits:
            parts += [(SAME, " "), (ADDED, edits[place, RIGHT])]
        for kind, part in parts:
            if kind == SAME:
                same += part
                continue
            if same:
                yield SAME, same
                same = ""
            yield kind, part
    same += text.cut.gaps[-1]
    if same:
        yield SAME, same


def as_html(text: EditedText) -> str:
    """Return the parts as HTML, everything escaped: deleted and inserted words are known as such to any reader."""
    marks = {GONE: "<del>{}</del> ", REPLACED: "<ins>{}</ins>", ADDED: '<ins class="added">{}</ins>', SAME: "{}"}
    return "".join(marks[kind].format(escape(part)) for kind, part in segments(text))
