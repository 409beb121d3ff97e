"""Bracketed constituency trees in and out: `(S (NP (DT the) (NN rain)) (VP (VBZ falls)))`, on one line or several."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mirrormask.core.errors import DataError
from mirrormask.data.tasks.dependencies import PUNCTUATION_TAGS
from mirrormask.data.text.compression import named
from mirrormask.data.text.files import open_text

TRACE = "-NONE-"
_TOKENS = re.compile(r"[()]|[^\s()]+")
_DEEPEST = 400  # more would be no sentence, and trees are walked by recursion
_ESCAPES = {"-LRB-": "(", "-RRB-": ")", "-LCB-": "{", "-RCB-": "}", "-LSB-": "[", "-RSB-": "]", "``": '"', "''": '"'}


@dataclass(frozen=True)
class Tree:
    """A node: a label over other nodes, or a tag over one word.

    Args:
        label: the label, or the tag of a word; empty where a bracket has none.
        children: the nodes below.
        word: the word of a leaf.
    """

    label: str
    children: tuple[Tree, ...] = ()
    word: str | None = None

    def leaves(self) -> list[Tree]:
        """Return the tagged words, left to right."""
        return [self] if self.word is not None else [leaf for child in self.children for leaf in child.leaves()]

    def words(self) -> list[str]:
        r"""Return the words as a text has them: `-LRB-` is a bracket, `\/` a slash."""
        return [unescaped(leaf.word or "") for leaf in self.leaves()]

    def without(self, tags: Collection[str]) -> Tree | None:
        """Return the tree without the words of these tags and the nodes that lose all theirs; None if nothing stays."""
        if self.word is not None:
            return None if self.label in tags else self
        left = tuple(child for child in (each.without(tags) for each in self.children) if child is not None)
        return Tree(self.label, left) if left else None

    def spans(self) -> list[tuple[str, int, int]]:
        """Return label, start and stop of every node over two or more words, outer before inner."""
        found: list[tuple[str, int, int]] = []
        self._collect(0, found)
        return found

    def _collect(self, start: int, found: list[tuple[str, int, int]]) -> int:
        if self.word is not None:
            return start + 1
        place = len(found)
        stop = start
        for child in self.children:
            stop = child._collect(stop, found)
        if stop - start > 1 and self.label:
            found.insert(place, (plain_label(self.label), start, stop))
        return stop

    def __str__(self) -> str:
        inside = self.word if self.word is not None else " ".join(map(str, self.children))
        return f"({self.label} {inside})"


def plain_label(label: str) -> str:
    """Return a label without its functions and indices.

    Example:
        >>> plain_label("NP-SBJ-1"), plain_label("NP=2"), plain_label("-NONE-")
        ('NP', 'NP', '-NONE-')
    """
    return label if label.startswith("-") else re.split(r"[-=|]", label, maxsplit=1)[0]


def unescaped(word: str) -> str:
    """Return a word as a text has it."""
    return _ESCAPES.get(word) or word.replace("\\/", "/").replace("\\*", "*")


def without_punctuation(tree: Tree) -> Tree | None:
    """Return the tree without traces and punctuation; None where there was nothing else."""
    return tree.without({TRACE, *PUNCTUATION_TAGS})


def read_brackets(path: Path | str) -> Iterator[Tree]:
    """Yield the trees of a bracketed file, plain or compressed, without traces; an empty outer bracket is dropped.

    Raises:
        DataError: brackets that do not close, words outside them, a node without anything in it, or no tree at all;
            the message names file and line.
    """
    source = named(path)
    found = False
    open_nodes: list[tuple[str, list[Tree], int]] = []  # label, children so far, line it opened in
    words: list[str] = []
    expects_label = False
    with open_text(path) as stream:
        for number, line in enumerate(stream, 1):
            for token in _TOKENS.findall(line):
                if token == "(":
                    if words:
                        raise _fault(source, number, f"the word {words[0]!r} and a bracket stand in one node")
                    if len(open_nodes) >= _DEEPEST:
                        raise _fault(source, number, f"brackets are more than {_DEEPEST} deep")
                    open_nodes.append(("", [], number))
                    expects_label = True
                elif token != ")":
                    if not open_nodes:
                        raise _fault(source, number, f"{token!r} stands outside all brackets")
                    if expects_label:
                        open_nodes[-1] = (token, *open_nodes[-1][1:])
                    else:
                        words.append(token)
                    expects_label = False
                else:
                    if not open_nodes:
                        raise _fault(source, number, "a bracket closes that never opened")
                    label, children, _ = open_nodes.pop()
                    node = _closed(label, children, words, source, number)
                    words, expects_label = [], False
                    if open_nodes:
                        open_nodes[-1][1].append(node)
                    else:
                        found = True
                        tree = _unwrapped(node).without({TRACE})
                        if tree is not None:
                            yield tree
    if open_nodes:
        raise _fault(source, open_nodes[0][2], f"the tree that begins here lacks {len(open_nodes)} closing bracket(s)")
    if not found:
        raise DataError(f"{source} has no tree. Give a file of bracketed trees with at least one.")


def _closed(label: str, children: list[Tree], words: list[str], source: str, number: int) -> Tree:
    if words and (children or len(words) > 1):
        raise _fault(source, number, f"a node has either other nodes or one word in it, and {words[-1]!r} is beside")
    if not words and not children:
        raise _fault(source, number, f"the node ({label}) has nothing in it")
    return Tree(label, word=words[0]) if words else Tree(label, tuple(children))


def _unwrapped(node: Tree) -> Tree:
    while node.word is None and node.label in ("", "TOP", "ROOT") and len(node.children) == 1:
        node = node.children[0]
    return node


def _fault(source: str, number: int, what: str) -> DataError:
    return DataError(
        f"{source}, line {number}: {what}. Balance the brackets, as in (S (NP (NN rain)) (VP (VBZ falls)))."
    )


def tree_of(words: Sequence[str], spans: Collection[tuple[int, int]], *, label: str = "X") -> Tree:
    """Return the tree with these spans over the words, all nodes labelled alike.

    Example:
        >>> print(tree_of(["the", "rain", "falls"], [(0, 3), (0, 2)]))
        (X (X (W the) (W rain)) (W falls))
    """
    escapes = {mark: name for name, mark in _ESCAPES.items() if name.startswith("-")}
    leaves = [Tree("W", word="".join(escapes.get(mark, mark) for mark in word)) for word in words]
    stack: list[tuple[int, int, list[Tree]]] = [(0, len(words), [])]
    waiting = sorted({span for span in spans if span != (0, len(words))}, key=lambda span: (span[0], -span[1]))
    for place, leaf in enumerate(leaves):
        while waiting and waiting[0][0] == place:
            start, stop = waiting.pop(0)
            stack.append((start, stop, []))
        stack[-1][2].append(leaf)
        while len(stack) > 1 and stack[-1][1] == place + 1:
            _, _, children = stack.pop()
            stack[-1][2].append(Tree(label, tuple(children)))
    return Tree(label, tuple(stack[0][2]))
