"""Parts by name: a registry imports its own folder, so a new file is a new part with no other edit; and what other
installed packages name as plug-ins, so a part of the user's own needs no edit here at all.

The constructor signature of a part is its configuration, and the docstring of its file names its paper.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from mirrormask.core.errors import MirrormaskError, did_you_mean
from mirrormask.core.fitting import WRONG, fitted, type_name
from mirrormask.core.plugins import load_plugins

T = TypeVar("T")
Factory = TypeVar("Factory", bound=Callable[..., Any])


@dataclass(frozen=True)
class Part(Generic[T]):
    """One registered part: its name, what builds it, and where it comes from."""

    kind: str
    name: str
    build: Callable[..., T]
    paper: str
    summary: str

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the part's parameters with their defaults, in order."""
        return {n: None if p.default is p.empty else p.default for n, p in self._signature.items()}

    @property
    def shown_parameters(self) -> list[str]:
        """Return the parameters a user may set, as `name=default`."""
        return [f"{n}={p.default}" for n, p in self._signature.items() if p.default is not p.empty]

    @property
    def types(self) -> dict[str, Any]:
        """Return the declared type of each parameter."""
        build = self.build.__init__ if inspect.isclass(self.build) else self.build  # type: ignore[misc]
        return {n: hint for n, hint in typing.get_type_hints(build).items() if n in self._signature}

    @property
    def _signature(self) -> Mapping[str, inspect.Parameter]:
        every = inspect.signature(self.build).parameters
        return {n: p for n, p in every.items() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}  # nn.Module's own


class Registry(Generic[T]):
    """The parts of one kind, found in one package.

    Args:
        kind: what a part is called in messages, such as "objective".
        package: the package whose modules register the parts, or the one module that does.
    """

    def __init__(self, kind: str, package: str) -> None:
        self.kind = kind
        self.package = package
        self._parts: dict[str, Part[T]] = {}
        self._loaded = False

    def register(self, name: str) -> Callable[[Factory], Factory]:
        """Register a class or function under `name`; one of our own must name its source on a `Paper:` line."""

        def add(factory: Factory) -> Factory:
            module = inspect.getmodule(factory)
            doc = inspect.getdoc(factory) or ""
            paper = paper_of(doc, (module and inspect.getdoc(module)) or "")
            if not f"{factory.__module__}.".startswith(f"{self.package}."):
                self._load_own()  # a part from outside cannot take a name of ours
            elif not paper:
                raise TypeError(f"{factory.__module__}: the docstring needs a 'Paper:' line for {name!r}.")
            if name in self._parts:
                raise TypeError(f"{self.kind} {name!r} is registered twice.")
            self._parts[name] = Part(self.kind, name, factory, paper, summary_of(doc))
            return factory

        return add

    def __iter__(self) -> Iterator[Part[T]]:
        self._load()
        return iter(sorted(self._parts.values(), key=lambda part: part.name))

    def names(self) -> list[str]:
        """Return every name, sorted."""
        return [part.name for part in self]

    def __getitem__(self, name: str) -> Part[T]:
        self._load()
        if name not in self._parts:
            known = ", ".join(self.names()) or "none"
            raise MirrormaskError(
                f"There is no {self.kind} {name!r}.{did_you_mean(name, self.names())} Known: {known}."
            )
        return self._parts[name]

    def check(self, name: str, parameters: Mapping[str, Any]) -> list[str]:
        """Return every problem with building `name` from `parameters`, without building it."""
        try:
            part = self[name]
        except MirrormaskError as error:
            return [str(error)]
        known = part.parameters
        problems = [
            f"{self.kind} {name!r} has no parameter {key!r}.{did_you_mean(key, known)} It takes: "
            f"{', '.join(known) or 'none'}."
            for key in parameters
            if key not in known
        ]
        declared = {key: hint for key, hint in part.types.items() if key in parameters}
        return problems + [
            f"The {key!r} of {name} must be {type_name(hint)}. Got {parameters[key]!r}."
            for key, hint in declared.items()
            if fitted(parameters[key], hint) is WRONG
        ]

    def build(self, name: str, **parameters: Any) -> T:
        """Build the part `name`; an unknown parameter is an error that names the known ones."""
        problems = self.check(name, parameters)
        if problems:
            raise MirrormaskError(" ".join(problems))
        return self[name].build(**parameters)

    def _load(self) -> None:
        self._load_own()
        load_plugins()

    def _load_own(self) -> None:
        if not self._loaded:
            self._loaded = True
            package = importlib.import_module(self.package)
            for module in pkgutil.iter_modules(getattr(package, "__path__", [])):
                importlib.import_module(f"{self.package}.{module.name}")


def summary_of(doc: str) -> str:
    """Return what a part's docstring says it does."""
    return doc.split("\n", 1)[0].split(" Relations:", 1)[0]


def paper_of(doc: str, of_module: str) -> str:
    """Return the paper that a part's docstring names, or that of its module."""
    return _line_after("Paper:", doc) or _line_after("Paper:", of_module)


def _line_after(mark: str, text: str) -> str:
    """Return what follows `mark` up to the end of its sentence block (one or more indented lines)."""
    lines = text.splitlines()
    for index, line in enumerate(lines):
        if line.strip().startswith(mark):
            taken = [line.strip()[len(mark) :].strip()]
            for more in lines[index + 1 :]:
                if not more.strip() or not more.startswith(" "):
                    break
                taken.append(more.strip())
            return " ".join(taken)
    return ""


def configuration(part: Any) -> dict[str, Any]:
    """Return a built part's name and parameters, read back from the object by its constructor's signature.

    Example:
        >>> class Add:
        ...     def __init__(self, amount: int = 1):
        ...         self.amount = amount
        >>> configuration(Add(3))
        {'type': 'Add', 'amount': 3}
    """
    found: dict[str, Any] = {"type": type(part).__name__}
    for name in inspect.signature(type(part).__init__).parameters:
        if name != "self" and hasattr(part, name):
            value = getattr(part, name)
            if isinstance(value, (list, tuple)):
                found[name] = [_plain(item) for item in value]
            else:
                found[name] = _plain(value)
    return found


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    return configuration(value)
