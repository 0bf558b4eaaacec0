"""The concepts of a prompt's choices, and the names by which replies mention them.

A choice is a claim about a concept, asserted or denied. GLAUCOMA and NON-GLAUCOMA are the two claims about one concept,
TRUE and FALSE the two claims about the prompt's question, cataract and normal claims about separate concepts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from lmod_train.core.vocabulary import compiled, entry
from lmod_train.tasks.parsing.forms import forms_of, pattern_of, plain, term_of
from lmod_train.tasks.parsing.normalise import normalise

_DENYING = compiled("concepts.denying")
_AFFIRMING = re.compile(r"(?P<concept>.{1,80}?)[\s\-_]{1,3}(?:true|yes|present|positive)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Concept:
    """A concept with the choices that assert and deny it; None where there is no such choice."""

    asserted: str | None
    denied: str | None
    mention: re.Pattern[str] | None
    kind: re.Pattern[str] | None
    adjective: bool

    @property
    def is_sex(self) -> bool:
        """Whether it is a sex, which sentences name in other words than a disease: "from a male patient"."""
        return (
            self.mention is not None
            and self.mention.fullmatch("male" if self.asserted == "MALE" else "female") is not None
        )

    def is_kind(self, mention: re.Match[str]) -> bool:
        """Return whether a mention names a subtype only: denying it does not deny the concept."""
        return self.kind is not None and self.kind.fullmatch(mention[0]) is not None


def mentions_choice(text: str, choices: Sequence[str]) -> bool:
    """Return whether a text mentions a choice at all; True for choices such as TRUE / FALSE, which need no mention.

    Example:
        >>> [mentions_choice(text, ("GLAUCOMA", "NON-GLAUCOMA")) for text in ("the cup is large", "no glaucoma")]
        [False, True]
    """
    return any(concept.mention is None or concept.mention.search(text) for concept in concepts_of(tuple(choices)))


@lru_cache(maxsize=256)
def spelled(choices: tuple[str, ...]) -> dict[str, str]:
    """Return lower-case spelling -> choice."""
    return {plain(form): choice for choice in choices for form in forms_of(choice)}


@lru_cache(maxsize=256)
def concepts_of(choices: tuple[str, ...]) -> tuple[Concept, ...]:
    """Return the concepts of the choices; that of TRUE / FALSE is the prompt's question and has no `mention`."""
    claims: dict[str | None, dict[bool, str]] = {}
    spelled: dict[str | None, str] = {}
    for choice in choices:
        concept, asserted = _claim_of(choice)
        key = None if concept is None else plain((term_of(concept) or _Bare(concept)).name)
        claims.setdefault(key, {})[asserted] = choice
        spelled.setdefault(key, concept or "")
    return tuple(_concept(spelled[key] if key else None, by_stance) for key, by_stance in claims.items())


def _concept(name: str | None, by_stance: Mapping[bool, str]) -> Concept:
    if name is None:
        return Concept(by_stance.get(True), by_stance.get(False), None, None, False)
    term = term_of(name)
    mention = re.compile(r"(?P<non>(?i:(?<![a-z])non)[\s\-_]{1,2}(?!(?i:proliferative)))?" + pattern_of(forms_of(name)))
    kind = re.compile(pattern_of(term.kinds)) if term and term.kinds else None
    adjective = plain(term.name if term else name) == "normal"
    return Concept(by_stance.get(True), by_stance.get(False), mention, kind, adjective)


@dataclass(frozen=True, slots=True)
class _Bare:
    """A substitute for `Term` for a word that is not in the vocabulary."""

    name: str


def _claim_of(choice: str) -> tuple[str | None, bool]:
    choice = normalise(choice)
    word = plain(choice)
    if word in entry("answers.yes") or word in entry("answers.no"):
        return None, word in entry("answers.yes")
    if denying := _DENYING.fullmatch(choice.strip()):
        return denying["concept"] or denying["concept2"], False
    if affirming := _AFFIRMING.fullmatch(choice.strip()):
        return affirming["concept"], True
    return choice, True
