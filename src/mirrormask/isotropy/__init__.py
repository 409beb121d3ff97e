"""Isotropy: maps of sentence vectors that repair a space in which all of them point the same way, one file each."""

from __future__ import annotations

from mirrormask.core.registry import Registry
from mirrormask.models.transform import Transform

transforms: Registry[Transform] = Registry("transform", __name__)
