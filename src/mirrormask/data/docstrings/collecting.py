"""The docstrings of the Python packages installed on this machine: a corpus that is there before any download.

Sources are read with `ast`; nothing is imported or run. Files that cannot be read or parsed are counted and left out.
"""

from __future__ import annotations

import ast
import gc
import multiprocessing
import os
import site
import sys
import sysconfig
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path

from mirrormask.core.errors import DataError
from mirrormask.data.docstrings.prose import paragraphs

SKIPPED_FOLDERS = frozenset(
    {"test", "tests", "testing", "_vendor", "__pycache__", "site-packages", "dist-packages", "node_modules"}
)
LARGEST_FILE = 1_000_000  # bytes; beyond this a source is generated tables
SPARSEST = 4_000  # bytes of source per docstring; beyond this a file is code that hardly anybody described
CHUNK = 64  # files handed to a process at a time
FEWEST_FILES_FOR_PROCESSES = 500  # below this, starting processes costs more than it saves

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Docstring:
    """One docstring, cleaned to prose.

    Args:
        package: the distribution folder or top-level module it stands in, such as ``json``.
        module: dotted module name.
        qualname: name inside the module, such as ``Reader.read_row``; empty for a module's own docstring.
        name: last part of `qualname` (or of `module`).
        kind: ``function``, ``class`` or ``module``.
        text: the prose: sentences one to a line, an empty line between paragraphs.
    """

    package: str
    module: str
    qualname: str
    name: str
    kind: str
    text: str

    @property
    def sentences(self) -> list[str]:
        """All its sentences in order."""
        return [line for line in self.text.split("\n") if line]

    @property
    def summary(self) -> str:
        """Its first paragraph as one passage."""
        return self.text.split("\n\n", 1)[0].replace("\n", " ")


@dataclass
class Collected:
    """Docstrings in the order of their files, and the counts behind them."""

    docstrings: list[Docstring] = field(default_factory=list)
    files: int = 0
    unreadable: int = 0
    too_large: int = 0

    def __iter__(self) -> Iterator[Docstring]:
        return iter(self.docstrings)

    def __len__(self) -> int:
        return len(self.docstrings)


def installed_roots() -> list[Path]:
    """Return the folders that hold installed packages and the standard library, without the working directory."""
    names: list[str | None] = [sysconfig.get_path(key) for key in ("purelib", "platlib", "stdlib")]
    names += [*site.getsitepackages(), site.getusersitepackages() if site.ENABLE_USER_SITE else None]
    roots = {Path(name).resolve() for name in names if name and Path(name).is_dir()}
    return sorted(roots)


def source_files(root: Path) -> list[Path]:
    """Return the Python sources under `root` in sorted order; test suites, vendored copies and links are left out."""
    found: list[Path] = []
    for folder, subfolders, files in os.walk(root, followlinks=False):
        subfolders[:] = [name for name in subfolders if name not in SKIPPED_FOLDERS and not name.startswith(".")]
        found += [Path(folder, name) for name in files if name.endswith(".py") and not name.startswith("test_")]
    return sorted(path for path in found if not path.is_symlink())


def collect(
    paths: Iterable[str | Path] | None = None, progress: Progress | None = None, *, workers: int = 1
) -> Collected:
    """Read every docstring under `paths`.

    Args:
        paths: folders that hold packages; by default those of the running interpreter.
        progress: called with (files done, files in all).
        workers: processes to parse with; above 1, a script must call this under ``if __name__ == "__main__":``.
    """
    roots = installed_roots() if paths is None else [Path(path).resolve() for path in paths]
    for root in roots:
        if not root.is_dir():
            raise DataError(
                f"The docstring corpus reads folders of Python packages. Got {str(root)!r}, which is no folder."
            )
    jobs: list[tuple[str, str]] = []
    seen: set[Path] = set()
    for root in roots:
        for path in source_files(root):
            if path not in seen:
                seen.add(path)
                jobs.append((str(root), str(path)))
    chunks = [jobs[start : start + CHUNK] for start in range(0, len(jobs), CHUNK)]
    collected = Collected(files=len(jobs))
    done = 0
    for chunk, (docstrings, unreadable, too_large) in zip(
        chunks, _read_chunks(chunks, workers, len(jobs)), strict=True
    ):
        collected.docstrings += docstrings
        collected.unreadable += unreadable
        collected.too_large += too_large
        done += len(chunk)
        if progress is not None:
            progress(done, len(jobs))
    return collected


Chunk = Sequence[tuple[str, str]]
ChunkResult = tuple[list[Docstring], int, int]


def _read_chunks(chunks: Sequence[Chunk], workers: int, files: int) -> Iterator[ChunkResult]:
    """Yield the result of each chunk in order; a pool that cannot start or dies is replaced by this process."""
    done = 0
    if workers > 1 and files >= FEWEST_FILES_FOR_PROCESSES:
        # spawn: a fork of a process that has loaded torch may deadlock, and Python warns about it
        context = multiprocessing.get_context("spawn")
        try:
            with ProcessPoolExecutor(workers, mp_context=context) as pool:
                for result in pool.map(read_chunk, chunks):
                    yield result
                    done += 1
        except (BrokenProcessPool, OSError):
            pass
    for chunk in chunks[done:]:
        yield read_chunk(chunk)


def read_chunk(chunk: Chunk) -> ChunkResult:
    """Read the docstrings of some (root, file) pairs, and count the files that are unreadable or too large."""
    docstrings: list[Docstring] = []
    unreadable = too_large = 0
    collecting = gc.isenabled()
    gc.disable()  # syntax trees hold no cycles worth looking for; the collector would take a third of the time
    try:
        for root, path in chunk:
            try:
                if Path(path).stat().st_size > LARGEST_FILE:
                    too_large += 1
                    continue
                docstrings += read_file(Path(path), Path(root))
            except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
                unreadable += 1
    finally:
        if collecting:
            gc.enable()
    return docstrings, unreadable, too_large


def read_file(path: Path, root: Path) -> list[Docstring]:
    """Return the docstrings of one source file whose dotted name starts at `root`."""
    source = path.read_bytes()
    if (source.count(b'"""') + source.count(b"'''")) // 2 * SPARSEST < len(source):
        return []  # docstrings are triple-quoted, and parsing is what takes the time
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # old sources hold invalid escapes; that is not the reader's affair
        tree = ast.parse(source)
    parts = list(path.relative_to(root).with_suffix("").parts)
    if parts[-1] == "__init__" and len(parts) > 1:
        parts.pop()
    module = ".".join(parts)
    found: list[Docstring] = []
    _walk(tree, module, "", found)
    return found


def _walk(node: ast.AST, module: str, prefix: str, found: list[Docstring]) -> None:
    """Append the docstring of `node` and of what is defined in its body; functions inside functions are no API."""
    kind = {ast.Module: "module", ast.ClassDef: "class"}.get(type(node), "function")
    text = ast.get_docstring(node, clean=False)  # type: ignore[arg-type]
    if text and (blocks := paragraphs(text)):
        name = (prefix or module).rsplit(".", 1)[-1]
        prose = "\n\n".join("\n".join(block) for block in blocks)
        found.append(Docstring(sys.intern(module.split(".", 1)[0]), module, prefix, name, kind, prose))
    if kind != "function":
        for definition in _definitions(node):
            _walk(definition, module, f"{prefix}.{definition.name}" if prefix else definition.name, found)


def _definitions(node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Yield what the body of a module or class defines, also under ``if``, ``try`` and ``with``."""
    for block in ("body", "orelse", "handlers", "finalbody"):
        for child in getattr(node, block, ()):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield child
            elif isinstance(child, ast.If | ast.Try | ast.With | ast.ExceptHandler):
                yield from _definitions(child)
