"""Diagnoses and findings of labels and replies; to add a condition, add a row."""

from __future__ import annotations

from lmod_train.core.vocabulary import rows
from lmod_train.core.vocabulary.term import Term

CONDITIONS = rows("conditions.conditions", Term)
