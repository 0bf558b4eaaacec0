"""Find numbered regions that are not drawn, and types that are no option."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from functools import lru_cache

from lmod_train.core.types import Unparsed
from lmod_train.core.vocabulary.structures import FOREIGN, STRUCTURES
from lmod_train.tasks.failures.case import Case, Span
from lmod_train.tasks.parsing.clean import clean
from lmod_train.tasks.parsing.forms import forms_of, plain, term_of
from lmod_train.tasks.parsing.regions import parse_regions
from lmod_train.tasks.parsing.repetition import split_repetition

_NO_STRUCTURE = re.compile(
    r"(?:x{2,8}|type|n/?a|unknown|unclear|none|null|not .{0,40}|cannot .{0,40}|unlabell?ed|.{0,3}|[^\w]*)",
    re.IGNORECASE,
)
_SPELLED_ALIKE = 0.75
"""Likeness of two spellings (Ratcliff and Metzener 1988) from which on a word counts as the other misspelt."""
_NOUN = re.compile(r"(?<= )(?:handpiece|instrument|tool|device|probe|tip|region|area|structure|layer)s?$")


def unknown_region(case: Case) -> Span | None:
    """Return the span of the first region id that is not on the image, where the question has numbered regions."""
    drawn = {region.id for region in case.record.regions}
    strange = [number for number in _stated(case) if number not in drawn] if drawn else []
    found = re.search(rf"(?<![0-9.]){strange[0]}(?![0-9])", case.text) if strange else None
    return found.span() if found else None


def foreign_structure(case: Case) -> Span | None:
    """Return the span of the first type of a region that is not among the options of the question."""
    if not case.record.regions:
        return None
    for word in _stated(case).values():
        if not _is_option(word, case.record.choices) and not _NO_STRUCTURE.fullmatch(word):
            return _place_of(word, case)
    return None


@lru_cache(maxsize=4096)  # models repeat the same few words
def _is_option(word: str, choices: tuple[str, ...]) -> bool:
    """Return whether a type is one of the options, or is spelled like one."""
    own = {_bare(form) for choice in choices for form in forms_of(choice)}
    return bool(get_close_matches(_bare(word), own, 1, _SPELLED_ALIKE))


def _bare(word: str) -> str:
    """Return a type for comparison, without the nouns that may follow any of them ("phaco handpiece")."""
    return _NOUN.sub("", plain(word)).strip()


def _stated(case: Case) -> Mapping[int, str]:
    """Return region id -> type as stated, read with the types that other images have as further options."""
    if isinstance(case.answer, Mapping):
        return case.answer
    if not case.record.regions or case.reason in ("failed", "refused", "empty"):
        return {}
    known = {term.name for choice in case.record.choices if (term := term_of(choice))}
    others = [term.name for term in STRUCTURES if term.name not in known]
    choices = (*case.record.choices, *others, *(word for word in FOREIGN if word not in case.record.choices))
    found = parse_regions(split_repetition(clean(case.text))[0], choices)
    return {} if isinstance(found, Unparsed) else found


def _place_of(word: str, case: Case) -> Span:
    """Return where the words of a type are; the whole reply if they are a synonym's."""
    found = re.search(re.escape(word), case.text, re.IGNORECASE)
    return found.span() if found else case.stripped(0, len(case.text))
