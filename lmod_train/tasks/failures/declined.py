"""Find replies that abstain from an answer."""

from __future__ import annotations

import re

from lmod_train.core.vocabulary.answers import SLOT_REFUSED_EN, SLOT_REFUSED_ZH
from lmod_train.core.vocabulary.explaining import REFUSALS_OTHER
from lmod_train.tasks.failures.case import Case, Span
from lmod_train.tasks.parsing.cues import any_of
from lmod_train.tasks.parsing.refusal import declines
from lmod_train.tasks.parsing.regions import parse_regions

_OTHER = re.compile("|".join(REFUSALS_OTHER), re.IGNORECASE)
_NO_TYPE = re.compile(rf"(?:{any_of(SLOT_REFUSED_EN, SLOT_REFUSED_ZH)})\W*", re.IGNORECASE)


def abstention(case: Case) -> Span | None:
    """Return the span of a reply that declines, doubts or refers to a doctor instead of answering.

    A reply with an answer is no abstention, whatever else it says.
    """
    if case.answered or case.reason == "failed":
        return None
    refused = case.reason == "refused" or declines(case.text, case.record.choices)
    declined = refused or _OTHER.search(case.text) or _without_types(case)
    return case.stripped(0, len(case.text)) if declined else None


def _without_types(case: Case) -> bool:
    """Return whether every numbered region is called unknown."""
    if not case.record.regions:
        return False
    found = parse_regions(case.text, (*case.record.choices, *_UNKNOWN))
    return (not isinstance(found, dict) and _NO_TYPE.search(case.text) is not None) or (
        isinstance(found, dict) and all(_NO_TYPE.fullmatch(structure) for structure in found.values())
    )


_UNKNOWN = ("unknown", "n/a")
