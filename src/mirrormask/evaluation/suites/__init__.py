"""Suites: published tasks that are measured together. One file per suite; a new file is a new suite."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import ClassVar

from mirrormask.core.registry import Registry
from mirrormask.evaluation.statistics.resamples import Statistic
from mirrormask.evaluation.vectors import TextVectors


class SuiteTask(ABC):
    """One task of a suite, read and checked.

    Args:
        name: short name, such as "mr".
        title: as papers write it, such as "MR".
        units: number of texts or pairs that are scored and resampled.
        source: the file or hub name it was read from, for messages.
        note: what a reader should know beside the number.
    """

    def __init__(self, name: str, title: str, units: int, source: str, note: str = "") -> None:
        self.name = name
        self.title = title
        self.units = units
        self.source = source
        self.note = note

    @abstractmethod
    def texts(self) -> Iterable[str]:
        """Return every text to encode, repeats included."""

    @abstractmethod
    def statistics(self, vectors: TextVectors, *, seed: int) -> dict[str, Statistic]:
        """Return one statistic of the units for each metric, by its key in `METRICS`; the suite's own among them."""


class Suite(ABC):
    """Tasks of one kind. The constructor's parameters are its configuration; nothing is read before `load`."""

    title: ClassVar[str]
    """What the suite is called in tables, such as "Transfer"."""

    unit: ClassVar[str]
    """What is counted: texts or pairs."""

    primary: ClassVar[str]
    """The metric of tables and verdicts, by its key in `METRICS`."""

    meaning: ClassVar[str]
    """A sentence or two on how to read the numbers."""

    tasks: ClassVar[Mapping[str, str]]
    """The title of every task by its name, in the order of the tables."""

    @abstractmethod
    def load(self, name: str) -> SuiteTask:
        """Read one task.

        Raises:
            DatasetMissing: its data cannot be had; it is skipped and named.
            DataError: its data is there and cannot be used.
        """


suites: Registry[Suite] = Registry("suite", "mirrormask.evaluation.suites")
