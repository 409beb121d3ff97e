"""The prose of a docstring: markup, code, tables and field lists out, sentences kept.

Docstrings come in reST, Google, numpy and Markdown dialects. What a sentence encoder can learn from is the
running text, so this reads a docstring line by line, drops what is not prose and joins the rest into paragraphs.
"""

from __future__ import annotations

import inspect
import re

CODE_SECTIONS = frozenset(
    {
        "example",
        "examples",
        "example usage",
        "references",
        "reference",
        "see also",
        "usage",
        "links",
        "authors",
        "author",
    }
)
PROSE_SECTIONS = frozenset(
    {"args", "arguments", "parameters", "params", "other parameters", "keyword args", "keyword arguments", "inputs"}
    | {"input", "outputs", "output", "returns", "return", "yields", "yield", "receives", "raises", "raise", "warns"}
    | {"warnings", "warning", "notes", "note", "attributes", "methods", "properties", "variables", "shape", "tip"}
)
PROSE_DIRECTIVES = frozenset({"note", "warning", "tip", "important", "caution", "hint", "attention", "danger"})

UNDERLINE = re.compile(r"([-=~^\"'*+#])\1{2,}\s*$")
DIRECTIVE = re.compile(r"\.\.\s+(?:\|[^|]*\|\s*)?([\w:-]+?)::\s*(.*)$")
FIELD = re.compile(
    r"[:@](?:param|parameter|arg|argument|key|keyword|raises?|except|exception|returns?|yields?|var|ivar|cvar)\b([^:]*):\s*"
)
OTHER_FIELD = re.compile(r"[:@]\w[\w .-]*:(\s|$)")
GOOGLE_ITEM = re.compile(r"\*{0,2}`{0,2}[\w.*, ]{1,60}`{0,2}(?:\s*\([^()]*(?:\([^()]*\)[^()]*)*\))?\s*:(?:\s+|$)")
NUMPY_ITEM = re.compile(r"`{0,2}\*{0,2}[\w.]+(?:\s*,\s*\*{0,2}[\w.]+)*`{0,2}\s+:(\s.*)?$")
BULLET = re.compile(r"(?:[-*+•]|\(?\d{1,2}[.)]|#\.)\s+")
SIGNATURE = re.compile(r"[\w.]+\([^)]*\)?\s*(?:->.*)?$")
TABLE = re.compile(r"[\s|+=:_-]*$|\|.*\|\s*$|\+[-=+]+")

# Each rewrite stands behind a mark that must occur in the text, because most text has none and a search is cheap.
INLINE: tuple[tuple[str, re.Pattern[str], str], ...] = (
    ("![", re.compile(r"!\[[^\]]*\]\([^)]*\)"), " "),
    ("](", re.compile(r"\[([^\]\[]+)\]\([^)\s]*\)"), r"\1"),
    (":`", re.compile(r":[\w:+-]+:`[~!]?([^`<>]*?)(?:\s*<[^`>]*>)?`"), r"\1"),
    ("`_", re.compile(r"`([^`<]+?)\s*<[^`>]*>`__?"), r"\1"),
    ("]_", re.compile(r"\[#?[\w*]*\]_"), " "),
    ("://", re.compile(r"<?\b(?:https?|ftp)://[^\s>)\]]*[>)\]]?"), " "),
    ("<", re.compile(r"</?[A-Za-z][\w-]*(?:\s[^<>]*)?/?>"), " "),
    ("`", re.compile(r"``?([^`]*)``?_{0,2}"), r"\1"),
    ("*", re.compile(r"(?<!\w)(\*{1,2})(?=\S)([^*]+?)(?<=\S)\1(?!\w)"), r"\2"),
    ("|", re.compile(r"(?<!\w)\|([\w ]+)\|(?!\w)"), r"\1"),
    ("\\", re.compile(r"\\(?=[\W_])"), ""),
)
BOUNDARY = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9])")
ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|al|fig|eq|eqs|sec|no|approx|resp|ref|dr|mr|st|incl|[A-Z])\.)[\"')\]]*$", re.I
)
WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


def paragraphs(docstring: str) -> list[list[str]]:
    """Return the prose of a docstring as paragraphs, each a list of sentences.

    Example:
        >>> paragraphs("Read a ``csv`` file. It may be big.\\n\\n>>> read()\\n\\n:param path: Where the file is kept.")
        [['Read a csv file.', 'It may be big.'], ['Where the file is kept.']]
    """
    found = (sentences(block) for block in _blocks(inspect.cleandoc(docstring).splitlines()))
    return [block for block in found if block]


def sentences(paragraph: str) -> list[str]:
    """Split one paragraph into the sentences that read as prose; fragments of code and formulas are left out.

    Example:
        >>> sentences("Works with e.g. Windows. X = y + z[0]. Is it fast?")
        ['Works with e.g. Windows.', 'Is it fast?']
    """
    text = paragraph
    for mark, pattern, replacement in INLINE:
        if mark in text:
            text = pattern.sub(replacement, text)
    text = " ".join(text.split())
    parts: list[str] = []
    start = 0
    for boundary in BOUNDARY.finditer(text):
        if not ABBREVIATION.search(text, max(start, boundary.start() - 12), boundary.start()):
            parts.append(text[start : boundary.end()].strip())
            start = boundary.end()
    parts.append(text[start:].strip())
    return [part for part in parts if reads_as_prose(part)]


def reads_as_prose(text: str) -> bool:
    """Tell a sentence from a signature, a formula or a line of code: three words at least, and mostly letters.

    Example:
        >>> reads_as_prose("Return the sum of two numbers."), reads_as_prose("x = f(y)[0] + 1")
        (True, False)
    """
    if not 10 <= len(text) <= 600:
        return False
    words = WORD.findall(text)
    if len(words) < 3 or sum(len(word) > 1 for word in words) < 2:
        return False
    letters = sum(map(len, words)) + text.count(" ")
    return letters >= 0.75 * len(text) and "://" not in text and "==" not in text


def _blocks(lines: list[str]) -> list[str]:
    """Join the lines that are prose into paragraphs."""
    blocks: list[list[str]] = [[]]
    skip_deeper: int | None = None  # inside a dropped block: lines indented deeper than this
    section = ""
    fenced = doctest = False
    item_indent = 0
    for number, raw in enumerate(lines):
        line = raw.strip()
        indent = len(raw) - len(raw.lstrip())
        following = lines[number + 1].strip() if number + 1 < len(lines) else ""
        if line.startswith("```"):
            fenced = not fenced
            continue
        if fenced:
            continue
        if not line:
            doctest = False
            blocks.append([])
            continue
        if skip_deeper is not None:
            if indent > skip_deeper:
                continue
            skip_deeper = None
        if doctest or line.startswith((">>>", "In [", "$ ")):
            doctest = True
            continue
        name = line.rstrip(":").lower().strip("*# ")
        is_heading = len(line) < 60 and len(following) >= 3 and UNDERLINE.match(following) and not UNDERLINE.match(line)
        if is_heading or (line.endswith(":") and (name in CODE_SECTIONS or name in PROSE_SECTIONS)):
            blocks.append([])
            section = name
            item_indent = indent
            if not is_heading and name in CODE_SECTIONS:
                skip_deeper = indent
                section = ""
            continue
        if UNDERLINE.match(line) or TABLE.match(line) or section in CODE_SECTIONS:
            continue
        if line.startswith(".."):
            blocks.append([])
            directive = DIRECTIVE.match(line)
            if directive and directive[1] in PROSE_DIRECTIVES:
                blocks[-1].append(directive[2])
            else:
                skip_deeper = indent
            continue
        if section and indent <= item_indent and not blocks[-1] and NUMPY_ITEM.match(line):
            blocks.append([])
            continue
        if NUMPY_ITEM.match(line) and following and _indent(lines[number + 1]) > indent:
            blocks.append([])
            continue
        if field := FIELD.match(line):
            blocks.append([line[field.end() :]])
            continue
        if OTHER_FIELD.match(line):
            blocks.append([])
            skip_deeper = indent
            continue
        if bullet := BULLET.match(line):
            line = line[bullet.end() :]
            blocks.append([])
        if (section or bullet) and (item := GOOGLE_ITEM.match(line)):
            line = line[item.end() :]
            blocks.append([])
        if not blocks[-1] and SIGNATURE.match(line) and "(" in line:
            continue
        if line.endswith("::"):
            skip_deeper = indent
            line = line[:-1]
        blocks[-1].append(line)
    return [" ".join(block) for block in blocks if block]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
