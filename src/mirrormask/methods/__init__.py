"""Methods: one file per paper, composition only, each constant under the sentence or table that gives it."""

from __future__ import annotations

from mirrormask.core.registry import Registry
from mirrormask.training.method import Composition

methods: Registry[Composition] = Registry("method", __name__)
