"""The two values of sex in demographic labels and prompts, with synonyms."""

from __future__ import annotations

from lmod_train.core.vocabulary import rows
from lmod_train.core.vocabulary.term import Term

SEXES = rows("sexes.sexes", Term)
