"""Check that each option is made of words of its stage."""

from __future__ import annotations

import re
from functools import cache

from lmod_train.core.vocabulary.stage_words import STAGE_WORDS
from lmod_train.tasks.drafting.drafted import Drafted
from lmod_train.tasks.drafting.meaning import numbers_in, terms_in, values_in


def unknown_options(one: Drafted) -> list[str]:
    """Return the options with no word of the stage: no structure, condition, measurement, nor word of `STAGE_WORDS`.

    An option that states the truth word for word is known, and one with a number where the truth has one.

    Example:
        >>> from lmod_train.tasks.drafting.example import drafted
        >>> unknown_options(drafted("DD", options=("Glaucoma", "Florbitis", "AMD", "Cataract")))
        ['Florbitis']
    """
    return [option for option in one.draft.options if not _is_known(option, one.stage, one.facts.truth)]


def _is_known(option: str, stage: str, truth: str) -> bool:
    listed = _pattern(stage).search(option) is not None or bool(values_in(option) and values_in(truth))
    return listed or bool(terms_in(option)) or bool(numbers_in(option)) or truth.casefold() in option.casefold()


@cache
def _pattern(stage: str) -> re.Pattern[str]:
    return re.compile(r"(?<!\w)(?:" + "|".join(STAGE_WORDS[stage]) + r")(?!\w)", re.IGNORECASE)
