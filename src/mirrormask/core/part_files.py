"""Parts as their files describe them: names, papers and parameters without importing what the parts are made of.

Importing the parts means importing torch, which takes seconds; their files say the same in milliseconds.
"""

from __future__ import annotations

import ast
import importlib.util
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mirrormask.core.registry import paper_of, summary_of


class NotReadable(Exception):
    """A file whose parts only its import can tell."""


@dataclass(frozen=True)
class ListedPart:
    """What can be said about a part without building it.

    Args:
        name: what it is called in recipes.
        summary: the first line of its docstring.
        paper: where it comes from.
        parameters: its parameters with their defaults, in order; None where one must be given.
        shown_parameters: those a user may set, as `name=default`.
    """

    name: str
    summary: str
    paper: str
    parameters: dict[str, Any]
    shown_parameters: list[str]


def files_of(module: str) -> dict[str, Path]:
    """Return the files of a module and of those in it, by their dotted names; only what it lies in is imported."""
    found = [importlib.util.find_spec(module)]
    places = found[0].submodule_search_locations if found[0] is not None else None
    found += [
        each.module_finder.find_spec(f"{module}.{each.name}", None) for each in pkgutil.iter_modules(places or [])
    ]
    if any(spec is None or not str(spec.origin).endswith(".py") for spec in found):
        raise NotReadable(module)
    return {spec.name: Path(str(spec.origin)) for spec in found if spec is not None}


def listed_parts(module: str, file: Path, registries: Mapping[str, str]) -> Iterator[tuple[str, ListedPart]]:
    """Yield every part that a module registers, with the kind of its registry.

    Args:
        module: its dotted name.
        file: where it is.
        registries: the kind of each registry, by its module and variable, such as `mirrormask.views:views`.

    Raises:
        NotReadable: a part is registered in a way that only Python itself can follow.
    """
    tree = ast.parse(file.read_bytes())
    names = {  # what a registry is called in this file
        alias.asname or alias.name: registries.get(f"{node.module}:{alias.name}")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    } | {name.partition(":")[2]: kind for name, kind in registries.items() if name.partition(":")[0] == module}
    for node in ast.walk(tree):
        if not isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            continue
        for call in node.decorator_list:
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
                continue
            if call.func.attr == "register":
                kind = names.get(ast.unparse(call.func.value))
                if kind is None:
                    raise NotReadable(module)
                yield kind, _listed(str(_literal(call.args[0])), node, ast.get_docstring(tree) or "")


def _listed(name: str, node: ast.ClassDef | ast.FunctionDef, of_module: str) -> ListedPart:
    doc = ast.get_docstring(node) or ""
    parameters, shown = {}, []
    for argument, default in _arguments(node):
        parameters[argument] = None if default is None else _literal(default)
        if default is not None:
            shown.append(f"{argument}={parameters[argument]}")
    return ListedPart(name, summary_of(doc), paper_of(doc, of_module), parameters, shown)


def _arguments(node: ast.ClassDef | ast.FunctionDef) -> list[tuple[str, ast.expr | None]]:
    """Return the arguments that build a part, each with its default or None."""
    if isinstance(node, ast.FunctionDef):
        build, skipped = node, 0
    else:
        own = [each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"]
        if not own:
            return []
        build, skipped = own[0], 1
    every = [*build.args.posonlyargs, *build.args.args]
    defaults = [*[None] * (len(every) - len(build.args.defaults)), *build.args.defaults]
    named = zip(build.args.kwonlyargs, build.args.kw_defaults, strict=True)
    return [(argument.arg, default) for argument, default in [*zip(every, defaults, strict=True), *named][skipped:]]


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise NotReadable(ast.unparse(node)) from None
