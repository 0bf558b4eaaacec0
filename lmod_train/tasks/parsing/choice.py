"""Parse one of the prompt's choices, first in the slots of a reply, then in its prose."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from lmod_train.core.types import Unparsed
from lmod_train.core.vocabulary import compiled
from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.tasks.parsing.choice_in_prose import choice_in_prose
from lmod_train.tasks.parsing.clean import clean
from lmod_train.tasks.parsing.concepts import Concept, concepts_of
from lmod_train.tasks.parsing.forms import forms_of, pattern_of
from lmod_train.tasks.parsing.keys import is_probability, role_of
from lmod_train.tasks.parsing.reading import UNKNOWN, Claim, answer_in
from lmod_train.tasks.parsing.refusal import is_refusal
from lmod_train.tasks.parsing.slots import Kind, kinds_of, no_answer, value_at
from lmod_train.tasks.parsing.stance import clause_spans
from lmod_train.tasks.parsing.structure import EMPTY, TICKED, Slot


def parse_choice(text: str, choices: Sequence[str]) -> str | Unparsed:
    """Return the one choice that the text states, in the prompt's spelling.

    Args:
        text: A reply without thinking (see `read`).
        choices: The prompt's choices. A pair such as GLAUCOMA / NON-GLAUCOMA or TRUE / FALSE is read as yes and no.

    Returns:
        The choice; or `Unparsed` with ``empty``, ``no_match`` (nothing is stated, or something that is no choice), or
        ``ambiguous`` (two different choices are stated, or the prompt's options are only repeated).

    Example:
        >>> parse_choice("No signs of glaucoma.", ("GLAUCOMA", "NON-GLAUCOMA"))
        'NON-GLAUCOMA'
        >>> parse_choice("GLAUCOMA / NON-GLAUCOMA", ("GLAUCOMA", "NON-GLAUCOMA")).reason
        'ambiguous'
    """
    return answer_in(text, lambda slot: read_slot(slot, choices), lambda prose: choice_in_prose(prose, choices))


_LIGHT = compiled("choice.light", 0)
_DENIED_NAME = compiled("choice.denied_name")
_OR_NOT = re.compile(r"(?<![a-z])(?:or|and|/)\s?(?:not|no|absent|negative)(?![a-z])|有无|有没有", re.IGNORECASE)


def read_slot(slot: Slot, choices: Sequence[str]) -> Claim | None:
    """Return the choice that a slot states, or why it states none; None for a slot about something else.

    Args:
        slot: One of `lmod_train.tasks.parsing.structure.decode`.
        choices: The prompt's choices.
    """
    concepts = concepts_of(tuple(choices))
    for concept in concepts:
        denied = _names(slot.name, concept)
        if denied is not None and not (slot.role and role_of(slot.name)):
            return _of_named(slot, concept, denied, concepts, choices)
    if slot.role == "denied":
        named = len(concepts) == 1 and concepts[0].mention is not None and concepts[0].mention.search(slot.value)
        return concepts[0].denied if named and not named["non"] else None
    if slot.name and not slot.role:
        return None
    if slot.name and not role_of(slot.name):
        return _of_value(slot, concepts, choices) if _is_question(slot.name) else None
    if slot.role in ("subject", "diagnosis") and len(concepts) == 1 and _is_left_open(slot, choices):
        return None if slot.layout == "line" or slot.role == "subject" else UNKNOWN
    return _of_value(slot, concepts, choices)


def _is_question(name: str) -> bool:
    """Return whether a name is a question that names no condition, as "Is the condition present?"."""
    return "?" in name and not any(pattern.search(name) for pattern in _any_condition())


@lru_cache(maxsize=1)
def _any_condition() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern_of(forms_of(term.name))) for term in CONDITIONS if term.name != "normal")


def _is_left_open(slot: Slot, choices: Sequence[str]) -> bool:
    """Return whether nothing is said of the name in a slot: the question's own name, or a name with a probability."""
    if any(is_probability(key) for key in slot.extra):
        return True
    spelled = slot.layout != "line" and slot.value.strip() in choices  # "condition": "NON-GLAUCOMA"
    return slot.role == "subject" and not spelled


def _names(name: str, concept: Concept) -> bool | None:
    """Return whether a key or question denies the concept that it names; None if it is about something else."""
    if not name or concept.mention is None:
        return None
    mention = concept.mention.search(name)
    if mention is None:
        return None
    rest = concept.mention.sub(" ", name)
    if _LIGHT_WORDS.sub("", rest).strip(" \t\n?.:,()[]<>\"'*/-_|#0123456789？"):
        return None
    return (_DENIED_NAME.search(_OR_NOT.sub(" ", rest)) is not None) != bool(mention["non"])


_SUBJECT = compiled("choice.subject")
_NO_VALUE = re.compile(r"\W{0,4}(?:[a-z]{0,2}|[0-9]{1,9}(?:[./][0-9]{1,9})?\s?%?|[TFYN]/[TFYN])\W{0,4}")
_LIGHT_WORDS = re.compile(rf"(?<![a-z])(?:{_LIGHT.pattern})(?![a-z])", re.IGNORECASE)


def _of_named(
    slot: Slot, concept: Concept, denied: bool, concepts: Sequence[Concept], choices: Sequence[str]
) -> Claim | None:
    """Return the choice that a slot with the name of a concept states."""
    value = clean(slot.value)
    if slot.value == EMPTY:
        return concept.denied if len(concepts) == 1 and not denied else None
    kinds: Sequence[Kind] = ("yes",) if slot.value == TICKED else kinds_of(value)
    if not kinds and slot.layout == "line":  # the prose grammar reads a name with a sentence behind it
        return UNKNOWN if _NO_VALUE.fullmatch(value) else None
    if not kinds and (found := value_at(_SUBJECT.sub("", value), 0)) is not None:
        kinds = found[0]  # "No, the rim is intact", "The finding is absent."
    if kinds == ("no",) and concept.mention and concept.is_kind(concept.mention.search(slot.name)):  # type: ignore[arg-type]
        return None  # no branch vein occlusion: another one may be there
    if kinds:
        claims = _claims_of(kinds, concept, denied, concepts)
        return claims[0] if len(claims) == 1 else Unparsed("ambiguous", value[:80]) if claims else UNKNOWN
    if not re.search(r"[^\W\d]{3}|[\u4e00-\u9fff]", value):
        return Unparsed("no_match", "a number")
    stated = choice_in_prose(value, choices, in_slot=True)
    if denied or isinstance(stated, Unparsed):
        return UNKNOWN
    return stated


def _claims_of(kinds: Sequence[Kind], concept: Concept, denied: bool, concepts: Sequence[Concept]) -> list[Claim]:
    exclusive = {concept.asserted, *(other.asserted for other in concepts)} - {concept.asserted}
    against = concept.denied or (exclusive.pop() if len(concepts) == len(exclusive) + 1 == 2 else None)
    claims: list[Claim] = []
    for kind in kinds:
        if kind in ("refused", "open"):
            claims.append(no_answer(kind))
        elif kind == "yes" or not denied:  # the double negation of "non-glaucoma: no" is left unread
            stated = concept.asserted if (kind == "yes") != denied else against
            claims += [stated] if stated else []
    return claims


def _of_value(slot: Slot, concepts: Sequence[Concept], choices: Sequence[str]) -> Claim | None:
    """Return the choice that the value of a slot states whose name announces an answer."""
    if slot.value == EMPTY:
        return None
    value = clean(slot.value)
    if slot.value.startswith("?"):
        return Unparsed("no_match", "open")
    kinds: Sequence[Kind] = ("yes",) if slot.value == TICKED else kinds_of(value)
    if kinds and (len(concepts) == 1 or not {"yes", "no"} & set(kinds)):
        claims = _claims_of(kinds, concepts[0], False, concepts)
        return claims[0] if len(claims) == 1 else Unparsed("ambiguous", value[:80])
    stated = choice_in_prose(value, choices, in_slot=len(clause_spans(value)) == 1)
    if isinstance(stated, str) or stated.reason == "ambiguous":
        return stated
    if is_refusal(value):
        return Unparsed("refused", value[:80])
    found = value_at(value, 0)
    if found is not None and set(found[0]) <= {"refused", "open"}:
        return Unparsed("refused" if "refused" in found[0] else "no_match", "no answer in its slot")
    return None if slot.layout == "line" and len(value.split()) > 6 else UNKNOWN
