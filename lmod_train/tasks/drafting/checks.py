"""All checks of a set of drafts, with a count and a list for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lmod_train.tasks.drafting.coherence import contradictions
from lmod_train.tasks.drafting.drafted import Drafted
from lmod_train.tasks.drafting.duplicates import duplicates
from lmod_train.tasks.drafting.length import unfit_lengths
from lmod_train.tasks.drafting.marks import steering_marks
from lmod_train.tasks.drafting.numbers import other_numbers
from lmod_train.tasks.drafting.options import alike, one_right, truth_in_other_words
from lmod_train.tasks.drafting.parts import missing_parts
from lmod_train.tasks.drafting.place import implausible_places
from lmod_train.tasks.drafting.readability import hard_to_read
from lmod_train.tasks.drafting.repetition import repetitions
from lmod_train.tasks.drafting.vocabulary import unknown_options

CHECKS: tuple[tuple[str, Callable[[Drafted], list[str]]], ...] = (
    ("place", implausible_places),
    ("vocabulary", unknown_options),
    ("coherence", contradictions),
    ("numbers", other_numbers),
    ("parts", missing_parts),
    ("one_right", one_right),
    ("truth_in_other_words", truth_in_other_words),
    ("equal_options", alike),
    ("readability", hard_to_read),
    ("length", unfit_lengths),
    ("repetition", repetitions),
    ("marks", steering_marks),
)
"""Name of a check -> what it finds in one draft."""
DUPLICATE = "duplicate"
"""Name of the check of the whole set."""
NAMES = (*(name for name, _ in CHECKS), DUPLICATE)


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that a check has found.

    Attributes:
        id: Record id of the draft.
        stage: Its stage.
        check: Name of the check.
        detail: What was found; may quote the draft, and is untrusted.
    """

    id: str
    stage: str
    check: str
    detail: str


def faults_of(drafts: Sequence[Drafted]) -> list[Fault]:
    """Return everything that the checks find, in the order of the drafts; of a draft in that of the checks.

    Example:
        >>> from lmod_train.tasks.drafting.example import drafted
        >>> [(f.check, f.detail) for f in faults_of([drafted(letter="E", answer="Primary diagnosis: glaucoma")])][0]
        ('parts', 'no Supporting evidence from LC')
    """
    twice = duplicates(drafts)
    return [
        Fault(one.id, one.stage, check, detail)
        for one in drafts
        for check, details in (*((name, find(one)) for name, find in CHECKS), (DUPLICATE, twice.get(one.id, [])))
        for detail in details
    ]
