"""Structures of the numbered boxes: anatomy, lesions and instruments, by the rows of `structures.toml`."""

from __future__ import annotations

from lmod_train.core.vocabulary import entry, rows
from lmod_train.core.vocabulary.term import Term

STRUCTURES = rows("structures.structures", Term)
TYPE_SLOT: dict[str, tuple[str, ...]] = entry("structures.type_slot")
"""Structure -> names that are valid in a Type field only; elsewhere OD is the right eye, a haemorrhage a condition."""
